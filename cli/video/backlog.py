"""What waited in FFmpeg, or in front of it, before a live source was read."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")

_WAIT_S = 0.01
_LONGEST_S = 2.0


class Backlog:
    """Tells which packets of a live source are old: when they came, nobody noted.

    FFmpeg reads a second of a stream, or five, to find out what is in it, and then gives all of that at once.
    It is over when a read has to wait for the world, or after two seconds, should none ever have to.

    Attributes:
        over_s: since when it is, by the monotonic clock; infinite while it is not.
        waited: whether the newest packet had to be waited for.
    """

    def __init__(self) -> None:
        self.over_s = math.inf
        self.waited = False

    def through(self, packets: Iterable[T]) -> Iterator[T]:
        """Gives `packets` on, and looks at how long each takes."""
        began_s = asked_s = time.monotonic()
        for packet in packets:
            now_s = time.monotonic()
            self.waited = now_s - asked_s >= _WAIT_S
            if self.waited or now_s - began_s >= _LONGEST_S:
                self.over_s = min(self.over_s, now_s)
            yield packet
            asked_s = time.monotonic()
