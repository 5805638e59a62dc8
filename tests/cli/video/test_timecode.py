from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.video.timecode import format_timecode, parse_timecode
from protocol.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("12", 12),
        ("12.5", Fraction(25, 2)),
        (".25", Fraction(1, 4)),
        ("7.", 7),
        ("1:30", 90),
        ("90:00", 5400),
        ("01:02:03.500", Fraction(7447, 2)),
        ("100:00:00", 360_000),
        ("00:00:01,5", Fraction(3, 2)),
        (" 3 ", 3),
        ("0.1", Fraction(1, 10)),
    ],
)
def test_times_are_read_exactly(text: str, seconds: Fraction) -> None:
    assert parse_timecode(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ".",
        "-1",
        "1:60",
        "1:60:00",
        "1:2:3:4",
        "nan",
        "inf",
        "1e3",
        "one",
        "1:",
        ":30",
        "1 2",
        "१",
        "9" * 26,
        "9" * 5000,
        "99999999:00:00",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a time"):
        parse_timecode(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "00:00:00.000"),
        (3723.5, "01:02:03.500"),
        (59.9996, "00:01:00.000"),
        (-1.5, "-00:00:01.500"),
        (-0.0001, "00:00:00.000"),
        (360_000, "100:00:00.000"),
    ],
)
def test_times_are_written_to_the_millisecond(seconds: float, text: str) -> None:
    assert format_timecode(seconds) == text


@given(st.integers(0, 10**9))
def test_what_is_written_reads_the_same(milliseconds: int) -> None:
    time = Fraction(milliseconds, 1000)
    assert parse_timecode(format_timecode(time)) == time
