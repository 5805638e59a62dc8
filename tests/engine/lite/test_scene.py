import numpy as np
import pytest

from engine.lite.scene import WEIGHTS, read_classes

CLASSES = read_classes(WEIGHTS / "classes.tsv")


@pytest.mark.parametrize(("time_s", "noun"), [(2.0, "a cup of coffee"), (5.0, "a cat")])
def test_known_things_are_named(scene, tour, time_s, noun):
    assert scene.name(tour(time_s)) == noun


def test_a_picture_of_something_unknown_is_not_named(scene, astronaut):
    assert scene.name(astronaut) is None


@pytest.mark.parametrize("seed", range(3))
def test_noise_and_flat_pictures_are_not_named(scene, seed):
    random = np.random.default_rng(seed)
    assert scene.name(random.integers(0, 256, (240, 320, 3), np.uint8)) is None
    assert scene.name(np.full((240, 320, 3), random.integers(0, 256, 3), np.uint8)) is None


def test_a_cat_in_a_corner_is_not_called_what_the_picture_shows(scene, cat):
    canvas = np.full((1080, 1920, 3), 128, np.uint8)
    canvas[: cat.shape[0] // 2, : cat.shape[1] // 2] = cat[::2, ::2]
    assert scene.name(canvas) is None


@pytest.mark.parametrize("shape", [(1, 1), (2, 500), (500, 2), (1080, 1920), (640, 360)])
def test_any_shape_can_be_looked_at(scene, shape):
    assert scene.name(np.zeros((*shape, 3), np.uint8)) is None


def test_a_name_just_said_is_kept_longer_than_it_takes_to_be_said(scene, cat):
    faded = None
    for strength in np.linspace(1, 0, 41):
        faded = np.uint8(cat * strength + 128 * (1 - strength))
        if scene.name(faded) is None:
            break
    assert scene.name(faded) is None
    assert scene.name(faded, said="a cat") == "a cat"


def test_there_is_a_row_for_each_class():
    assert len(CLASSES) == 1000
    assert all(name and name == name.strip() for name, _ in CLASSES)


def test_nouns_are_plain():
    nouns = {noun for _, noun in CLASSES if noun}
    assert {"a dog", "a cat", "a bird", "a car", "a bridge"} <= nouns
    for noun in nouns:
        assert noun == noun.lower().strip()
        assert len(noun.split()) <= 4


def test_breeds_are_gathered():
    by_noun = {}
    for name, noun in CLASSES:
        by_noun.setdefault(noun, []).append(name)
    assert len(by_noun["a dog"]) == 118
    assert "Egyptian cat" in by_noun["a cat"]
    assert "sports car" in by_noun["a car"]
    assert {"web site", "comic book", "spotlight", "envelope"} <= set(by_noun[""])
