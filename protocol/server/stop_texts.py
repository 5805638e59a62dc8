"""Ending an answer at a text that its client named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol.context import Delta


class StopTexts:
    """Cuts an answer before the first of some texts, also where one comes in pieces.

    The end of what came is held back while it may be the beginning of such a text.

    Attributes:
        found: one of them came; the answer is over.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """`stops` are not empty."""
        self.found = False
        self._stops = stops
        self._held = ""

    def cut(self, delta: Delta) -> Delta:
        """`delta` with what may be said now: what was held back, and what it adds, without what is held."""
        self._held += delta.text
        places = [at for stop in self._stops if (at := self._held.find(stop)) >= 0]
        if places:
            self.found = True
            return replace(delta, text=self._held[: min(places)], finish_reason="stop")
        end = len(self._held) - (0 if delta.finish_reason else self._doubtful())
        said, self._held = self._held[:end], self._held[end:]
        return replace(delta, text=said)

    def _doubtful(self) -> int:
        """How many of the last characters may be the beginning of a stop."""
        longest = max(map(len, self._stops), default=1)
        for length in range(min(longest - 1, len(self._held)), 0, -1):
            tail = self._held[-length:]
            if any(stop.startswith(tail) for stop in self._stops):
                return length
        return 0
