"""When each frame is shown, from timestamps that may be missing, doubled or running backwards."""

from __future__ import annotations

from fractions import Fraction

from cli.video.timecode import MAX_SECONDS

_DEFAULT_DURATION = Fraction(1, 25)
BELIEVABLE_FPS = 240
"""A file that claims more frames a second than this has not counted them."""


class FrameClock:
    """Places frames, given in the order they are shown, on a time line that only goes forward.

    A timestamp that is missing, not after the frame before, or ten years away, becomes that frame's time plus
    its duration.
    Where presentation times have been wrong more often than decoding times, the latter are taken (as FFmpeg's
    players do), which is right for AVI, whose index knows only those.

    Attributes:
        anchored: the first frame had a timestamp of its own.
    """

    def __init__(self, zero: Fraction, rate: Fraction | None) -> None:
        """`zero`: the timestamp, in seconds, of time zero. `rate`: frames a second, if claimed."""
        self.anchored = False
        self._zero = zero
        self._believes_durations = rate is None or rate <= BELIEVABLE_FPS
        self._nominal = 1 / rate if rate and rate <= BELIEVABLE_FPS else None
        self._last: Fraction | None = None
        self._duration = _DEFAULT_DURATION if self._nominal is None else self._nominal
        self._gap: Fraction | None = None
        self._last_pts: Fraction | None = None
        self._last_dts: Fraction | None = None
        self._faulty_pts = 0
        self._faulty_dts = 0

    def place(
        self, pts: Fraction | None, dts: Fraction | None, duration: Fraction | None
    ) -> tuple[Fraction, Fraction]:
        """Time from zero and duration of the next frame, in seconds, from what its container says of it."""
        stamp = self._best_stamp(pts, dts)
        time = None if stamp is None else stamp - self._zero
        if time is not None and abs(time - (self._last or 0)) > MAX_SECONDS:
            time = None
        if self._last is None:
            self.anchored = time is not None
            time = Fraction(0) if time is None else time
        else:
            if time is None or time <= self._last:
                time = self._last + self._duration
            self._gap = time - self._last
        self._last = time
        if duration and duration > 0 and self._believes_durations:
            self._duration = duration
        else:
            self._duration = self._nominal or self._gap or _DEFAULT_DURATION
        return time, self._duration

    def _best_stamp(self, pts: Fraction | None, dts: Fraction | None) -> Fraction | None:
        if dts is not None:
            self._faulty_dts += self._last_dts is not None and dts <= self._last_dts
            self._last_dts = dts
        elif pts is not None:
            self._last_dts = pts
        if pts is not None:
            self._faulty_pts += self._last_pts is not None and pts <= self._last_pts
            self._last_pts = pts
        elif dts is not None:
            self._last_pts = dts
        return pts if pts is not None and (dts is None or self._faulty_pts <= self._faulty_dts) else dts
