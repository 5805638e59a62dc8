"""FFmpeg's options that keep the wait for the first picture of a live stream short.

FFmpeg looks at a stream before it gives the first packet, and a live one pays with its first seconds:
a camera of 5 pictures a second needs 4 s to tell its frame rate, which nothing here asks for, and RTMP always
takes the full time, in case there is sound to come. What was looked at is decoded all the same: with
``nobuffer`` it would be lost, and the wait for the first picture be one for the next keyframe.
"""

from __future__ import annotations

PROMPT = {"fpsprobesize": "0", "analyzeduration": "1000000"}
"""For streams that FFmpeg has to look at; in microseconds."""
DESCRIBED = {"fpsprobesize": "0", "probesize": "32", "allowed_media_types": "video"}
"""For RTSP and SDP, which describe their streams: one packet is enough, and sound is not even sent."""

_UDP_BUFFER = str(4 << 20)
"""Bytes that the system keeps of UDP while this process is busy, if it is allowed so many."""


def network_options(scheme: str, rtsp_transport: str) -> dict[str, str]:
    """FFmpeg's options for an address with this scheme."""
    if scheme in {"rtsp", "rtsps"}:
        return {**DESCRIBED, "rtsp_transport": rtsp_transport, "buffer_size": _UDP_BUFFER}
    if scheme == "udp":  # fifo_size stays as it is: 5 MB, which a thread of FFmpeg's fills and we empty
        return {**PROMPT, "overrun_nonfatal": "1", "buffer_size": _UDP_BUFFER}
    return dict(PROMPT)
