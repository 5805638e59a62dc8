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
        ((150, 30, 20), "red"),
        ((255, 140, 0), "orange"),
        ((204, 98, 72), "orange"),  # a space suit
        ((255, 85, 30), "orange"),
        ((236, 202, 157), "beige"),
        ((148, 96, 85), "brown"),
        ((255, 255, 0), "yellow"),
        ((152, 153, 57), "green"),  # grass in the sun
        ((20, 50, 20), "green"),
        ((39, 56, 89), "blue"),  # the sky at night
        ((48, 48, 48), "grey"),
        ((20, 24, 50), "black"),
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


def test_mostly_means_more_than_half():
    columns = ((48, (255, 140, 0)), (48, (0, 0, 0)), (32, (128, 128, 128)), (32, (250, 250, 250)))
    seen = palette(np.concatenate([flat(*colour, shape=(120, width)) for width, colour in columns], axis=1))
    assert (seen.colours, seen.accent, seen.much, seen.many) == ((), "orange", True, False)


def test_a_little_of_a_strong_colour_is_told():
    picture = np.random.default_rng(0).integers(90, 170, (120, 160, 1), np.uint8).repeat(3, axis=2)
    picture = np.concatenate([picture // 2, picture], axis=1)
    picture[:50, :40] = (200, 20, 20)
    seen = palette(picture)
    assert (seen.accent, seen.much) == ("red", False)


def test_a_green_silhouette_does_not_have_many_colours():
    picture = flat(21, 25, 11)
    picture[:60] = np.linspace((90, 110, 80), (180, 200, 170), 60)[:, None]
    seen = palette(picture)
    assert not seen.many
    assert set(seen.colours) == {"green", "black"}


def test_many_colours_are_not_named():
    picture = np.concatenate(
        [flat(*c, shape=(120, 40)) for c in ((220, 20, 20), (30, 160, 40), (20, 40, 220), (240, 230, 30))],
        axis=1,
    )
    assert palette(picture).colours == ()
    assert palette(picture).many


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


def test_a_small_logo_stands_out():
    picture = flat(0, 0, 0, shape=(360, 640))
    assert palette(picture).plain
    picture[8:20, 8:50] = 255
    seen = palette(picture)
    assert not seen.plain
    assert seen.even
    assert seen.spotted
    assert seen.spot.colour == "bright"
    left, top, right, bottom = seen.spot.box
    assert max(left, top) < 0.03 < bottom < right < 0.1


@pytest.mark.parametrize(("colour", "name"), [((230, 0, 0), "red"), ((90, 90, 90), "dark")])
def test_a_spot_has_a_colour(colour, name):
    picture = flat(200, 200, 200, shape=(360, 640))
    picture[160:200, 300:340] = colour
    assert palette(picture).spot.colour == name


def test_noise_does_not_stand_out():
    noise = np.random.default_rng(0).normal(0, 6, (360, 640, 3))
    assert palette(np.clip(100 + noise, 0, 255).astype(np.uint8)).plain
