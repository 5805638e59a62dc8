"""Keeping memory that is needed again with every frame."""

from __future__ import annotations

import contextlib
import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # from malloc.h
_KEPT = 128 << 20
_LARGEST = 32 << 20  # the most glibc takes for it; a picture's pixels are 13 MB at most


def keep_freed_memory() -> None:
    """Lets glibc keep what a picture took for the next one; elsewhere it does nothing.

    By default it gives anything over 128 kB back to the system as soon as it is freed, and the next picture
    has it handed out and cleared again page by page, which costs up to twice as much as decoding.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):  # another system, another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _LARGEST)
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
