"""Decoding pictures in threads, a few at a time."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from protocol.picture import decode_picture

if TYPE_CHECKING:
    from protocol.frame import Frame


@dataclass(frozen=True, slots=True)
class Decoded:
    """A frame with its pixels, and what they took: waiting for a thread, and decoding."""

    frame: Frame
    waited_ms: float
    decode_ms: float


class PictureDecoder:
    """Checks and decodes pictures in `threads` threads.

    The queue before them holds one picture a session at most, since a session has one frame in flight.
    """

    def __init__(self, threads: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="decode")

    async def decode(self, image: bytes | str) -> Decoded:
        """The picture in a JPEG or PNG file's bytes, or in their base64.

        Cancelled, it leaves the queue; a picture that is being decoded already is decoded for nothing.

        Raises:
            InvalidRequest, FrameTooLarge: see `protocol.picture.decode_picture`.
        """
        asked = time.perf_counter()
        return await asyncio.get_running_loop().run_in_executor(self._executor, _decode, image, asked)

    def close(self) -> None:
        """Ends the threads, after what they are at."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def _decode(image: bytes | str, asked: float) -> Decoded:
    began = time.perf_counter()
    frame = decode_picture(image)
    ended = time.perf_counter()
    return Decoded(frame, waited_ms=(began - asked) * 1000, decode_ms=(ended - began) * 1000)
