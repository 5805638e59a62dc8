"""What the parameter sets of H.264 and HEVC say that FFmpeg does not pass on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_H264_SPS = 7
_HEVC_SPS = 33
_H264_HIGH_PROFILES = frozenset((44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244))
_START_CODE = b"\0\0\1"


def h264_has_fields(extradata: bytes) -> bool | None:
    """Whether pictures may be coded as fields (`frame_mbs_only_flag` is not set); None if it is not told.

    `extradata` is an AVCDecoderConfigurationRecord or NAL units with start codes.
    """
    told = None
    try:
        for unit in _units(extradata, avcc_header=5):
            if unit and unit[0] & 0x1F == _H264_SPS:
                told = told or not _h264_frames_only(unit)
    except IndexError:
        return None
    return told


def hevc_temporal_layers(extradata: bytes) -> int | None:
    """`sps_max_sub_layers_minus1` + 1, the highest of all sets; None if it is not told.

    `extradata` is an HEVCDecoderConfigurationRecord or NAL units with start codes.
    """
    layers = None
    try:
        units = _units(extradata) if has_start_code(extradata) else _hvcc_units(extradata)
        for unit in units:
            if len(unit) > 2 and unit[0] >> 1 & 0x3F == _HEVC_SPS:
                layers = max(layers or 1, (unit[2] >> 1 & 7) + 1)
    except IndexError:
        return None
    return layers


def has_start_code(extradata: bytes) -> bool:
    """Whether NAL units are told apart by start codes, in `extradata` and in packets; else by lengths."""
    return extradata.startswith((_START_CODE, b"\0" + _START_CODE))


def _units(extradata: bytes, avcc_header: int = 0) -> Iterator[bytes]:
    """NAL units; of an AVCDecoderConfigurationRecord the sequence parameter sets, which come first."""
    if has_start_code(extradata):
        yield from extradata.split(_START_CODE)
        return
    if not extradata:
        return
    at = avcc_header + 1
    for _ in range(extradata[avcc_header] & 0x1F):
        length = extradata[at] << 8 | extradata[at + 1]
        yield extradata[at + 2 : at + 2 + length]
        at += 2 + length


def _hvcc_units(extradata: bytes) -> Iterator[bytes]:
    if not extradata:
        return
    at = 23
    for _ in range(extradata[22]):
        count = extradata[at + 1] << 8 | extradata[at + 2]
        at += 3
        for _ in range(count):
            length = extradata[at] << 8 | extradata[at + 1]
            yield extradata[at + 2 : at + 2 + length]
            at += 2 + length


class _Bits:
    """Reads bits and Exp-Golomb numbers; IndexError at the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def read(self, count: int = 1) -> int:
        value = 0
        for _ in range(count):
            value = value << 1 | self._data[self._at >> 3] >> (7 - (self._at & 7)) & 1
            self._at += 1
        return value

    def unsigned(self) -> int:
        zeros = 0
        while not self.read():
            zeros += 1
        return (1 << zeros) - 1 + self.read(zeros)

    def signed(self) -> int:
        value = self.unsigned()
        return (value + 1) // 2 if value & 1 else -(value // 2)


def _h264_frames_only(unit: bytes) -> bool:
    """`frame_mbs_only_flag` of a sequence parameter set (ITU-T H.264, 7.3.2.1.1)."""
    bits = _Bits(unit[1:].replace(b"\0\0\3", b"\0\0"))
    profile = bits.read(8)
    bits.read(16)
    bits.unsigned()  # its number
    if profile in _H264_HIGH_PROFILES:
        chroma = bits.unsigned()
        if chroma == 3:
            bits.read()
        bits.unsigned()  # bit depths
        bits.unsigned()
        bits.read()
        if bits.read():
            for number in range(12 if chroma == 3 else 8):
                if bits.read():
                    _pass_scaling_list(bits, 16 if number < 6 else 64)
    bits.unsigned()  # bits of a frame number
    order = bits.unsigned()
    if order == 0:
        bits.unsigned()
    elif order == 1:
        bits.read()
        bits.signed()
        bits.signed()
        for _ in range(bits.unsigned()):
            bits.signed()
    bits.unsigned()  # reference frames
    bits.read()
    bits.unsigned()  # width and height
    bits.unsigned()
    return bool(bits.read())


def _pass_scaling_list(bits: _Bits, size: int) -> None:
    last = following = 8
    for _ in range(size):
        if following:
            following = (last + bits.signed()) % 256
        last = following or last
