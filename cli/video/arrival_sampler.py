"""Which frames of a live source are due, by when they arrive."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cli.video.sampling import SamplingPlan

_LONGEST_GAP_S = 1.0
_FEWEST_GAPS, _MOST_GAPS = 4, 16
"""Between frames: their mean is the usual one. They come in twos and threes over some networks."""
_OWN_RATE = 0.95


class ArrivalSampler:
    """Ticks on the clock of the source, whatever rate it claims: the frame that comes at a tick is due.

    Frames come a little early and a little late. One that comes within half the usual gap before a tick is
    that tick's. Of a source that has no more frames than there are ticks all are due: a camera of 30 frames a
    second sampled at 30 gives all of them, even where they come in pairs.
    """

    def __init__(self, plan: SamplingPlan) -> None:
        """Ticks of `plan.fps`, or what its mode takes."""
        self._mode = plan.mode
        self._fps = float(plan.fps)
        self._tick = -1
        self._last_s: float | None = None
        self._gaps_s: deque[float] = deque(maxlen=_MOST_GAPS)

    def due(self, time_s: float, *, keyframe: bool) -> bool:
        """Whether the frame that arrived at `time_s`, in seconds from the first, is to be taken."""
        if self._mode != "rate":
            return keyframe or self._mode == "every"
        usual_s = self._usual_gap_s(time_s)
        tick = math.floor((time_s + min(usual_s, 1 / self._fps) / 2) * self._fps)
        is_due = tick > self._tick
        self._tick = max(tick, self._tick)
        return is_due or (len(self._gaps_s) >= _FEWEST_GAPS and usual_s * self._fps >= _OWN_RATE)

    def _usual_gap_s(self, time_s: float) -> float:
        last_s, self._last_s = self._last_s, time_s
        if last_s is None:
            return 0.0
        self._gaps_s.append(min(time_s - last_s, _LONGEST_GAP_S))
        return sum(self._gaps_s) / len(self._gaps_s)
