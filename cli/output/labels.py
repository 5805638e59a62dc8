"""Short names for inputs that are read at the same time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cli.clean import one_line
from protocol.redaction import mask_url

if TYPE_CHECKING:
    from collections.abc import Sequence

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#]*@)?")
_BOUNDARY = re.compile(r"[/?&]")


def short_labels(names: Sequence[str], width: int) -> list[str]:
    """What tells `names` apart, in at most `width` characters each; no two are the same.

    That is the last part in which all differ, else as many of the last parts as it takes, else a number.

    >>> short_labels(["rtsp://10.0.0.5/live/door", "rtsp://10.0.0.6/live/yard"], 10)
    ['door', 'yard']
    >>> short_labels(["rtsp://nvr/cam?channel=1&subtype=0", "rtsp://nvr/cam?channel=2&subtype=0"], 10)
    ['channel=1', 'channel=2']
    >>> short_labels(["camera:0", "camera:0"], 10)
    ['1 camera:0', '2 camera:0']
    """
    parts = [_parts(one_line(mask_url(name))) for name in names]
    fewest, most = min(map(len, parts), default=0), max(map(len, parts), default=0)
    candidates = [[own[-last] for own in parts] for last in range(1, fewest + 1)]
    candidates += [["/".join(own[-last:]) for own in parts] for last in range(2, most + 1)]
    for candidate in candidates:
        for shortened in (_without_end, _without_middle):
            labels = [shortened(label, width) for label in candidate]
            if len(set(labels)) == len(labels):
                return labels
    return [
        f"{number} {_without_middle(own[-1], width - len(str(number)) - 1)}"
        for number, own in enumerate(parts, 1)
    ]


def _parts(name: str) -> list[str]:
    """Host, folders and options of a URL or a path; anything else (``camera:0``, ``lavfi:...``) is whole."""
    is_url = _SCHEME.match(name)
    if not is_url and ":" in name:
        return [name]
    return [part for part in _BOUNDARY.split(_SCHEME.sub("", name)) if part] or [name]


def _without_end(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _without_middle(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"
