"""Making text from models, pictures and file names safe to write anywhere."""

from __future__ import annotations

import re

# CSI, OSC and the other string sequences, then two-character escapes. A string sequence that never ends
# swallows no more than its introducer.
_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
# C0 but tab and newline, DEL, C1, and the bidirectional controls that reorder what is around them.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_LINE_BREAK = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")


def clean(text: str) -> str:
    r"""`text` without terminal control sequences; every kind of line break becomes ``\n``.

    >>> clean("a \x1b[31mred\x1b[0m sign\r\nhere")
    'a red sign\nhere'
    """
    return _CONTROL.sub("", _LINE_BREAK.sub("\n", _ESCAPE_SEQUENCE.sub("", valid_unicode(text)))).strip()


def valid_unicode(text: str) -> str:
    """`text` with lone surrogates, which stand for undecodable bytes in a file name, as U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def one_line(text: str) -> str:
    r"""`clean(text)` with every run of white space as one space.

    >>> one_line("two\n\n lines")
    'two lines'
    """
    return " ".join(clean(text).split())
