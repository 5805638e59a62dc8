"""Nothing a terminal would act on gets through."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.clean import clean, one_line, valid_unicode


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[Hcleared", "cleared"),
        ("\x9b31mred", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r\x1b\\after", "after"),
        ("\x1bcreset", "reset"),
        ("bell\x07 back\x08space \x7fdel", "bell backspace del"),
        ("C1 \x85 \x84", "C1"),
        ("\u202egnp.exe\u202c", "gnp.exe"),
        ("\x1b]unterminated stays", "unterminated stays"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("  padded \n", "padded"),
        ("日本語 – naïve", "日本語 – naïve"),
        ("bad \udcff byte", "bad \ufffd byte"),
    ],
)
def test_clean(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@given(st.text() | st.text(alphabet="\x1b\x9b[]0;mPX^_\x07\\\n\r\t ab\x9c\x9d"))
def test_no_control_is_left(text: str) -> None:
    left = clean(text)
    assert not any(ord(char) < 32 and char not in "\n\t" for char in left)
    assert not any(0x7F <= ord(char) < 0xA0 for char in left)
    assert clean(left) == left
    assert "\n" not in one_line(text)
    left.encode()


def test_valid_unicode_keeps_everything_else() -> None:
    assert valid_unicode("a\x1b\udc80") == "a\x1b\ufffd"
