"""From a decoded frame to the picture a viewer sees, as RGB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter

from cli.video.coding import HDR_TRANSFERS, has_alpha, matrix_of, peak_nits_of, range_of
from cli.video.deinterlace import as_progressive, deinterlace, has_top_first, is_combed
from cli.video.display import UPRIGHT, Orientation, fitted_size
from cli.video.tone_map import DEFAULT_PEAK_NITS, TONE_MAP_FORMAT, ToneMap
from protocol.errors import InputError

if TYPE_CHECKING:
    from fractions import Fraction

    from av import VideoFrame

    from protocol.frame import Pixels

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
