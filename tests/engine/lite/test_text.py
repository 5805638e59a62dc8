import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.lite.ocr import Line
from engine.lite.text import clean, legible, reading_order


def line(text, score=0.99, box=(0.1, 0.1, 0.5, 0.2)):
    return Line(text, score, box)


def texts(*lines):
    return [one.text for one in legible(lines)]


@pytest.mark.parametrize(
    "text", ["EXIT 12", "Big Buck Bunny", "00:00:01.500", "30", "出口", "No. 5", "PTS = 1.5s"]
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
