import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.lite.ocr import Line
from engine.lite.text import clean, legible, reading_order


def line(text, score=0.99, box=(0.1, 0.1, 0.5, 0.2), digits=1.0):
    return Line(text, score, box, digits)


def texts(*lines):
    return [one.text for one in legible(lines)]


@pytest.mark.parametrize(
    "text",
    ["EXIT 12", "Big Buck Bunny", "00:00:01.500", "30", "出口", "No. 5", "PTS = 1.5s", "at 9:05", "3:2"],
)
def test_writing_is_believed(text):
    assert texts(line(text)) == [text]


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("l:clccard", 0.87),
        ("EXIT", 0.6),
        ("ab", 0.96),
        ("江", 0.99),
        ("K", 1.0),
        ("|", 1.0),
        ("...", 1.0),
        ("-=-", 1.0),
        (":: 1 ::", 1.0),
        ("IIIIIII", 0.99),
        ("", 1.0),
    ],
)
def test_gibberish_is_not(text, score):
    assert texts(line(text, score)) == []


def test_a_lone_digit_must_be_large_and_among_what_can_be_read():
    assert texts(line("7", box=(0.4, 0.4, 0.5, 0.5))) == ["7"]
    assert texts(line("7", box=(0.4, 0.4, 0.41, 0.42))) == []
    assert texts(line("7", box=(0.4, 0.4, 0.5, 0.5)), line("Prscr", 0.7), line("ALr", 0.6)) == []


@pytest.mark.parametrize("text", ["00:00:02.500", "01:59:30", "10:20:30:12 PAL", "00:1a:2b:3c:4d:5e"])
def test_times_and_addresses_are_believed(text):
    assert texts(line(text)) == [text]


@pytest.mark.parametrize("text", ["00:00:031", "00:00:0523", "00:00:01.C0", "TC 00:00:7", "00:00:75.10"])
def test_what_cannot_be_a_time_was_misread(text):
    assert texts(line(text, 1.0)) == []


def test_every_digit_must_be_certain():
    assert texts(line("000035", 0.98, digits=0.9)) == []
    assert texts(line("000035", 0.98, digits=0.98)) == ["000035"]


def test_pieces_of_a_number_are_not_numbers():
    assert texts(line(".000")) == []
    left, right = line("00:00:02", box=(0.0, 0.0, 0.11, 0.06)), line("500", box=(0.114, 0.0, 0.16, 0.06))
    below = line("60", box=(0.13, 0.05, 0.16, 0.1))
    assert texts(left, right, below) == ["60"]
    assert texts(left, line("500", box=(0.3, 0.0, 0.35, 0.06))) == ["00:00:02", "500"]


def test_repeats_are_merged():
    assert texts(line("Exit"), line("EXIT", box=(0.6, 0.1, 0.9, 0.2))) == ["Exit"]


def test_lines_come_in_reading_order():
    lines = [
        line("four", box=(0.5, 0.51, 0.8, 0.61)),
        line("two", box=(0.5, 0.1, 0.8, 0.2)),
        line("three", box=(0.1, 0.5, 0.4, 0.6)),
        line("one", box=(0.1, 0.12, 0.4, 0.22)),
    ]
    assert [one.text for one in reading_order(lines)] == ["one", "two", "three", "four"]


def test_control_characters_and_curly_quotes_go():
    assert clean("\x1b[31m\u201cEXIT\u201d\n\t12\x00\u2018a\u2019\u202e") == "[31m\"EXIT\" 12 'a'"


@given(st.text())
def test_whatever_is_read_comes_out_on_one_clean_line(text):
    cleaned = clean(text)
    assert cleaned == cleaned.strip()
    assert not any(unicodedata.category(char).startswith("C") or char in "\u2028\u2029" for char in cleaned)
