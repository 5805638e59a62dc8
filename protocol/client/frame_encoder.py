"""From a frame to what travels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.frame import Frame, fit_pixels
from protocol.limits import MAX_FRAME_PIXELS

if TYPE_CHECKING:
    from protocol.frame import Encoding


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
