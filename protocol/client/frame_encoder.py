"""From a frame to what travels."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

from protocol.errors import StreamError
from protocol.frame import Frame, fit_pixels
from protocol.limits import MAX_FRAME_PIXELS

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol.frame import Encoding

Message = TypeVar("Message")


class FrameEncoder(Generic[Message]):
    """Encodes frames in a thread, one ahead of its turn where there is time for it.

    Attributes:
        shown_size: width and height of the picture encoded last for its turn.
    """

    def __init__(self, encoding: Encoding, wrap: Callable[[bytes], Message]) -> None:
        """`wrap` makes a message of a JPEG or PNG file."""
        self.shown_size = (0, 0)
        self._encoding = encoding
        self._wrap = wrap
        self._ahead: tuple[Frame, Message, tuple[int, int]] | None = None  # never more than one

    async def prepare(self, frame: Frame) -> None:
        """Encodes `frame` before its turn; it fails when its turn comes, if at all."""
        try:
            self._ahead = (frame, *await asyncio.to_thread(self._encode, frame))
        except StreamError:
            self._ahead = None

    async def message(self, frame: Frame) -> Message:
        """What `frame` is sent as, now that its turn has come.

        Raises:
            InputError: the frame came encoded and is damaged.
        """
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] is frame:
            _, message, self.shown_size = ahead
        else:
            message, self.shown_size = await asyncio.to_thread(self._encode, frame)
        return message

    def _encode(self, frame: Frame) -> tuple[Message, tuple[int, int]]:
        data, size = encode_frame(frame, self._encoding)
        return self._wrap(data), size


def encode_frame(frame: Frame, encoding: Encoding) -> tuple[bytes, tuple[int, int]]:
    """`frame` as a file within the protocol's limits, scaled down if it must be, and its width and height.

    Takes milliseconds: call it in a thread.

    Raises:
        InputError: the frame came encoded and is damaged.
    """
    width, height = frame.size
    if width * height > MAX_FRAME_PIXELS:
        import numpy as np
        from PIL import Image

        fitting = fit_pixels(width, height)
        scaled = Image.fromarray(frame.pixels).resize(fitting, Image.Resampling.BOX)
        frame = Frame(pixels=np.asarray(scaled), pts_s=frame.pts_s, captured_at=frame.captured_at)
    data = frame.encoded(encoding)
    # Only a PNG is ever scaled to fit the limit of bytes: a JPEG of 4 MP does at some quality.
    return data, frame.encoded_size("png") if encoding == "png" else frame.size
