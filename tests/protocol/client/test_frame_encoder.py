"""Frames within the protocol's limits."""

import io

import numpy as np
import pytest
from PIL import Image

from protocol.client.frame_encoder import FrameEncoder, encode_frame
from protocol.errors import InputError
from protocol.frame import Encoding, Frame
from protocol.limits import MAX_FRAME_BYTES, MAX_FRAME_PIXELS
from tests.protocol.client.pictures import frame, noise


@pytest.mark.parametrize("encoding", ["jpeg", "png"])
def test_an_ordinary_frame_keeps_its_size(encoding: Encoding) -> None:
    given = frame(64, 48)
    data, size = encode_frame(given, encoding)
    with Image.open(io.BytesIO(data)) as image:
        assert (image.format, image.size) == (encoding.upper(), (64, 48))
    assert size == (64, 48)
    assert encode_frame(given, encoding)[0] is data  # made once


def test_a_png_loses_nothing() -> None:
    given = noise(64, 48)
    data, _ = encode_frame(given, "png")
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(data))), given.pixels)


def test_too_many_pixels_are_scaled_down() -> None:
    data, size = encode_frame(frame(3840, 2160), "jpeg")
    assert size == (2730, 1536)
    assert Image.open(io.BytesIO(data)).size == size
    assert size[0] * size[1] <= MAX_FRAME_PIXELS


def test_too_many_bytes_are_scaled_down_and_the_size_is_told() -> None:
    data, size = encode_frame(noise(2048, 2048), "png")
    assert len(data) <= MAX_FRAME_BYTES
    assert Image.open(io.BytesIO(data)).size == size
    assert size[0] < 2048


async def test_a_frame_is_encoded_before_its_turn_and_once() -> None:
    wrapped: list[bytes] = []
    encoder = FrameEncoder[int]("png", lambda data: wrapped.append(data) or len(wrapped))
    first, second = frame(64, 48), frame(32, 24)
    await encoder.prepare(first)
    assert (len(wrapped), encoder.shown_size) == (1, (0, 0))
    assert await encoder.message(first) == 1
    assert encoder.shown_size == (64, 48)
    await encoder.prepare(first)
    assert await encoder.message(second) == 3  # another than was prepared for
    assert encoder.shown_size == (32, 24)
    assert [len(data) > 0 for data in wrapped] == [True] * 3


async def test_a_damaged_frame_fails_when_its_turn_comes() -> None:
    encoder = FrameEncoder[bytes]("png", bytes)
    damaged = Frame(encoded=frame().encoded("jpeg")[:200])
    await encoder.prepare(damaged)
    with pytest.raises(InputError):
        await encoder.message(damaged)
