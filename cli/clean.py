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
_NO_BYTE = re.compile(r"[\ud800-\udc7f\udd00-\udfff]")
_DEL_AND_C1 = re.compile(r"[\x7f-\x9f]")
_LINE_BREAK = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")


def clean(text: str) -> str:
    r"""`text` without terminal control sequences; every kind of line break becomes ``\n``.

    >>> clean("a \x1b[31mred\x1b[0m sign\r\nhere")
    'a red sign\nhere'
    """
    return _CONTROL.sub("", _LINE_BREAK.sub("\n", _ESCAPE_SEQUENCE.sub("", valid_unicode(text)))).strip()


def valid_unicode(text: str) -> str:
    """`text` without lone surrogates, which stand for the bytes of a file name that the locale cannot decode.

    They become the characters those bytes are in UTF-8, else U+FFFD.
    """
    if not _SURROGATE.search(text):
        return text
    given_as_bytes = _NO_BYTE.sub("\ufffd", text)
    return given_as_bytes.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def escape_controls(json_text: str) -> str:
    r"""JSON with DEL and the C1 controls as ``\\u00XX``: JSON lets them be, a terminal does not."""
    return _DEL_AND_C1.sub(lambda match: f"\\u{ord(match.group()):04x}", json_text)


def one_line(text: str) -> str:
    r"""`clean(text)` with every run of white space as one space.

    >>> one_line("two\n\n lines")
    'two lines'
    """
    return " ".join(clean(text).split())
