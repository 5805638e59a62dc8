"""One picture and its time."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Literal

from protocol.errors import InputError
from protocol.limits import MAX_FRAME_BYTES, MAX_FRAME_PIXELS

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

    Pixels = NDArray[np.uint8]

Encoding = Literal["jpeg", "png"]

JPEG_QUALITY = 85


class Frame:
    """One picture, either as pixels or as an encoded file; the other form is made on demand, once.

    An engine in this process reads `pixels`; the wire and files take `encoded()`. Frames are not changed
    after they are made, but making the other form is not locked: use one frame from one thread at a time.

    Attributes:
        pts_s: time on screen, in seconds from the start of the video; None for a picture without one.
        captured_at: when the camera took it (timezone-aware UTC), where that is known: the arrival time of
            a live frame, a file's recording time plus `pts_s` otherwise.
        arrived_s: when a live frame arrived, by this process's monotonic clock; None for one of a file.
    """

    __slots__ = ("_encoded", "_pixels", "_size", "arrived_s", "captured_at", "pts_s")

    def __init__(
        self,
        *,
        pixels: Pixels | None = None,
        encoded: bytes | None = None,
        pts_s: float | None = None,
        captured_at: datetime | None = None,
        arrived_s: float | None = None,
    ) -> None:
        """Takes `pixels` (H x W x 3, uint8, RGB, as shown) or `encoded` (the bytes of a JPEG or PNG file).

        Raises:
            ValueError: neither or both are given, or `pixels` has another shape or type.
        """
        if (pixels is None) == (encoded is None):
            raise ValueError("a Frame takes either pixels or encoded bytes")
        if pixels is not None and (pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype.name != "uint8"):
            raise ValueError(f"pixels must be H x W x 3 uint8, not {pixels.shape} {pixels.dtype}")
        self._pixels = pixels
        self._encoded: dict[str, bytes] = {}
        self._size: tuple[int, int] | None = None
        if pixels is not None:
            self._size = (pixels.shape[1], pixels.shape[0])
        elif encoded is not None:
            self._encoded[_encoding_of(encoded)] = encoded
        self.pts_s = pts_s
        self.captured_at = captured_at
        self.arrived_s = arrived_s

    @property
    def size(self) -> tuple[int, int]:
        """Width and height as shown. Of an encoded picture only the header is read."""
        if self._size is None:
            with self._open() as image:
                self._size = image.size
        return self._size

    @property
    def width(self) -> int:
        """Width as shown, in pixels."""
        return self.size[0]

    @property
    def height(self) -> int:
        """Height as shown, in pixels."""
        return self.size[1]

    @property
    def decoded(self) -> bool:
        """Whether the pixels are there already, so that `pixels` costs nothing."""
        return self._pixels is not None

    @property
    def pixels(self) -> Pixels:
        """H x W x 3, uint8, RGB, as shown.

        Raises:
            InputError: the encoded picture is damaged.
        """
        if self._pixels is None:
            import numpy as np

            with self._open() as image:
                try:
                    self._pixels = np.asarray(image.convert("RGB"))
                except (OSError, SyntaxError, ValueError) as error:  # Pillow's words for a damaged picture
                    raise InputError(f"damaged picture: {error}") from error
        return self._pixels

    def encoded(self, encoding: Encoding = "jpeg", *, max_bytes: int = MAX_FRAME_BYTES) -> bytes:
        """The picture as a JPEG or PNG file of at most `max_bytes`.

        JPEG is written at quality 85 and lower only if it must be. PNG is lossless, so a picture that is too
        large as PNG is scaled down until it fits; `encoded_size` tells the size it has then.
        """
        data = self._encoded.get(encoding)
        if data is None or len(data) > max_bytes:
            from PIL import Image

            image = Image.fromarray(self.pixels)
            data = _jpeg(image, max_bytes) if encoding == "jpeg" else _png(image, max_bytes)
            self._encoded[encoding] = data
        return data

    def encoded_size(self, encoding: Encoding = "jpeg") -> tuple[int, int]:
        """Width and height of what `encoded` gives."""
        from PIL import Image

        with Image.open(io.BytesIO(self.encoded(encoding))) as image:
            return image.size

    def _open(self) -> Image.Image:
        from PIL import Image

        data = next(iter(self._encoded.values()))
        try:
            return Image.open(io.BytesIO(data), formats=("JPEG", "PNG"))
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise InputError("not a JPEG or PNG picture") from error


def fit_pixels(width: int, height: int, max_pixels: int = MAX_FRAME_PIXELS) -> tuple[int, int]:
    """The largest size with the shape of `width` x `height` and at most `max_pixels`; never an enlargement.

    >>> fit_pixels(3840, 2160)
    (2730, 1536)
    """
    if width * height <= max_pixels:
        return width, height
    scale = (max_pixels / (width * height)) ** 0.5
    return max(1, min(int(width * scale), max_pixels)), max(1, min(int(height * scale), max_pixels))


def _encoding_of(data: bytes) -> Encoding:
    return "png" if data.startswith(b"\x89PNG\r\n\x1a\n") else "jpeg"


def _jpeg(image: Image.Image, max_bytes: int) -> bytes:
    for quality in (JPEG_QUALITY, 75, 60, 45, 30, 15):
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=quality)
        if buffer.tell() <= max_bytes:
            break
    else:  # 4 MP of noise at quality 15 is about 2 MB, so only a much smaller limit gets here
        return _jpeg(_smaller(image, max_bytes / buffer.tell()), max_bytes)
    return buffer.getvalue()


def _png(image: Image.Image, max_bytes: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)  # within 5 % of the default's size on video, 4 x as fast
    if buffer.tell() <= max_bytes:
        return buffer.getvalue()
    return _png(_smaller(image, max_bytes / buffer.tell()), max_bytes)


def _smaller(image: Image.Image, area_ratio: float) -> Image.Image:
    from PIL import Image

    scale = min(0.95, area_ratio**0.5 * 0.98)
    size = (max(1, int(image.width * scale)), max(1, int(image.height * scale)))
    return image.resize(size, Image.Resampling.BOX)
