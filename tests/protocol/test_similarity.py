"""The near-duplicate filter, against its definition: 64 x 64 by Pillow, one minus the mean squared error."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from protocol.frame import Frame
from protocol.similarity import SimilarityFilter, similarity, thumbnail

Pixels = NDArray[np.uint8]


def noise(height: int, width: int, seed: int = 0) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def grey(value: int) -> Frame:
    return Frame(pixels=np.full((90, 160, 3), value, np.uint8))


@given(st.integers(1, 1100), st.integers(1, 1100), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
@example(1080, 1920, 0)
@example(1100, 1100, 0)
@example(1100, 300, 0)
def test_a_thumbnail_is_pillows_to_the_bit(height: int, width: int, seed: int) -> None:
    pixels = noise(height, width, seed)
    expected = Image.fromarray(pixels).resize((64, 64), Image.Resampling.BILINEAR)
    assert np.array_equal(thumbnail(pixels), np.asarray(expected))


def test_a_thumbnail_of_rows_that_are_not_side_by_side() -> None:
    pixels = noise(720, 1280)[:, ::-1]
    expected = Image.fromarray(np.ascontiguousarray(pixels)).resize((64, 64), Image.Resampling.BILINEAR)
    assert np.array_equal(thumbnail(pixels), np.asarray(expected))


def test_similarity_is_one_minus_the_mean_squared_error() -> None:
    black, white = np.zeros((10, 10, 3), np.uint8), np.full((20, 10, 3), 255, np.uint8)
    assert similarity(black, black) == 1
    assert similarity(black, white) == 0
    reddish = black.copy()
    reddish[..., 0] = 51  # a fifth of the range in a third of the samples
    assert similarity(black, reddish) == pytest.approx(1 - 0.2**2 / 3)


def test_the_first_frame_is_kept_and_the_rest_are_held_against_the_last_kept() -> None:
    similar = SimilarityFilter(0.99)  # a difference of up to 25 levels
    # 20 and 40 are near their neighbours, but 40 is far from the last one kept.
    assert [similar.keeps(grey(value)) for value in (0, 20, 0, 40, 30, 60, 100)] == [
        True, False, False, True, False, False, True,
    ]  # fmt: skip


def test_a_frame_just_as_similar_as_the_threshold_is_dropped() -> None:
    exactly = similarity(grey(0).pixels, grey(51).pixels)
    at, above = SimilarityFilter(exactly), SimilarityFilter(np.nextafter(exactly, 1))
    assert [at.keeps(grey(0)), at.keeps(grey(51))] == [True, False]
    assert [above.keeps(grey(0)), above.keeps(grey(51))] == [True, True]


def test_a_threshold_of_one_drops_only_what_looks_the_same() -> None:
    similar = SimilarityFilter(1)
    assert [similar.keeps(grey(value)) for value in (7, 7, 8, 7)] == [True, False, True, True]


def test_an_encoded_frame_is_compared_by_its_pixels() -> None:
    frame = Frame(pixels=noise(90, 160))
    similar = SimilarityFilter(1)
    assert similar.keeps(frame)
    assert not similar.keeps(Frame(encoded=frame.encoded("png")))
