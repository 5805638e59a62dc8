"""A frame carries pixels or an encoded picture and makes the other."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from protocol.errors import InputError
from protocol.frame import Frame, fit_pixels
from protocol.limits import MAX_FRAME_BYTES, MAX_FRAME_PIXELS


def gradient(width: int, height: int) -> np.ndarray:
    rows = np.linspace(0, 255, height, dtype=np.uint8)[:, None]
    columns = np.linspace(0, 255, width, dtype=np.uint8)[None, :]
    red, green = np.broadcast_to(rows, (height, width)), np.broadcast_to(columns, (height, width))
    return np.stack([red, green, red // 2 + green // 2], axis=2).astype(np.uint8)


def noise(width: int, height: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


def test_png_gives_the_pixels_back_exactly() -> None:
    pixels = gradient(64, 48)
    encoded = Frame(pixels=pixels, pts_s=1.5).encoded("png")
    again = Frame(encoded=encoded)
    assert again.size == (64, 48)
    assert np.array_equal(again.pixels, pixels)


def test_jpeg_is_of_quality_85() -> None:
    pixels = gradient(64, 48)
    expected = io.BytesIO()
    Image.fromarray(pixels).save(expected, "JPEG", quality=85)
    assert Frame(pixels=pixels).encoded() == expected.getvalue()


def test_the_other_form_is_made_once() -> None:
    frame = Frame(pixels=gradient(64, 48))
    assert frame.encoded() is frame.encoded()
    received = Frame(encoded=frame.encoded())
    assert not received.decoded
    assert received.pixels is received.pixels
    assert received.decoded
    assert received.encoded() is frame.encoded()


def test_the_size_comes_from_the_header_alone() -> None:
    encoded = Frame(pixels=noise(320, 200)).encoded("png")
    assert Frame(encoded=encoded[:60]).size == (320, 200)


@pytest.mark.parametrize("encoded", [b"", b"GIF89a", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_picture_is_refused(encoded: bytes) -> None:
    with pytest.raises(InputError, match="not a JPEG or PNG picture"):
        _ = Frame(encoded=encoded).size


@pytest.mark.parametrize("encoding", ["jpeg", "png"])
def test_a_picture_cut_short_is_refused(encoding: str) -> None:
    whole = Frame(pixels=noise(64, 64)).encoded(encoding)
    with pytest.raises(InputError, match="damaged picture"):
        _ = Frame(encoded=whole[: len(whole) // 2]).pixels


def test_pixels_or_bytes_not_both_not_neither() -> None:
    with pytest.raises(ValueError, match="either pixels or encoded"):
        Frame()
    with pytest.raises(ValueError, match="either pixels or encoded"):
        Frame(pixels=gradient(2, 2), encoded=b"x")
    with pytest.raises(ValueError, match="H x W x 3 uint8"):
        Frame(pixels=np.zeros((4, 4), np.uint8))
    with pytest.raises(ValueError, match="H x W x 3 uint8"):
        Frame(pixels=np.zeros((4, 4, 3), np.float32))


def test_jpeg_quality_falls_only_as_far_as_it_must() -> None:
    frame = Frame(pixels=noise(256, 256))
    at_85 = len(frame.encoded())
    assert len(Frame(pixels=frame.pixels).encoded(max_bytes=at_85)) == at_85
    assert at_85 * 0.5 < len(Frame(pixels=frame.pixels).encoded(max_bytes=at_85 - 1)) < at_85
    assert len(Frame(pixels=frame.pixels).encoded(max_bytes=5000)) <= 5000


def test_a_png_too_large_is_scaled_down() -> None:
    frame = Frame(pixels=noise(2048, 2048))  # 4 MP of noise is 12 MB as PNG
    assert len(frame.encoded("png")) <= MAX_FRAME_BYTES
    width, height = frame.encoded_size("png")
    assert 1400 < width < 2048
    assert width == height


@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_fitting_keeps_the_shape_and_the_limit(width: int, height: int) -> None:
    fitted = fit_pixels(width, height)
    assert fitted[0] * fitted[1] <= MAX_FRAME_PIXELS
    if width * height <= MAX_FRAME_PIXELS:
        assert fitted == (width, height)
    else:
        scale = (MAX_FRAME_PIXELS / (width * height)) ** 0.5
        assert abs(fitted[0] - width * scale) <= 1
        assert abs(fitted[1] - height * scale) <= 1
