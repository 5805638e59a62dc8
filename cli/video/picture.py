"""From a decoded frame to the picture a viewer sees, as RGB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter

from cli.video.deinterlace import as_progressive, deinterlace, has_top_first, is_combed
from cli.video.display import UPRIGHT, Orientation, fitted_size, read_orientation
from cli.video.tone_map import (
    DEFAULT_PEAK_NITS,
    HDR_TRANSFERS,
    PQ,
    TONE_MAP_FORMAT,
    ToneMap,
    read_peak,
)
from protocol.errors import InputError

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
_UNSPECIFIED = 2
_FULL_RANGE_FORMATS = ("yuvj",)

# Without full chroma all comes out darker by 2 of 255. 8-bit 4:2:0 and 4:2:2 that need no scaling take
# swscale's fast path all the same (0.7 ms at 1080p instead of 9), within 1 of 255 but at edges of colour.
_SCALING = Interpolation.AREA | Interpolation.FULL_CHR_H_INT


class PictureRenderer:
    """Renders frames of one video. Keeps swscale's and the tone map's tables between frames of a kind."""

    def __init__(self, sample_aspect: Fraction | None, orientation: Orientation = UPRIGHT) -> None:
        """`sample_aspect`: width of a pixel over its height, None for square ones.

        `orientation` is the video's, read once: a frame whose side data was read stays in memory until
        Python's collector finds the cycle that PyAV makes there, hundreds of megabytes later.
        """
        self._sample_aspect = sample_aspect
        self._orientation = orientation
        self._reformatter = VideoReformatter()
        self._greys = VideoReformatter()
        self._tone_maps: dict[tuple[int, int], ToneMap] = {}
        self._top_first: bool | None = None

    def render(self, picture: VideoFrame) -> Pixels:
        """H x W x 3 contiguous uint8 RGB: turned as shown, pixels square, within the pixel limit.

        Transparent parts are over black, HDR is tone-mapped to SDR, and of the two moments in an interlaced
        frame the first is shown.

        Raises:
            InputError: nothing here converts such pixels, or there is no room for a temporary file.
        """
        size = fitted_size(picture.width, picture.height, self._sample_aspect)
        pixels = self._moment(picture, *size) if picture.interlaced_frame else self._convert(picture, *size)
        return _turn(pixels, self._orientation)

    def _moment(self, picture: VideoFrame, width: int, height: int) -> Pixels:
        luma: Any = self._greys.reformat(picture, width=width, format="gray").to_ndarray()
        if not is_combed(luma):
            return self._convert(as_progressive(picture), width, height)
        if self._top_first is None:
            self._top_first = has_top_first(picture)
        # Lines must stay as they are until the fields are apart: height is fitted afterwards.
        pixels = self._convert(picture, width, picture.height)
        pixels = deinterlace(pixels, luma, top_first=self._top_first)
        if height != picture.height:
            scaled: Any = cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA)
            pixels = scaled
        return pixels

    def _convert(self, picture: VideoFrame, width: int, height: int) -> Pixels:
        hdr = picture.color_trc in HDR_TRANSFERS
        transparent = has_alpha(picture) and not hdr
        matrix = matrix_of(picture)
        try:
            converted = self._reformatter.reformat(
                picture,
                width=width,
                height=height,
                format=TONE_MAP_FORMAT if hdr else "rgba" if transparent else "rgb24",
                src_colorspace=matrix,
                dst_colorspace=matrix if hdr else Colorspace.ITU709,
                src_color_range=range_of(picture),
                dst_color_range=ColorRange.JPEG,
                interpolation=_SCALING,
            )
        except OSError as error:
            raise InputError(f"FFmpeg cannot convert pixels in {picture.format.name}") from error
        if hdr:  # scaled first, since looking colours up costs more
            kind = picture.color_trc, picture.color_primaries
            if kind not in self._tone_maps:
                self._tone_maps[kind] = ToneMap(*kind, peak_nits_of(picture) or DEFAULT_PEAK_NITS)
            return self._tone_maps[kind].map(converted)
        pixels: Pixels = converted.to_ndarray()  # type: ignore[assignment]  # rgb24 and rgba are uint8
        return _over_black(pixels) if transparent else pixels


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


def _over_black(pixels: Pixels) -> Pixels:
    shade = pixels[:, :, 3:].astype(np.uint16)
    return ((pixels[:, :, :3] * shade + 127) // 255).astype(np.uint8)


def _turn(pixels: Pixels, orientation: Orientation) -> Pixels:
    if orientation == UPRIGHT:
        return np.ascontiguousarray(pixels)
    turned: Any = pixels  # OpenCV is four times as fast as numpy at this
    if orientation.transpose:
        turned = cv2.transpose(turned)
    if orientation.flip_x or orientation.flip_y:
        turned = cv2.flip(
            turned, -1 if orientation.flip_x and orientation.flip_y else int(orientation.flip_x)
        )
    return np.ascontiguousarray(turned)
