import numpy as np
import pytest

from engine.lite.describer import Abandoned, Describer
from engine.lite.sentence import compose


class Counting:
    """A reader that counts how often it is asked."""

    def __init__(self, reader):
        self.reader = reader
        self.pictures = 0

    def read(self, picture):
        self.pictures += 1
        return self.reader.read(picture)


@pytest.fixture
def describe(scene, reader):
    describer = Describer(scene, reader, frames=8)
    return lambda *pictures: [compose(describer.look(picture)) for picture in pictures]


def test_the_first_frame_has_no_motion(describe, cat):
    assert describe(cat) == ["A cat."]


def test_the_sample_clip(describe, tour):
    card = "'A SHORT TOUR' and 'In four pictures'"
    launch = "'LAUNCH COMPLEX 40' and 'Cape Canaveral, Florida'"
    assert describe(*(tour(time_s) for time_s in (1.0, 2.0, 4.6, 5.0, 7.0, 8.0, 11.0, 12.0, 13.8))) == [
        f"A cup of coffee, and text reading {card}.",
        f"The camera pans right, with a cup of coffee in view; the text still reads {card}.",
        "New scene: a cat.",
        "Nothing moves, with a cat in view.",
        f"New scene: text reading {launch}.",
        f"The camera zooms or moves in; the text still reads {launch}.",
        "New scene: a picture with a lot of orange.",
        "The camera tilts up.",
        "The camera tilts up.",
    ]


def test_a_fade_to_black_and_back(describe, cat):
    steps = [np.uint8(cat * strength) for strength in (1, 0.7, 0.4, 0, 0, 0.4, 0.7)]
    said = describe(*steps)
    assert said[1].startswith("The picture gets darker")
    assert said[2].startswith("The picture fades")
    assert said[3] == "The picture fades to black."
    assert said[4] == "The picture stays black."
    assert said[5].startswith("A picture appears out of black")
    assert said[6].startswith("The picture fades in")


def test_a_counter_on_a_plain_screen(describe, write):
    assert describe(write("Lap 7", size=36), write("Lap 8", size=36), write("Lap 8", size=36)) == [
        "Text reading 'Lap 7' on a plain blue screen.",
        "The text now reads 'Lap 8'.",
        "Nothing moves; the text still reads 'Lap 8'.",
    ]


def test_only_text_that_was_there_before_is_still_there(describe, write):
    said = describe(write("EXIT 12", "Lap 7"), write("EXIT 12", "Lap 8"), write("EXIT 12", "Lap 8"))
    assert said[1] == "The text now reads 'EXIT 12' and 'Lap 8'."
    assert said[2] == "Nothing moves; the text still reads 'EXIT 12' and 'Lap 8'."


def test_a_plain_screen_turns_another_colour(describe, write):
    said = describe(write("EXIT 12"), write("EXIT 12", ground=(150, 40, 40)))
    assert said[1] == "The picture turns red; the text still reads 'EXIT 12'."


def test_an_earlier_view_is_known_again(describe, cat, astronaut):
    assert describe(cat, astronaut, cat)[2] == "Back to an earlier view: a cat."


def test_a_slow_pan_is_named_over_several_frames(describe, astronaut):
    said = describe(*(astronaut[:, x : x + 560] for x in range(0, 30, 5)))
    assert said[-1] == "The camera pans right."


def test_a_change_of_shape_is_no_event(describe, cat):
    assert describe(cat, cat[:, 100:500]) == ["A cat.", "A cat."]


def test_a_change_of_size_is_no_event(describe, cat):
    assert describe(cat, cat.repeat(2, axis=0).repeat(2, axis=1))[1] == "Nothing moves, with a cat in view."


def test_text_is_read_again_only_when_the_picture_changed(scene, reader, write):
    counting = Counting(reader)
    describer = Describer(scene, counting, frames=8)
    for picture in [write("Lap 7")] * 3 + [write("Lap 8")] * 3:
        describer.look(picture)
    assert counting.pictures == 2


def test_black_frames_are_not_read(scene, reader):
    counting = Counting(reader)
    Describer(scene, counting, frames=8).look(np.zeros((360, 640, 3), np.uint8))
    assert counting.pictures == 0


def test_without_a_reader_text_is_left_unread(scene, write):
    seen = Describer(scene, None, frames=8).look(write("EXIT 12"))
    assert compose(seen) == "A blue picture with something bright at the top left."


@pytest.mark.parametrize("frames", [1, 2, 8])
def test_no_more_frames_are_remembered_than_asked_for(scene, cat, frames):
    describer = Describer(scene, None, frames=frames)
    for shift in range(12):
        describer.look(np.roll(cat, 20 * shift, axis=1))
    assert describer.remembered == frames - 1


def test_with_one_frame_each_stands_alone(scene, cat):
    describer = Describer(scene, None, frames=1)
    assert [compose(describer.look(cat)) for _ in range(2)] == ["A cat.", "A cat."]


def test_an_abandoned_frame_is_not_remembered(scene, cat):
    describer = Describer(scene, None, frames=8)
    with pytest.raises(Abandoned):
        describer.look(cat, abandoned=lambda: True)
    assert describer.remembered == 0


def test_a_memory_is_small(scene, cat):
    describer = Describer(scene, None, frames=8)
    describer.look(np.ascontiguousarray(cat.repeat(4, axis=0).repeat(4, axis=1)))
    (memory,) = describer._remembered
    assert memory.grey.base is None
    assert memory.grey.nbytes == 320 * 180


def test_pixels_are_left_as_they_are(describe, cat):
    before = cat.copy()
    describe(cat)
    assert np.array_equal(cat, before)
