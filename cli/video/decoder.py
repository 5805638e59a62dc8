"""The decoder of a video, and whether its packets stand each for itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

import av

if TYPE_CHECKING:
    from av.video.codeccontext import VideoCodecContext
    from av.video.stream import VideoStream

_MAX_THREADS = 8
_MAX_CODED_PIXELS = 8192 * 8192
"""The largest picture that is decoded: a header that lies could ask for 2 GB a frame, several times."""
_PIXELS_FOR_ONE_THREAD = 1920 * 1088
_HAS_STATE = frozenset(("rawvideo",))
"""Called intra-only, and yet a palette may come with an earlier packet."""


def decoder_for(stream: VideoStream) -> VideoCodecContext:
    """A decoder for `stream`, in threads."""
    decoder = stream.codec_context
    if (
        stream.metadata.get("alpha_mode") == "1"
    ):  # FFmpeg's own VP8 and VP9 decoders leave the alpha plane out
        name = {"vp8": "libvpx", "vp9": "libvpx-vp9"}.get(decoder.name, "")
        if name in av.codecs_available:
            said = decoder
            decoder = cast("VideoCodecContext", av.CodecContext.create(name, "r"))
            decoder.extradata = said.extradata
            decoder.color_trc, decoder.color_primaries = said.color_trc, said.color_primaries
            decoder.colorspace, decoder.color_range = said.colorspace, said.color_range
    decoder.options = {"max_pixels": str(_MAX_CODED_PIXELS)}
    decoder.thread_type = "AUTO"
    decoder.thread_count = _thread_count()
    return decoder


def live_decoder_for(stream: VideoStream) -> VideoCodecContext:
    """A decoder for `stream` that holds no picture back: with a thread a frame, each would be frames late.

    Pictures larger than 1080p are decoded in threads all the same, since one would not keep up.
    """
    decoder = decoder_for(stream)
    if decoder.width * decoder.height <= _PIXELS_FOR_ONE_THREAD:
        decoder.thread_type = "SLICE"
    return decoder


def is_intra_only(decoder: VideoCodecContext) -> bool:
    """Whether each packet holds a whole picture, so that any may be kept from the decoder."""
    return decoder.codec.intra_only and decoder.codec.name not in _HAS_STATE


def tells_keyframes(decoder: VideoCodecContext) -> bool:
    """Whether pictures of `decoder` say that they are keyframes; libvpx leaves that to the packets."""
    return not decoder.codec.name.startswith("libvpx")


def _thread_count() -> int:
    """As many as there are cores: one more, to fill in while pictures are converted, costs a sixth."""
    return min(_MAX_THREADS, os.cpu_count() or 1)
