"""Reading on through a video to find what its header does not tell: damage, gaps, a missing end."""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from cli.video.file_source import FileSource
from cli.video.timeline import Decoded
from protocol.source import Ended

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cli.video.info import VideoInfo
    from cli.video.inputs import Input
    from cli.video.reader import Reader
    from cli.video.sampling import SamplingPlan
    from cli.video.timeouts import Timeouts
    from protocol.source import Event

_LATE_S = Fraction(1, 10)
_UNEVEN_S = Fraction(5, 2000)  # more than what rounding times to milliseconds does
_UNEVEN_RATIO = Fraction(5, 4)


@dataclass(frozen=True, slots=True)
class Survey(Ended):
    """What was found between the beginning and `end_s`.

    Attributes:
        whole: the video was read to its end, and not only as far as time allowed.
        shown: frames with a time of zero or later.
        first_s: when the first of them is shown.
        untimed: frames without a timestamp of their own.
        backward: frames whose timestamp is not after the one before.
        shortest_s, longest_s: least and most time between two frames.
        interlaced: frames called interlaced.
        sizes: sizes of pictures as coded, in the order of their appearance.
    """

    whole: bool = True
    shown: int = 0
    first_s: float | None = None
    untimed: int = 0
    backward: int = 0
    shortest_s: float | None = None
    longest_s: float | None = None
    interlaced: int = 0
    sizes: tuple[tuple[int, int], ...] = ()

    @property
    def hidden(self) -> int:
        """Frames before zero, which are never shown."""
        return self.frames_decoded - self.shown

    def oddities(self, info: VideoInfo) -> tuple[str, ...]:
        """What is out of the ordinary, in words."""
        words = []
        if self.damaged:
            words.append(f"damaged: {_count(self.damaged, 'packet')} could not be decoded")
        if self.truncated and info.duration_s is not None:
            words.append(
                f"ends early: at {self.end_s:.1f} s of the {float(info.duration_s):.1f} s it declares"
            )
        elif self.whole and info.frame_count and info.frame_count > self.frames_decoded and not self.damaged:
            words.append(f"declares {info.frame_count} frames, {self.frames_decoded} are there")
        if self.hidden:
            words.append(f"{_count(self.hidden, 'frame')} before its beginning, hidden by an edit list")
        if self.first_s is not None and self.first_s >= _LATE_S:
            words.append(f"its first picture comes at {self.first_s:.3g} s")
        if self._uneven() and not self.damaged:  # else what is missing makes it so
            lengths = f"{_short(self.shortest_s or 0)} to {_short(self.longest_s or 0)}"
            words.append(f"variable frame rate: frames of {lengths}")
        if self.untimed:
            words.append(f"{self.untimed} of {_count(self.frames_decoded, 'frame')} without a time: derived")
        if self.backward:
            words.append(f"times that run backwards at {_count(self.backward, 'frame')}: put in order")
        if len(self.sizes) > 1:
            words.append(
                "changes its size: " + ", ".join(f"{width}x{height}" for width, height in self.sizes)
            )
        if 0 < self.interlaced < self.frames_decoded:
            words.append(f"interlaced in part: {self.interlaced} of {self.frames_decoded} frames")
        return tuple(words)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "whole": self.whole,
            "frames": self.frames_decoded,
            "hidden": self.hidden,
            "first_s": self.first_s,
            "end_s": self.end_s,
            "damaged_packets": self.damaged,
            "ends_early": self.truncated,
            "untimed_frames": self.untimed,
            "backward_frames": self.backward,
            "shortest_frame_s": self.shortest_s,
            "longest_frame_s": self.longest_s,
            "interlaced_frames": self.interlaced,
            "sizes": [list(size) for size in self.sizes],
        }

    def _uneven(self) -> bool:
        shortest, longest = self.shortest_s or 0, self.longest_s or 0
        return longest - shortest > _UNEVEN_S and longest > shortest * _UNEVEN_RATIO


class SurveyedSource(FileSource):
    """A source whose only event is a `Survey`; make one with `open`."""

    def __init__(self, given: Input, plan: SamplingPlan, timeouts: Timeouts, longest_s: float) -> None:
        self._longest_s = longest_s
        super().__init__(given, plan, timeouts)

    async def survey(self) -> Survey:
        """What was found.

        Raises:
            InputError: reading broke off.
        """
        found = [event async for event in self.events()]
        assert isinstance(found[-1], Survey)
        return found[-1]

    def _give(self, reader: Reader) -> Iterator[Event]:
        yield survey(reader, self._longest_s)


def survey(reader: Reader, longest_s: float) -> Survey:
    """Reads on for at most `longest_s`, or to the end.

    Raises:
        InputError: reading broke off.
    """
    limit = time.monotonic() + longest_s
    shown = untimed = backward = interlaced = 0
    sizes: dict[tuple[int, int], None] = {}
    gaps: list[Fraction] = []
    first = last = last_stamp = None
    whole = False
    for event in reader.frames():
        if not isinstance(event, Decoded):
            continue
        picture, shown = event.picture, shown + 1
        sizes[picture.width, picture.height] = None
        interlaced += picture.interlaced_frame
        untimed += picture.pts is None
        if picture.pts is not None:
            backward += last_stamp is not None and picture.pts <= last_stamp
            last_stamp = picture.pts
        if last is None:
            first = event.pts
        else:
            gap = event.pts - last
            gaps = [min(gap, *gaps), max(gap, *gaps)] if gaps else [gap, gap]
        last = event.pts
        if time.monotonic() > limit:
            break
    else:
        whole = True
    return Survey(
        end_s=float(reader.end),
        frames_decoded=reader.frames_decoded,
        damaged=reader.damaged,
        truncated=whole and reader.truncated(),
        whole=whole,
        shown=shown,
        first_s=None if first is None else float(first),
        untimed=untimed,
        backward=backward,
        shortest_s=float(gaps[0]) if gaps else None,
        longest_s=float(gaps[1]) if gaps else None,
        interlaced=interlaced,
        sizes=tuple(sizes),
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _short(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
