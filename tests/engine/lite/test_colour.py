import numpy as np
import pytest

from engine.lite.colour import palette


def flat(*colour, shape=(120, 160)):
    return np.full((*shape, 3), colour, np.uint8)


@pytest.mark.parametrize(
    ("colour", "name"),
    [
        ((0, 0, 0), "black"),
        ((128, 128, 128), "grey"),
        ((250, 250, 250), "white"),
        ((220, 20, 20), "red"),
        ((255, 140, 0), "orange"),
        ((110, 70, 30), "brown"),
        ((240, 230, 30), "yellow"),
        ((30, 160, 40), "green"),
        ((0, 230, 230), "cyan"),
        ((20, 40, 220), "blue"),
        ((130, 40, 200), "purple"),
        ((250, 170, 190), "pink"),
    ],
)
def test_flat_colours_have_their_names(colour, name):
    seen = palette(flat(*colour))
    assert seen.colours == (name,)
    assert seen.plain
    assert seen.backdrop


def test_two_colours_are_named_the_commoner_first():
    picture = flat(20, 40, 220)
    picture[:, :50] = (30, 160, 40)
    seen = palette(picture)
    assert seen.colours == ("blue", "green")
    assert not seen.plain


def test_many_colours_are_not_named():
    picture = np.concatenate(
        [flat(*c, shape=(120, 40)) for c in ((220, 20, 20), (30, 160, 40), (20, 40, 220), (240, 230, 30))],
        axis=1,
    )
    assert palette(picture).colours == ()


@pytest.mark.parametrize(
    ("level", "light"), [(0, "black"), (8, "black"), (30, "dark"), (120, "normal"), (230, "bright")]
)
def test_light(level, light):
    assert palette(flat(level, level, level)).light == light


def test_a_title_on_black_is_no_black_frame():
    picture = flat(0, 0, 0)
    picture[60:62, 70:90] = 255
    assert palette(picture).light == "dark"


def test_a_little_on_a_plain_picture_makes_it_a_backdrop():
    picture = flat(20, 40, 220)
    picture[40:60, 30:90] = 255
    seen = palette(picture)
    assert seen.backdrop
    assert not seen.plain
