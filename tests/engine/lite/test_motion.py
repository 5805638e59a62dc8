import cv2
import numpy as np
import pytest

from engine.lite.motion import alike, compare, differs, shrink

GREEN = (30, 200, 40)


def with_ball(photo, x, y, radius=28):
    picture = photo.copy()
    cv2.circle(picture, (x, y), radius, GREEN, -1)
    return picture


def change_of(before, now):
    return compare(shrink(before), shrink(now))


def test_nothing_moves_between_equal_pictures(cat):
    assert change_of(cat, cat).kind == "still"


@pytest.mark.parametrize("ground", ["cat", "astronaut"])
@pytest.mark.parametrize(
    ("start", "end", "place"),
    [
        ((60, 180), (120, 180), "on the left"),
        ((120, 170), (60, 190), "on the left"),
        ((500, 180), (580, 180), "on the right"),
        ((300, 180), (345, 180), "in the middle"),
        ((60, 60), (110, 50), "at the top left"),
        ((530, 310), (600, 310), "at the bottom right"),
        ((300, 50), (345, 50), "at the top"),
    ],
)
def test_where_something_moves(request, ground, start, end, place):
    photo = request.getfixturevalue(ground)
    change = change_of(with_ball(photo, *start), with_ball(photo, *end))
    assert change.kind == "local"
    assert change.place == place


def test_a_thing_on_an_even_ground_moves():
    ground = np.full((360, 640, 3), 90, np.uint8)
    change = change_of(with_ball(ground, 60, 180), with_ball(ground, 130, 180))
    assert (change.kind, change.place, change.moves) == ("local", "on the left", True)


def test_a_thing_that_appears_only_changes_the_picture():
    ground = np.full((360, 640, 3), 90, np.uint8)
    change = change_of(ground, with_ball(ground, 560, 180, 40))
    assert (change.kind, change.place, change.moves) == ("local", "on the right", False)


def test_things_in_two_places_have_no_one_place(cat):
    before = with_ball(with_ball(cat, 60, 180), 560, 180)
    now = with_ball(with_ball(cat, 100, 180), 600, 180)
    change = change_of(before, now)
    assert (change.kind, change.place) == ("local", None)


@pytest.mark.parametrize(
    ("start", "end", "place"),
    [
        ((320, 180), (60, 180), "on the left"),
        ((60, 180), (560, 60), "at the top right"),
        ((560, 60), (420, 310), "at the bottom"),
        ((60, 60), (330, 190), "in the middle"),
    ],
)
@pytest.mark.parametrize("level", [0, 90])
def test_one_thing_that_moved_far_is_told_where_it_is_now(start, end, place, level):
    ground = np.full((360, 640, 3), level, np.uint8)
    change = change_of(with_ball(ground, *start), with_ball(ground, *end))
    assert (change.kind, change.place, change.moves) == ("local", place, True)


def test_things_that_moved_apart_are_not_one():
    ground = np.full((360, 640, 3), 90, np.uint8)
    before = with_ball(with_ball(ground, 60, 180), 560, 180, 50)
    now = with_ball(with_ball(ground, 200, 60), 400, 300, 50)
    assert change_of(before, now).place is None


def test_two_things_that_appear_did_not_move():
    ground = np.full((360, 640, 3), 90, np.uint8)
    change = change_of(ground, with_ball(with_ball(ground, 60, 180), 560, 180))
    assert (change.place, change.moves) == (None, False)


def test_writing_that_changes_does_not_move():
    ground = np.full((360, 640, 3), 90, np.uint8)
    before, now = (shrink(with_ball(ground, x, 180)) for x in (60, 130))
    assert compare(before, now).moves
    assert not compare(before, now, (), ((0.0, 0.3, 0.3, 0.7),)).moves


def test_what_changes_in_ignored_boxes_does_not_count(cat):
    before, now = shrink(with_ball(cat, 60, 180)), shrink(with_ball(cat, 120, 180))
    assert compare(before, now, ((0.0, 0.3, 0.3, 0.7),)).kind == "still"


def test_cuts(cat, astronaut, tour):
    pictures = [cat, astronaut, tour(2.0), tour(8.0)]
    for before in pictures:
        for now in pictures:
            if before is not now:
                assert change_of(before, now).kind in ("cut", "much")
    assert change_of(cat, astronaut).kind == "cut"


@pytest.mark.parametrize("strength", [0.6, 0.8, 0.92])
def test_light(cat, strength):
    darker = np.uint8(cat * strength)
    assert (change_of(cat, darker).kind, change_of(cat, darker).brighter) == ("light", False)
    assert (change_of(darker, cat).kind, change_of(darker, cat).brighter) == ("light", True)


def test_another_shape_cannot_be_compared(cat):
    assert compare(shrink(cat), shrink(cat[:, :300])) is None


def test_another_size_of_the_same_shape_can(cat):
    larger = cv2.resize(cat, (1280, 720), interpolation=cv2.INTER_CUBIC)
    assert compare(shrink(cat), shrink(larger)).kind == "still"


@pytest.mark.parametrize("shape", [(1, 1), (3, 900), (900, 3), (16, 16)])
def test_odd_shapes_can_be_compared(shape):
    random = np.random.default_rng(0)
    before, now = (shrink(random.integers(0, 256, (*shape, 3), np.uint8)) for _ in range(2))
    assert compare(before, now) is not None


def test_blank_pictures_can_be_compared():
    white, black = (np.full((90, 160, 3), level, np.uint8) for level in (255, 0))
    assert change_of(black, black).kind == "still"
    assert change_of(white, black).kind in ("cut", "much", "light")


def test_a_letter_makes_a_difference(cat):
    lettered = cat.copy()
    cv2.putText(lettered, "7", (300, 180), cv2.FONT_HERSHEY_SIMPLEX, 0.7, (255, 255, 255), 2)
    assert differs(shrink(cat), shrink(lettered))
    assert not differs(shrink(cat), shrink(cat))


def test_a_view_is_known_again(cat, astronaut):
    random = np.random.default_rng(1)
    noisy = np.clip(cat + random.normal(0, 4, cat.shape), 0, 255).astype(np.uint8)
    assert alike(shrink(cat), shrink(noisy))
    assert not alike(shrink(cat), shrink(astronaut))
    assert not alike(shrink(cat), shrink(cat[:, :200]))
