"""Which packets hold a picture that no other refers to, as the coded video itself says."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from cli.video.parameter_sets import h264_has_fields, has_start_code, hevc_temporal_layers

if TYPE_CHECKING:
    from collections.abc import Callable

    from av import Packet
    from av.video.codeccontext import VideoCodecContext
    from av.video.stream import VideoStream

    NonrefTest: TypeAlias = "Callable[[Packet[VideoStream]], bool]"

_START_CODE = b"\0\0\1"
_HEAD = 512  # bytes in which the kind of a picture stands, unless something unusual comes first
_H264_SLICE = 1
_H264_BEFORE_SLICES = frozenset((6, 9, 12, 14))  # SEI, delimiter, filler, prefix
_HEVC_NONREF = frozenset((0, 2, 4, 6, 8, 10, 12, 14))  # the sub-layer non-reference pictures
_HEVC_BEFORE_SLICES = frozenset((35, 38, 39, *range(41, 48), *range(48, 64)))
_MPEG2_PICTURE = 0
_MPEG2_B = 3


def nonref_test(decoder: VideoCodecContext) -> NonrefTest | None:
    """A test whether a packet can be kept from `decoder` without a trace in any other picture.

    None for codecs that know no such pictures or keep state in them; for H.264 that may have fields, since
    two packets can make one frame; and for HEVC in temporal layers, where what is no reference in its own
    layer may be one for the next.
    """
    name, extradata = decoder.codec.name, decoder.extradata or b""
    if name == "h264" and h264_has_fields(extradata) is False:
        size = 0 if has_start_code(extradata) else (extradata[4] & 3) + 1
        return lambda packet: _h264_is_nonref(packet, size)
    if name == "hevc" and hevc_temporal_layers(extradata) == 1:
        size = 0 if has_start_code(extradata) else (extradata[21] & 3) + 1
        return lambda packet: _hevc_is_nonref(packet, size)
    if name in ("mpeg1video", "mpeg2video"):
        return _mpeg2_is_b
    return None


def _h264_is_nonref(packet: Packet[VideoStream], length_size: int) -> bool:
    """`nal_ref_idc` is 0; anything but a slice that is to be kept, a parameter set for one, says no."""
    data = memoryview(packet)
    at = _next_unit(data, 0, length_size)
    while at >= 0:
        kind = data[at] & 0x1F
        if kind not in _H264_BEFORE_SLICES:
            return kind == _H264_SLICE and data[at] & 0x60 == 0 and _is_whole(data, at, length_size)
        at = _next_unit(data, at, length_size)
    return False


def _hevc_is_nonref(packet: Packet[VideoStream], length_size: int) -> bool:
    data = memoryview(packet)
    at = _next_unit(data, 0, length_size)
    while at >= 0:
        kind = data[at] >> 1 & 0x3F
        if kind not in _HEVC_BEFORE_SLICES:
            return kind in _HEVC_NONREF and _is_whole(data, at, length_size)
        at = _next_unit(data, at, length_size)
    return False


def _mpeg2_is_b(packet: Packet[VideoStream]) -> bool:
    head = bytes(memoryview(packet)[:_HEAD])
    at = head.find(_START_CODE)
    if at < 0 or len(head) < at + 6 or head[at + 3] != _MPEG2_PICTURE:
        return False
    return head[at + 5] >> 3 & 7 == _MPEG2_B


def _next_unit(data: memoryview, at: int, length_size: int) -> int:
    """Where the NAL unit after the one at `at` begins, or the first if that is 0; -1 if none is found.

    Those with start codes are looked for in the head of the packet only.
    """
    if length_size:
        if at:
            at += int.from_bytes(data[at - length_size : at], "big")
        return at + length_size if at + length_size < len(data) else -1
    found = bytes(data[:_HEAD]).find(_START_CODE, at)
    return found + 3 if 0 <= found < min(len(data), _HEAD) - 3 else -1


def _is_whole(data: memoryview, at: int, length_size: int) -> bool:
    """Whether the units from `at` on fill the packet; if not, the decoder shall see it and complain."""
    if not length_size:
        return True
    while (size := int.from_bytes(data[at - length_size : at], "big")) and at + size < len(data):
        at += size + length_size
    return size > 0 and at + size == len(data)
