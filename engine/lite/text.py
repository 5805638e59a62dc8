"""Which of the lines read in a picture are worth repeating: certain ones that look like writing."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.lite.ocr import Line

# Writing on the clips at hand scores 0.95 and more, rendered text seldom less; what the reader makes of
# textures, keys and letters too small to tell apart scores 0.25 to 0.93.
CERTAIN = 0.94
CERTAIN_SHORT = 0.97
"""For lines of up to three characters, which textures imitate best."""
CERTAIN_DIGIT = 0.95
"""For each digit by itself: a word survives a wrong letter, a number does not survive a wrong digit."""
SINGLE_HEIGHT = 0.03
"""Least height of a lone digit, as a share of the picture's: small ones are found in every lattice."""

DIGITS = frozenset("0123456789")

_SPACES = re.compile(r"\s+")
_DOUBLE_QUOTES = "\u201c\u201d\u201e\u00ab\u00bb\uff02"
_SINGLE_QUOTES = "\u2018\u2019\u201a\u00b4`"
_PLAIN_QUOTES = str.maketrans(dict.fromkeys(_DOUBLE_QUOTES, '"') | dict.fromkeys(_SINGLE_QUOTES, "'"))
_CLOCK = re.compile(r"(?<![\w:])\d{1,2}:\d{2}:(\S*)")
_SECONDS = re.compile(r"[0-5]\d([.,:;]\d{1,9})?|\w\w(:\w\w)+")  # or the rest of a hardware address
_NUMBER = re.compile(r"[\d.,:;]*\d[\d.,:;]*")
_REPEATED = re.compile(r"(.)\1{3,}")


def legible(lines: Iterable[Line]) -> list[Line]:
    """The lines to believe, in reading order, each text once and cleaned."""
    found = reading_order(lines)
    ordered = [line for line in found if not _is_piece(line, found)]
    # Among lines that cannot be read, a lone digit is no digit either.
    certain = sum(line.score < CERTAIN for line in ordered) * 2 <= len(ordered)
    kept: dict[str, Line] = {}
    for line in ordered:
        text = clean(line.text)
        if _is_writing(text, line) and (certain or len(text) > 1):
            kept.setdefault(text.casefold(), replace(line, text=text))
    return list(kept.values())


def reading_order(lines: Iterable[Line]) -> list[Line]:
    """Rows from top to bottom, each from left to right; lines whose middles are level form a row."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.box[1] + line.box[3]):
        middle = (line.box[1] + line.box[3]) / 2
        if rows and rows[-1][0].box[1] <= middle <= rows[-1][0].box[3]:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [line for row in rows for line in sorted(row, key=lambda line: line.box[0])]


def clean(text: str) -> str:
    """`text` on one line, without control or formatting characters, and with plain double quotes."""
    spaced = "".join(
        " " if unicodedata.category(char) in ("Cc", "Zs", "Zl", "Zp") else char
        for char in text
        if unicodedata.category(char) not in ("Cf", "Cs", "Co", "Cn")
    )
    plain = spaced.translate(_PLAIN_QUOTES)
    return _SPACES.sub(" ", plain).strip(" -–—_|·•.,:;★☆*")


def _is_piece(line: Line, lines: Iterable[Line]) -> bool:
    """Whether `line` is a part of a number that was found in pieces, or only in part."""
    text = line.text.strip()
    if not _NUMBER.fullmatch(text):
        return False
    if text[0] in ".,:;" or text[-1] in ":;,":
        return True
    left, top, right, bottom = line.box
    reach = (right - left) / len(text)  # one character
    return any(
        other is not line
        and _NUMBER.fullmatch(other.text.strip())
        and other.box[1] < (top + bottom) / 2 < other.box[3]
        and other.box[0] - right < reach
        and left - other.box[2] < reach
        for other in lines
    )


def _is_writing(text: str, line: Line) -> bool:
    letters = sum(char.isalnum() for char in text)
    if letters == 0 or letters / len(text.replace(" ", "")) < 0.6 or _REPEATED.search(text.replace("0", "")):
        return False
    if line.digits < CERTAIN_DIGIT or any(not _SECONDS.fullmatch(rest) for rest in _CLOCK.findall(text)):
        return False
    if len(text) == 1:
        height = line.box[3] - line.box[1]
        return line.text.strip() in DIGITS and line.score >= CERTAIN_SHORT and height >= SINGLE_HEIGHT
    return line.score >= (CERTAIN_SHORT if len(text) <= 3 else CERTAIN)
