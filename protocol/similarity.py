"""The near-duplicate filter of video chat: which frames show nothing new.

vLLM-Omni calls it EVS and compares pictures this way; the same frames are kept here as there.
"""

from __future__ import annotations

import functools
import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from protocol.frame import Frame, Pixels

THUMBNAIL_SIZE = 64
"""Pictures are compared at so many pixels a side, whatever their shape."""

_MOST_THREADS = 4
_ROWS_A_PIECE = 128


class SimilarityFilter:
    """Keeps a frame that differs enough from the last one that was kept; the first is kept."""

    def __init__(self, threshold: float) -> None:
        """Frames of this similarity (0 to 1) or more are near-duplicates."""
        self._threshold = threshold
        self._kept: NDArray[np.float32] | None = None

    def keeps(self, frame: Frame) -> bool:
        """Whether `frame` is one to keep; the next is then compared with this one.

        Takes some milliseconds of all cores at 1080p, and decoding where `frame` is encoded: call it in a
        thread, for one frame at a time.

        Raises:
            InputError: the encoded picture is damaged.
        """
        import numpy as np

        seen = thumbnail(frame.pixels).astype(np.float32)
        if self._kept is not None and _similarity(seen, self._kept) >= self._threshold:
            return False
        self._kept = seen
        return True


def similarity(one: Pixels, other: Pixels) -> float:
    """1 for pictures (H x W x 3, uint8, of any two sizes) that look the same, 0 for black and white."""
    import numpy as np

    return _similarity(thumbnail(one).astype(np.float32), thumbnail(other).astype(np.float32))


def thumbnail(pixels: Pixels) -> Pixels:
    """`pixels` (H x W x 3, uint8) at 64 x 64, their shape ignored: to the bit what Pillow's bilinear gives.

    Of a picture that is not upright Pillow narrows each row first, then shortens the columns, so its rows can
    be shared out among threads. Upright ones are left to Pillow, whose order depends on its version.
    """
    height, width, _ = pixels.shape
    if width >= height >= 2 * _ROWS_A_PIECE:
        pixels = _narrowed(pixels)
    return _resized(pixels, THUMBNAIL_SIZE)


def _narrowed(pixels: Pixels) -> Pixels:
    """`pixels` 64 wide, their rows done by this thread and by others as far as they have time."""
    import numpy as np

    pieces = np.array_split(pixels, len(pixels) // _ROWS_A_PIECE)
    left = deque(range(len(pieces)))

    def narrow() -> None:
        with suppress(IndexError):
            while True:
                index = left.popleft()
                pieces[index] = _resized(pieces[index], len(pieces[index]))

    count = min(_MOST_THREADS, os.cpu_count() or 1)
    others = [_threads().submit(narrow) for _ in range(count - 1)]
    narrow()
    for other in others:
        if not other.cancel():  # a thread that never began is not waited for
            other.result()
    return np.concatenate(pieces)


def _similarity(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    difference = one - other
    return 1.0 - float((difference * difference).mean()) / 255**2


def _resized(pixels: Pixels, height: int) -> Pixels:
    import numpy as np
    from PIL import Image

    image = Image.fromarray(pixels)
    return np.asarray(image.resize((THUMBNAIL_SIZE, height), Image.Resampling.BILINEAR))


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_MOST_THREADS - 1, thread_name_prefix="similarity")
