"""Which frames of a video are taken. Knows nothing of FFmpeg: times go in, frames come out.

Ticks stand at k/R for whole k, whatever the range, so that a range samples the frames the whole video would.
All times are Fractions of a second, so that tick k never drifts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

from cli.video.timecode import parse_timecode
from protocol.errors import UsageError
from protocol.limits import DEFAULT_FPS

if TYPE_CHECKING:
    from typing import Any

T = TypeVar("T")

MAX_FPS = 1000


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """What to take of a video.

    Attributes:
        mode: `rate`: the frame on screen at each tick; `every`: each frame; `keyframes`: each keyframe.
        fps: ticks a second (`rate` only).
        start: seconds; ticks or frames before it are left out.
        end: seconds; ticks or frames from it on are left out. None: to the end.
        max_frames: most frames taken. None: all.
        loop: the video follows itself, its times going on, until `end` or `max_frames`, one of which is set.
    """

    mode: Literal["rate", "every", "keyframes"] = "rate"
    fps: Fraction = Fraction(DEFAULT_FPS)
    start: Fraction = Fraction(0)
    end: Fraction | None = None
    max_frames: int | None = None
    loop: bool = False

    @classmethod
    def of(
        cls,
        *,
        fps: float | str | Fraction | None = None,
        start: str | None = None,
        end: str | None = None,
        max_frames: int | None = None,
        every_frame: bool = False,
        keyframes: bool = False,
        loop: bool = False,
        duration: str | None = None,
    ) -> SamplingPlan:
        """The plan that the command line's options describe.

        Raises:
            UsageError: a value is not one, or options contradict each other.
        """
        chosen = {"--fps": fps is not None, "--every-frame": every_frame, "--keyframes": keyframes}
        ways = [option for option, given in chosen.items() if given]
        if len(ways) > 1:
            raise UsageError(f"{ways[0]} and {ways[1]} exclude each other")
        rate = Fraction(DEFAULT_FPS) if fps is None else _parse_fps(fps)
        if max_frames is not None and max_frames < 1:
            raise UsageError(f"--max-frames {max_frames}: at least 1 is needed")
        first = parse_timecode(start) if start is not None else Fraction(0)
        last = parse_timecode(end) if end is not None else None
        if duration is not None:
            if end is not None:
                raise UsageError("--end and --duration both say where to stop", hint="use one of them")
            last = first + parse_timecode(duration)
            if last == first:
                raise UsageError(f"--duration {duration}: must be above 0")
        if loop and max_frames is None and last is None:
            raise UsageError("--loop has no end of its own", hint="add --max-frames, --duration or --end")
        if last is not None and last <= first:
            raise UsageError(f"--end {end} is not after --start {start or 0}: nothing lies between them")
        mode: Literal["rate", "every", "keyframes"] = (
            "every" if every_frame else "keyframes" if keyframes else "rate"
        )
        return cls(mode, rate, first, last, max_frames, loop)

    @property
    def first_needed(self) -> Fraction:
        """Reading may begin with the frame that is on screen at this time."""
        return Fraction(math.ceil(self.start * self.fps)) / self.fps if self.mode == "rate" else self.start

    def span(self, duration: Fraction | None) -> Fraction | None:
        """Seconds that are read of a video of `duration` seconds; None if that is unknown."""
        if duration is None or self.loop:
            return self.end - self.start if self.end is not None else None
        stop = duration if self.end is None else min(duration, self.end)
        return max(Fraction(0), stop - self.start)

    def expected_frames(self, duration: Fraction | None, rate: Fraction | None = None) -> int | None:
        """How many frames this gives of a video of `duration` seconds at `rate` frames a second.

        An estimate, since what a file says of itself is one; None if there is nothing to estimate from.
        """
        if self.loop and self.end is None:
            return self.max_frames
        span = self.span(duration)
        if span is None or self.mode == "keyframes":
            return None
        there = math.ceil(span * rate) if rate else None
        expected = there
        if self.mode == "rate":
            expected = max(0, math.ceil((self.start + span) * self.fps) - math.ceil(self.start * self.fps))
            expected = expected if there is None else min(expected, there)
        if expected is None or self.max_frames is None:
            return expected
        return min(expected, self.max_frames)

    def sampler(self) -> Sampler[Any]:
        """A fresh sampler that carries this plan out on one video."""
        return TickSampler(self) if self.mode == "rate" else RangeSampler(self)


class Sampler(Protocol[T]):
    """Takes a video's frames in the order of their times and gives those that are wanted.

    Attributes:
        done: no frame that comes later can be wanted; reading may stop.
    """

    done: bool

    @property
    def next_s(self) -> Fraction | None:
        """When the first tick is that got no frame yet; None where there are no ticks."""
        ...

    def push(self, item: T, pts: Fraction, *, keyframe: bool = False) -> T | None:
        """Takes the frame shown from `pts` on, times ascending; gives a frame if its time came."""
        ...

    def finish(self, end: Fraction) -> T | None:
        """The video is over and its last picture left the screen at `end`; gives the last sample, if any."""
        ...


class TickSampler(Generic[T]):
    """The frame on screen at each tick: the last one with a time at or before it.

    The first frame of all serves ticks before it; a frame that fills several ticks is given once. One frame
    is held back, until the next one shows how long it stayed.
    """

    def __init__(self, plan: SamplingPlan) -> None:
        self._fps = plan.fps
        self._end = plan.end
        self._left = plan.max_frames
        self._tick = math.ceil(plan.start * plan.fps)
        self._held: T | None = None
        self.done = self._past_end()

    def push(self, item: T, pts: Fraction, *, keyframe: bool = False) -> T | None:  # noqa: ARG002
        """See `Sampler`."""
        if self.done:
            return None
        sample = self._take_until(pts)
        self._held = None if self.done else item
        return sample

    def finish(self, end: Fraction) -> T | None:
        """See `Sampler`."""
        sample = None if self.done else self._take_until(end)
        self.done, self._held = True, None
        return sample

    @property
    def next_s(self) -> Fraction | None:
        """See `Sampler`."""
        return Fraction(self._tick) / self._fps

    def _take_until(self, time: Fraction) -> T | None:
        """The held frame if a tick came before it left the screen at `time`."""
        if self._held is None or self._tick >= time * self._fps:
            return None
        sample = self._held
        self._tick = math.ceil(time * self._fps)
        if self._left is not None:
            self._left -= 1
        self.done = self._left == 0 or self._past_end()
        return sample

    def _past_end(self) -> bool:
        return self._end is not None and self._tick >= self._end * self._fps


class RangeSampler(Generic[T]):
    """Every frame, or every keyframe, whose time lies in the range."""

    def __init__(self, plan: SamplingPlan) -> None:
        self._keyframes_only = plan.mode == "keyframes"
        self._start = plan.start
        self._end = plan.end
        self._left = plan.max_frames
        self.done = False
        self.next_s: Fraction | None = None

    def push(self, item: T, pts: Fraction, *, keyframe: bool = False) -> T | None:
        """See `Sampler`."""
        if self._end is not None and pts >= self._end:
            self.done = True
        if self.done or pts < self._start or (self._keyframes_only and not keyframe):
            return None
        if self._left is not None:
            self._left -= 1
            self.done = self._left == 0
        return item

    def finish(self, end: Fraction) -> T | None:  # noqa: ARG002
        """See `Sampler`."""
        self.done = True
        return None


def _parse_fps(fps: float | str | Fraction) -> Fraction:
    """`fps` as the number that was written: 29.97 is 2997/100, and 30000/1001 itself."""
    try:
        rate = Fraction(repr(fps) if isinstance(fps, float) else fps)
    except (ValueError, ZeroDivisionError):
        raise UsageError(f"--fps {fps}: not a rate") from None
    if not 0 < rate <= MAX_FPS:
        raise UsageError(f"--fps {fps}: must be above 0 and at most {MAX_FPS}")
    return rate
