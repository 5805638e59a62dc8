import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.lite.colour import Palette, Spot
from engine.lite.motion import Change
from engine.lite.observation import Observation
from engine.lite.ocr import Line
from engine.lite.scene import WEIGHTS, read_classes
from engine.lite.sentence import MAX_WORDS, compose, cut
from engine.lite.text import legible

GREY = Palette("normal", ("grey",), (128, 128, 128), 0.6)
BLUE = Palette("normal", ("blue",), (20, 60, 160), 0.05)
BLACK = Palette("black", ("black",), (0, 0, 0), 0.0)
STILL = Change("still")


def lines(*texts):
    return tuple(Line(text, 0.99, (0.1, 0.1 * row, 0.5, 0.1 * row + 0.08)) for row, text in enumerate(texts))


@pytest.mark.parametrize(
    ("seen", "sentence"),
    [
        (Observation(GREY), "A mostly grey picture."),
        (Observation(replace(GREY, colours=("grey", "brown"))), "A mostly grey and brown picture."),
        (Observation(replace(GREY, colours=(), many=True)), "A picture of many colours."),
        (Observation(replace(GREY, colours=())), "A picture of several colours."),
        (Observation(replace(GREY, accent="red")), "A mostly grey picture with some red."),
        (Observation(replace(GREY, accent="orange", much=True)), "A picture with a lot of orange."),
        (
            Observation(replace(GREY, colours=("green",), accent="yellow", much=True)),
            "A mostly green picture with a lot of yellow.",
        ),
        (Observation(replace(GREY, rest=0.0, light="dark")), "A plain dark grey picture."),
        (
            Observation(replace(BLUE, rest=0.01, spot=Spot((0.02, 0.05, 0.1, 0.1), "bright"))),
            "A blue picture with something bright at the top left.",
        ),
        (
            Observation(
                replace(BLUE, rest=0.001, colours=("orange",), spot=Spot((0.4, 0.4, 0.6, 0.6), "red"))
            ),
            "An orange picture with something red in the middle.",
        ),
        (
            Observation(replace(BLUE, rest=0.001, spot=Spot((0.1, 0.1, 0.9, 0.9), "red"))),
            "A mostly blue picture.",
        ),
        (Observation(replace(GREY, rest=0.0)), "A plain grey picture."),
        (Observation(replace(GREY, light="dark")), "A dark, mostly grey picture."),
        (Observation(replace(GREY, light="bright", colours=())), "A bright picture."),
        (Observation(GREY, noun="a cat"), "A cat."),
        (Observation(GREY, lines=lines("EXIT 12")), "Text reading 'EXIT 12'."),
        (Observation(BLUE, lines=lines("30")), "Text reading '30' on a plain blue screen."),
        (
            Observation(replace(BLUE, spot=Spot((0.09, 0.0, 0.52, 0.09), "bright")), lines=lines("30")),
            "Text reading '30' on a plain blue screen.",
        ),
        (
            Observation(replace(BLUE, spot=Spot((0.1, 0.0, 0.9, 0.9), "bright")), lines=lines("30")),
            "Text reading '30' on a mostly blue screen.",
        ),
        (Observation(GREY, noun="a bus", lines=lines("42")), "A bus, and text reading '42'."),
        (Observation(BLACK), "A black picture."),
        (Observation(BLACK, change=STILL, was_black=True), "The picture stays black."),
        (Observation(BLACK, change=Change("cut")), "The picture goes black."),
        (Observation(BLACK, change=Change("light"), fading=True), "The picture fades to black."),
        (
            Observation(GREY, change=Change("cut"), was_black=True, noun="a cat"),
            "A picture appears out of black: a cat.",
        ),
        (Observation(GREY, change=Change("cut"), noun="a cat"), "New scene: a cat."),
        (
            Observation(GREY, change=Change("cut"), earlier=True, noun="a cat"),
            "Back to an earlier view: a cat.",
        ),
        (Observation(GREY, change=Change("much")), "The view changes: a mostly grey picture."),
        (Observation(GREY, change=STILL), "Nothing moves in a mostly grey picture."),
        (Observation(GREY, change=STILL, noun="a cat"), "Nothing moves, with a cat in view."),
        (Observation(GREY, change=Change("camera", camera="pans left")), "The camera pans left."),
        (
            Observation(GREY, change=Change("camera", camera="pans left"), lines=lines("EXIT 12")),
            "The camera pans left; text reads 'EXIT 12'.",
        ),
        (
            Observation(GREY, change=STILL, lines=lines("EXIT 12"), lines_before=lines("exit 12", "A 5")),
            "Nothing moves; the text still reads 'EXIT 12'.",
        ),
        (
            Observation(BLUE, change=STILL, lines=lines("31", "km"), lines_before=lines("30", "km")),
            "The text now reads '31' and 'km'.",
        ),
        (Observation(BLUE, change=STILL, lines=lines("31")), "Text reads '31'."),
        (
            Observation(
                GREY, change=Change("local", moves=True), lines=lines("31", "km"), lines_before=lines("km")
            ),
            "There is movement in several places; text reads '31' and 'km'.",
        ),
        (
            Observation(BLUE, change=STILL, turned="blue", lines=lines("31")),
            "The picture turns blue; text reads '31'.",
        ),
        (
            Observation(GREY, change=Change("local", place="on the left", moves=True)),
            "Something moves on the left.",
        ),
        (Observation(GREY, change=Change("local", place="at the top")), "Something changes at the top."),
        (Observation(GREY, change=Change("local", moves=True)), "There is movement in several places."),
        (Observation(GREY, change=Change("local", wide=True)), "Much of the picture changes."),
        (Observation(GREY, change=Change("light", brighter=True)), "The picture gets brighter."),
        (Observation(GREY, change=Change("light", brighter=True), fading=True), "The picture fades in."),
        (Observation(GREY, change=Change("light"), fading=True), "The picture fades."),
    ],
)
def test_sentences(seen, sentence):
    assert compose(seen) == sentence


def test_the_most_prominent_lines_are_quoted_in_reading_order():
    small = Line("small print", 0.99, (0.1, 0.1, 0.3, 0.12))
    seen = Observation(GREY, lines=(*lines("first"), small, *lines("", "second", "third")[1:]))
    assert compose(seen) == "Text reading 'first', 'second' and 'third'."


def test_of_a_lot_of_text_an_example_is_given():
    seen = Observation(GREY, lines=lines(*(f"line {n}" for n in range(7))))
    assert compose(seen) == "A lot of text, such as 'line 0'."


def test_long_lines_are_cut_between_words():
    seen = Observation(GREY, lines=lines("one two three four five six seven eight nine ten eleven twelve"))
    assert compose(seen) == "Text reading 'one two three four five six seven eight nine ten…'."


def test_a_long_word_is_cut():
    assert len(compose(Observation(GREY, lines=lines("x" * 500)))) < 90


@pytest.mark.parametrize(
    ("text", "quoted"),
    [("JOE'S", '"JOE\'S"'), ('the "inn"', "'the \"inn\"'"), ('JOE\'S "INN"', "\"JOE'S 'INN'\"")],
)
def test_quotes_in_the_text(text, quoted):
    assert compose(Observation(GREY, lines=lines(text))) == f"Text reading {quoted}."


palettes = st.builds(
    Palette,
    st.sampled_from(["dark", "normal", "bright"]),
    st.sampled_from([(), ("grey",), ("black", "orange"), ("white", "brown")]),
    st.just((128, 128, 128)),
    st.sampled_from([0.0, 0.01, 0.05, 0.9]),
    accent=st.sampled_from([None, "red"]),
    much=st.booleans(),
    many=st.booleans(),
    spot=st.sampled_from([None, Spot((0.8, 0.8, 1.0, 1.0), "bright"), Spot((0.0, 0.0, 1.0, 1.0), "red")]),
) | st.just(BLACK)
changes = st.none() | st.builds(
    Change,
    st.sampled_from(["still", "local", "camera", "light", "cut", "much"]),
    camera=st.sampled_from(["pans left", "pans right and zooms or moves out"]),
    place=st.sampled_from([None, "at the bottom right"]),
    wide=st.booleans(),
    moves=st.booleans(),
    brighter=st.booleans(),
)
read = st.lists(
    st.text(max_size=200) | st.sampled_from(["EXIT 12", "a b c d e f g h i j k l m n o p"]), max_size=8
)
boxes = st.tuples(*(st.floats(0, 0.4),) * 2, *(st.floats(0.5, 1),) * 2)
written = st.builds(lambda texts, box: tuple(legible(Line(text, 1.0, box) for text in texts)), read, boxes)
observations = st.builds(
    Observation,
    palettes,
    change=changes,
    was_black=st.booleans(),
    fading=st.booleans(),
    earlier=st.booleans(),
    turned=st.sampled_from([None, "blue"]),
    noun=st.none()
    | st.sampled_from(sorted({noun for _, noun in read_classes(WEIGHTS / "classes.tsv") if noun})),
    lines=written,
    lines_before=written,
)


@given(observations)
def test_whatever_was_seen_makes_one_short_sentence(seen):
    sentence = compose(seen)
    assert 0 < len(sentence.split()) <= MAX_WORDS
    assert len(sentence) < 250
    assert sentence == " ".join(sentence.split())
    assert not sentence[0].islower()
    assert sentence.endswith(".")
    assert not any(unicodedata.category(char).startswith("C") for char in sentence)
    if seen.change is None and not seen.was_black:
        assert "move" not in sentence.replace("a remote", "") or seen.lines
        assert "camera pans" not in sentence or seen.lines


@given(observations)
def test_what_was_not_read_before_is_not_still_there(seen):
    known = {line.text.casefold() for line in seen.lines_before}
    if not known.intersection(line.text.casefold() for line in seen.lines):
        assert "the text still reads" not in compose(seen)


def test_cut_counts_words():
    assert cut("The camera pans left.", 2) == ("The camera", 2, True)
    assert cut("The camera pans left.", 4) == ("The camera pans left.", 4, False)
