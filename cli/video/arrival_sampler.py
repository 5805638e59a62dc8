"""Which frames of a live source are due, by when they arrive."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cli.video.sampling import SamplingPlan

_LONGEST_GAP_S = 1.0
_NEWEST_SHARE = 0.1  # of the newest gap in the usual one


class ArrivalSampler:
    """Ticks on the clock of the source, whatever rate it claims: the frame that comes at a tick is due.

    Frames come a little early and a little late. One that comes within half the usual gap before a tick is
    that tick's, so that a camera of 10 frames a second sampled at 10 gives all of them.
    """

    def __init__(self, plan: SamplingPlan) -> None:
        """Ticks of `plan.fps`, or what its mode takes."""
        self._mode = plan.mode
        self._fps = float(plan.fps)
        self._tick = -1
        self._last_s: float | None = None
        self._gap_s: float | None = None

    def due(self, time_s: float, *, keyframe: bool) -> bool:
        """Whether the frame that arrived at `time_s`, in seconds from the first, is to be taken."""
        if self._mode != "rate":
            return keyframe or self._mode == "every"
        tick = math.floor((time_s + min(self._usual_gap_s(time_s), 1 / self._fps) / 2) * self._fps)
        is_due = tick > self._tick
        self._tick = max(tick, self._tick)
        return is_due

    def _usual_gap_s(self, time_s: float) -> float:
        last_s, self._last_s = self._last_s, time_s
        if last_s is None:
            return 0.0
        gap_s = min(time_s - last_s, _LONGEST_GAP_S)
        usual_s = gap_s if self._gap_s is None else self._gap_s
        self._gap_s = usual_s + (gap_s - usual_s) * _NEWEST_SHARE
        return self._gap_s
