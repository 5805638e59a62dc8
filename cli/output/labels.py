"""Short names for inputs that are read at the same time."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

from cli.clean import one_line
from protocol.redaction import mask_url

if TYPE_CHECKING:
    from collections.abc import Sequence

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#]*@)?")
_BOUNDARY = re.compile(r"[/?&\\]")


def short_labels(names: Sequence[str], width: int) -> list[str]:
    """What tells `names` apart, in at most `width` characters each; no two are the same.

    >>> short_labels(["rtsp://10.0.0.5/live/door", "rtsp://10.0.0.5/live/yard"], 10)
    ['door', 'yard']
    >>> short_labels(["rtsp://nvr/cam?channel=1&subtype=0", "rtsp://nvr/cam?channel=2&subtype=0"], 10)
    ['channel=1', 'channel=2']
    >>> short_labels(["camera:0", "camera:0"], 10)
    ['1 camera:0', '2 camera:0']
    """
    shown = [one_line(mask_url(name)) for name in names]
    parts = [[part for part in _BOUNDARY.split(_SCHEME.sub("", name)) if part] or [name] for name in shown]
    before = _common(parts)
    after = _common([own[::-1] for own in parts])
    labels = []
    for own in parts:
        first = min(before, len(own) - 1)
        last = max(first + 1, len(own) - after)
        labels.append(_elided("/".join(own[first:last]), width))
    if len(set(labels)) == len(labels):
        return labels
    return [
        f"{number} {_elided(label, width - len(str(number)) - 1)}" for number, label in enumerate(labels, 1)
    ]


def _common(rows: Sequence[Sequence[str]]) -> int:
    """How many of their first items all `rows` share."""
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*rows, strict=False)))


def _elided(text: str, width: int) -> str:
    """`text` without its middle if it is too long: what differs stands at the ends, mostly."""
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"
