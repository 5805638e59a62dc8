import struct
from fractions import Fraction

import numpy as np
import pytest

from cli.video.display import UPRIGHT, Orientation, fitted_size, read_orientation, square_size

ONE = 1 << 16
LAST = 1 << 30


def matrix(a: int, b: int, c: int, d: int) -> bytes:
    return struct.pack("=9i", a, b, 0, c, d, 0, 0, 0, LAST)


@pytest.mark.parametrize(
    ("terms", "rotation", "mirrored"),
    [
        ((ONE, 0, 0, ONE), 0, False),
        ((0, ONE, -ONE, 0), 90, False),
        ((-ONE, 0, 0, -ONE), 180, False),
        ((0, -ONE, ONE, 0), 270, False),
        ((-ONE, 0, 0, ONE), 0, True),
        ((ONE, 0, 0, -ONE), 180, True),
        ((0, ONE, ONE, 0), 90, True),
        ((0, -ONE, -ONE, 0), 270, True),
        ((ONE // 2, 0, 0, ONE * 2), 0, False),
        ((ONE, 100, -100, ONE), 0, False),
    ],
)
def test_the_eight_right_angled_matrices(
    terms: tuple[int, int, int, int], rotation: int, mirrored: bool
) -> None:
    found = read_orientation(matrix(*terms))
    assert found is not None
    assert (found.rotation, found.mirrored) == (rotation, mirrored)
    assert found.shown(4, 3) == ((3, 4) if rotation in (90, 270) else (4, 3))


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("flip_x", [False, True])
@pytest.mark.parametrize("flip_y", [False, True])
def test_words_and_pixels_agree(transpose: bool, flip_x: bool, flip_y: bool) -> None:
    picture = np.arange(6).reshape(2, 3)
    turned = picture.T if transpose else picture
    turned = turned[:, ::-1] if flip_x else turned
    turned = turned[::-1] if flip_y else turned
    orientation = Orientation(transpose, flip_x, flip_y)
    expected = np.rot90(picture, -orientation.rotation // 90)
    assert (turned == (expected[:, ::-1] if orientation.mirrored else expected)).all()


@pytest.mark.parametrize(
    "data",
    [
        matrix(0, 0, 0, 0),
        matrix(ONE, ONE, -ONE, ONE),
        matrix(ONE, ONE // 2, -ONE // 2, ONE),
        matrix(ONE, 0, 0, 0),
        b"",
        b"\0" * 35,
    ],
)
def test_anything_but_a_right_angle_is_none(data: bytes) -> None:
    assert read_orientation(data) is None


def test_upright_changes_nothing() -> None:
    assert (UPRIGHT.rotation, UPRIGHT.mirrored) == (0, False)


@pytest.mark.parametrize(
    ("aspect", "size"),
    [
        (None, (720, 480)),
        (Fraction(1), (720, 480)),
        (Fraction(8, 9), (640, 480)),
        (Fraction(32, 27), (853, 480)),
        (Fraction(2), (1440, 480)),
        (Fraction(0), (720, 480)),
        (Fraction(-1), (720, 480)),
        (Fraction(100), (720, 480)),
        (Fraction(1, 100), (720, 480)),
    ],
)
def test_pixels_are_made_square_unless_the_aspect_is_absurd(
    aspect: Fraction | None, size: tuple[int, int]
) -> None:
    assert square_size(720, 480, aspect) == size


def test_the_pixel_limit_comes_after_squaring() -> None:
    width, height = fitted_size(2000, 2000, Fraction(2))
    assert width * height <= 4_194_304
    assert width / height == pytest.approx(2, rel=0.01)
