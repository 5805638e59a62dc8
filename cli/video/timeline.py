"""Frames with their times on the video's own time line."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from cli.video.clock import BELIEVABLE_FPS, FrameClock
from cli.video.packet_window import Distrusted

if TYPE_CHECKING:
    from av import VideoFrame

    from cli.video.track import Track


@dataclass(frozen=True, slots=True)
class Decoded:
    """A frame that is shown from `pts` (seconds from zero) for about `duration` seconds.

    `shift` is how much of `pts` comes from having read the video before.
    """

    picture: VideoFrame
    pts: Fraction
    duration: Fraction
    keyframe: bool
    shift: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Passed:
    """From `pts` on, until the next `Decoded`, frames are on screen that were not decoded."""

    pts: Fraction
    keyframe: Literal[False] = False


class Timeline:
    """Places the frames of one track, which come in the order they are shown.

    Attributes:
        shift: seconds that are added to all times.
        end: when the last frame placed so far leaves the screen.
        needs_gaps: frames do not tell how long they are shown, so that all of them must be placed.
    """

    def __init__(self, track: Track, shift: Fraction) -> None:
        rate = track.stream.average_rate or track.stream.guessed_rate
        self.shift = shift
        self.end = shift
        self.needs_gaps = rate is None or rate > BELIEVABLE_FPS
        self._track = track
        self._clock = FrameClock(track.zero, rate)

    @property
    def anchored(self) -> bool:
        """Whether the first frame had a time of its own."""
        return self._clock.anchored

    def place(self, picture: VideoFrame) -> Decoded:
        """The next frame, decoded."""
        track = self._track
        base = picture.time_base or track.time_base
        dts = None if picture.dts is None else picture.dts * base
        pts = None if picture.pts is None or (track.only_dts and dts is not None) else picture.pts * base
        time, duration = self._clock.place(pts, dts, picture.duration * base if picture.duration else None)
        time += self.shift
        self.end = time + duration
        return Decoded(picture, time, duration, track.is_keyframe(picture), self.shift)

    def place_told(self, picture: VideoFrame) -> Decoded:
        """As `place`, for a frame among others that are not decoded.

        Raises:
            Distrusted: its packet's time was not believed, so that nothing told from packets can be.
        """
        decoded = self.place(picture)
        self.check(picture.pts, decoded.pts)
        return decoded

    def pass_over(self, pts: int) -> Fraction:
        """When the next frame is shown, which is not decoded.

        Raises:
            Distrusted: its packet's time is not believed.
        """
        time, duration = self._clock.place(pts * self._track.time_base, None, None)
        time += self.shift
        self.end = time + duration
        self.check(pts, time)
        return time

    def check(self, pts: int | None, time: Fraction) -> None:
        """Whether a frame placed at `time` has the time that its packet says.

        Raises:
            Distrusted: it has not.
        """
        if pts is None or time != pts * self._track.time_base - self._track.zero + self.shift:
            raise Distrusted("a time that is not believed")
