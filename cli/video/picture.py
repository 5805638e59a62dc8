"""From a decoded frame to the picture a viewer sees, as RGB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter

from cli.video.display import UPRIGHT, Orientation, fitted_size, read_orientation

if TYPE_CHECKING:
    from fractions import Fraction

    from av import VideoFrame

    from protocol.frame import Pixels

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
_FULL_RANGE_FORMATS = ("yuvj",)


class PictureRenderer:
    """Renders frames of one video. Keeps swscale's tables between frames of the same kind."""

    def __init__(self, sample_aspect: Fraction | None, orientation: Orientation = UPRIGHT) -> None:
        """`sample_aspect`: width of a pixel over its height, None for square ones.

        `orientation` is the video's, read once: a frame whose side data was read stays in memory until
        Python's collector finds the cycle that PyAV makes there, hundreds of megabytes later.
        """
        self._sample_aspect = sample_aspect
        self._orientation = orientation
        self._reformatter = VideoReformatter()

    def render(self, picture: VideoFrame) -> Pixels:
        """H x W x 3 contiguous uint8 RGB: turned as shown, pixels square, within the pixel limit.

        Transparent parts are over black. HDR is taken as if it were SDR, interlaced frames as they are: tone
        mapping and deinterlacing belong here, before the conversion.
        """
        width, height = fitted_size(picture.width, picture.height, self._sample_aspect)
        transparent = has_alpha(picture)
        converted = self._reformatter.reformat(
            picture,
            width=width,
            height=height,
            format="rgba" if transparent else "rgb24",
            src_colorspace=matrix_of(picture),
            dst_colorspace=Colorspace.ITU709,
            src_color_range=range_of(picture),
            dst_color_range=ColorRange.JPEG,
            interpolation=Interpolation.AREA,
        )
        pixels: Pixels = converted.to_ndarray()  # type: ignore[assignment]  # rgb24 and rgba are uint8
        if transparent:
            pixels = _over_black(pixels)
        return _turn(pixels, self._orientation)


def matrix_of(picture: VideoFrame) -> Colorspace:
    """The matrix its colours were coded with; unspecified is BT.709 from 720 lines up and BT.601 below."""
    known = _MATRICES.get(picture.colorspace)
    if known is not None:
        return known
    return Colorspace.ITU709 if picture.height >= _HD_LINES else Colorspace.ITU601


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


def _over_black(pixels: Pixels) -> Pixels:
    shade = pixels[:, :, 3:].astype(np.uint16)
    return ((pixels[:, :, :3] * shade + 127) // 255).astype(np.uint8)


def _turn(pixels: Pixels, orientation: Orientation) -> Pixels:
    if orientation == UPRIGHT:
        return np.ascontiguousarray(pixels)
    import cv2  # four times as fast as numpy at this

    turned: Any = pixels
    if orientation.transpose:
        turned = cv2.transpose(turned)
    if orientation.flip_x or orientation.flip_y:
        turned = cv2.flip(
            turned, -1 if orientation.flip_x and orientation.flip_y else int(orientation.flip_x)
        )
    return np.ascontiguousarray(turned)
