"""Showing what comes in bursts when its timestamps say."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading

_LATEST_S, _EARLIEST_S = 1.0, 60.0
"""A frame later than that, or due only after so long, has a clock of its own: it is paced by anew."""


class Pace:
    """Lets frames through when their timestamps say, counted from the first."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._offset_s: float | None = None  # from timestamps to the monotonic clock

    def wait(self, stamp_s: float | None) -> float:
        """Waits until the frame of that timestamp is due; when that is, by the monotonic clock."""
        now_s = time.monotonic()
        if stamp_s is None:
            return now_s
        if self._offset_s is None or not -_LATEST_S < stamp_s + self._offset_s - now_s < _EARLIEST_S:
            self._offset_s = now_s - stamp_s
        due_s = stamp_s + self._offset_s
        self._stop.wait(max(0.0, due_s - now_s))
        return due_s
