"""How a decoded frame's picture is coded, and how it is to be shown: what it says of itself."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from av.video.reformatter import ColorRange, Colorspace

from cli.video.display import UPRIGHT, Orientation, read_orientation

if TYPE_CHECKING:
    from av import VideoFrame

PQ = 16
HLG = 18
"""AVColorTransferCharacteristic, as a frame carries it."""
HDR_TRANSFERS = {PQ: "PQ", HLG: "HLG"}

PQ_MAX_NITS = 10_000.0
_LOWEST_PEAK_NITS = 100.0

_HD_LINES = 720

# AVColorSpace, as a frame carries it, to the matrix swscale knows by another number.
_MATRICES = {
    1: Colorspace.ITU709,
    4: Colorspace.FCC,
    5: Colorspace.ITU601,
    6: Colorspace.ITU601,
    7: Colorspace.SMPTE240M,
    9: Colorspace.BT2020,
    10: Colorspace.BT2020,
}
_UNSPECIFIED = 2
_FULL_RANGE_FORMATS = ("yuvj",)


def matrix_of(picture: VideoFrame) -> Colorspace:
    """The matrix its colours were coded with.

    Unspecified is BT.2020 in HDR, else BT.709 from 720 lines up and BT.601 below.
    """
    known = _MATRICES.get(picture.colorspace)
    if known is not None:
        return known
    if picture.color_trc in HDR_TRANSFERS:
        return Colorspace.BT2020
    return Colorspace.ITU709 if picture.height >= _HD_LINES else Colorspace.ITU601


def is_known_matrix(picture: VideoFrame) -> bool:
    """Whether `matrix_of` goes by what the frame says, or by what is usual where it says nothing."""
    return picture.format.is_rgb or picture.colorspace in (*_MATRICES, _UNSPECIFIED)


def range_of(picture: VideoFrame) -> ColorRange:
    """Full range if it says so, by its own field or its old yuvj format (and RGB always); else limited."""
    full = picture.color_range == ColorRange.JPEG or picture.format.name.startswith(_FULL_RANGE_FORMATS)
    return ColorRange.JPEG if full or picture.format.is_rgb else ColorRange.MPEG


def has_alpha(picture: VideoFrame) -> bool:
    """Whether parts of the picture can be transparent."""
    return picture.format.has_palette or any(component.is_alpha for component in picture.format.components)


def orientation_of(picture: VideoFrame) -> Orientation | None:
    """How the frame is to be turned; None if it asks for anything but right angles. Ask one frame only."""
    matrix = picture.side_data.get("DISPLAYMATRIX")
    return UPRIGHT if matrix is None else read_orientation(bytes(matrix))  # type: ignore[call-overload]


def peak_nits_of(picture: VideoFrame) -> float | None:
    """The peak its PQ is graded for, in nits; None if it tells none that is sane. Ask one frame only."""
    if picture.color_trc != PQ:
        return None
    told = (picture.side_data.get(kind) for kind in ("MASTERING_DISPLAY_METADATA", "CONTENT_LIGHT_LEVEL"))
    return read_peak(*(None if data is None else bytes(data) for data in told))  # type: ignore[call-overload]


def read_peak(mastering: bytes | None, content: bytes | None) -> float | None:
    """Peak of the graded picture in nits, from FFmpeg's side data; None where it tells nothing sane.

    `content`: AVContentLightMetadata, whose MaxCLL is what is there; `mastering`:
    AVMasteringDisplayMetadata, the display it was graded on, which is an upper bound.
    """
    told = []
    if content is not None and len(content) >= 4:
        told.append(float(struct.unpack_from("=I", content)[0]))
    if mastering is not None and len(mastering) >= 88:
        numerator, denominator = struct.unpack_from("=2i", mastering, 72)
        if struct.unpack_from("=i", mastering, 84)[0] and denominator:
            told.append(numerator / denominator)
    sane = [nits for nits in told if _LOWEST_PEAK_NITS <= nits <= PQ_MAX_NITS]
    return min(sane) if sane else None
