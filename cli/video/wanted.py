"""Which packets hold a frame that a sampling plan can want, told from their timestamps alone."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cli.video.sampling import SamplingPlan


class Wanted:
    """A `SamplingPlan` in the time base of one stream; all stamps are PTS in it, all arithmetic whole.

    A frame may be called wanted that a sampler then does not take, never the other way round.
    """

    def __init__(self, plan: SamplingPlan, time_base: Fraction, zero: Fraction, shift: Fraction) -> None:
        """`zero` is the timestamp of time zero, `shift` what is added to times since, both in seconds."""
        self._mode = plan.mode
        rate = plan.fps if plan.mode == "rate" else Fraction(1)
        step, offset = time_base * rate, (shift - zero) * rate
        self._scale = math.lcm(step.denominator, offset.denominator)
        self._step, self._offset = int(step * self._scale), int(offset * self._scale)
        self._first_tick = math.ceil(plan.start * plan.fps)
        self._last_tick = None if plan.end is None else math.ceil(plan.end * plan.fps)
        self._first_stamp = math.ceil((plan.start - shift + zero) / time_base)
        self._end_stamp = None if plan.end is None else math.ceil((plan.end - shift + zero) / time_base)
        self.first_shown = math.ceil(zero / time_base)
        """Frames before this are never shown."""

    def frame(self, begin: int, until: int, *, first: bool = False, keyframe: bool = False) -> bool:
        """Whether a frame on screen from `begin` until `until` at the longest can be wanted.

        The `first` frame of all also serves ticks before it. What lies beyond the plan's end counts as
        wanted: it is what shows that reading may stop.
        """
        if self._mode != "rate":
            if self._end_stamp is not None and begin >= self._end_stamp:
                return True
            return begin >= self._first_stamp and (keyframe or self._mode == "every")
        tick = self._first_tick if first else max(self._first_tick, self.tick_from(begin))
        if self._last_tick is not None and tick >= self._last_tick:
            return True
        return tick * self._scale < until * self._step + self._offset

    @property
    def has_ticks(self) -> bool:
        """Whether frames are wanted at ticks, so that what lies between two can be passed over."""
        return self._mode == "rate"

    def tick_from(self, stamp: int) -> int:
        """The first tick at or after `stamp`."""
        return -(-(stamp * self._step + self._offset) // self._scale)

    def stamp_of(self, tick: int) -> int | None:
        """The last stamp at or before `tick`; None where the plan has ended."""
        if self._last_tick is not None and tick >= self._last_tick:
            return None
        return (max(tick, self._first_tick) * self._scale - self._offset) // self._step
