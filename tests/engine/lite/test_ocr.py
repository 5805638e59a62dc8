import numpy as np
import pytest

from engine.lite.ocr import MAX_LINES, Reader
from engine.lite.text import legible
from protocol.errors import EngineError


def read(reader, picture):
    return [line.text for line in legible(reader.read(picture))]


def test_rendered_text_is_read_in_order(reader, write):
    assert read(reader, write("EXIT 12", "Airport 3 km")) == ["EXIT 12", "Airport 3 km"]


@pytest.mark.parametrize(("colour", "ground"), [((0, 0, 0), (255, 255, 255)), ((255, 240, 0), (0, 0, 0))])
def test_colours_do_not_matter(reader, write, colour, ground):
    assert read(reader, write("Platform 9", colour=colour, ground=ground)) == ["Platform 9"]


def test_large_pictures_are_read_at_a_bounded_size(reader, write):
    assert read(reader, write("Breaking news", size=64, shape=(2160, 3840))) == ["Breaking news"]


def test_boxes_are_shares_of_the_picture(reader, write):
    (line,) = reader.read(write("EXIT 12"))
    left, top, right, bottom = line.box
    assert 0 < left < 0.1 < 0.3 < right < 0.6
    assert 0.05 < top < 0.2 < bottom < 0.4


def test_the_least_certain_digit_is_told(reader, write):
    word, number = reader.read(write("EXIT", "12 345"))
    assert word.digits == 1.0
    assert 0.9 < number.digits < 1.0


def test_text_over_a_photograph_is_read_and_the_photograph_is_not(reader, tour):
    assert read(reader, tour(2.0)) == ["A SHORT TOUR", "In four pictures"]


@pytest.mark.parametrize("scale", [1, 4, 16])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_read_in_noise(reader, seed, scale):
    random = np.random.default_rng(seed)
    noise = random.integers(0, 256, (360 // scale, 640 // scale, 3), np.uint8)
    assert read(reader, noise.repeat(scale, axis=0).repeat(scale, axis=1)) == []


def test_nothing_is_read_in_stripes_and_checks(reader):
    ys, xs = np.mgrid[:360, :640]
    for pattern in (xs // 12 % 2, ys // 9 % 2, (xs // 16 + ys // 16) % 2, (xs + ys) // 10 % 2):
        picture = np.repeat((pattern * 255).astype(np.uint8)[:, :, None], 3, axis=2)
        assert read(reader, picture) == []


def test_a_full_page_is_read_in_part(reader, write):
    page = write(*(f"Line number {n} of a long page" for n in range(20)), size=11)
    lines = reader.read(page)
    assert 1 < len(lines) <= MAX_LINES


@pytest.mark.parametrize("shape", [(1, 1), (2, 700), (700, 2), (33, 31), (16, 3000), (3000, 16)])
def test_any_shape_can_be_read(reader, shape):
    assert read(reader, np.zeros((*shape, 3), np.uint8)) == []


@pytest.mark.parametrize("times", [24, 29, 30])
def test_the_longest_shapes_that_are_read(reader, times):
    random = np.random.default_rng(0)
    for short in (1, 3, 16, 40):
        strip = random.integers(0, 256, (short, short * times, 3), np.uint8)
        assert read(reader, strip) == read(reader, strip.transpose(1, 0, 2)) == []


def test_a_folder_without_networks_is_an_error(tmp_path):
    with pytest.raises(EngineError, match="_det_"):
        Reader(tmp_path)
