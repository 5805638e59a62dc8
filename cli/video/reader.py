"""Decoding a video packet by packet: what fails is counted and skipped, what decodes gets its true time."""

from __future__ import annotations

import math
from collections import deque
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING

import av

from cli.video.container import OpenInput
from cli.video.info import VideoInfo, describe
from cli.video.inputs import is_url
from cli.video.keyframe_index import KeyframeIndex
from cli.video.live_input import is_live_container
from cli.video.sparse import LeftOut, SparseDecoding
from cli.video.timeline import Decoded, Passed, Timeline
from cli.video.timeouts import DEFAULT_TIMEOUTS, Timeouts
from cli.video.track import Track
from cli.video.wanted import Wanted
from protocol.errors import InputError
from protocol.source import Damage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cli.video.sampling import SamplingPlan

_SEEKABLE = frozenset(("mov", "matroska", "webm", "mpegts", "flv", "asf"))
"""Containers whose packets all carry times, so that reading from the middle gives the same ones."""
_STEPS_BACK_S = (0, 5, 20)
_SPARSE_FPS = 1
"""At most so many ticks a second leave whole groups of pictures between them."""


class GoesOn(InputError):
    """A web address that has no end: a camera's pictures, or live HLS.

    Attributes:
        format: FFmpeg's name for how it comes.
    """

    def __init__(self, name: str, input_format: str) -> None:
        super().__init__(f"{name}: goes on without end", hint="'stream caption' reads what is live")
        self.format = input_format


class Reader:
    """One video, read once or again and again, in the calling thread, which FFmpeg may block for long.

    Attributes:
        name: the input as the person gave it, credentials masked.
        info: what the file says of itself.
    """

    def __init__(
        self,
        given: str,
        *,
        stopped: Callable[[], bool] = lambda: False,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
    ) -> None:
        """Opens the input and decodes its first picture. `stopped`: asked between packets, ends all reading.

        Raises:
            InputError: it cannot be opened, or there is no picture in it.
        """
        self._stopped = stopped
        self._decoded_before = 0
        self._damaged_before = 0
        self._shift = Fraction(0)
        self._seen: deque[Decoded | Damage] = deque()
        self._events: Iterator[Decoded | Damage] = iter(())
        self._track: Track | None = None
        self._is_url = is_url(given)
        self._input = OpenInput(given, stopped, timeouts)
        self.name = self._input.name
        try:
            self._open()
            try:
                self.info = self._look()
            except InputError:
                # A server that sends no ranges cannot give an index at the end of a file before the rest.
                if stopped() or not self._input.fetch():
                    raise
                self._open()
                self.info = self._look()
        except BaseException:
            self.close()
            raise

    @property
    def end(self) -> Fraction:
        """When the last picture read so far leaves the screen, in seconds."""
        return self._timeline.end

    @property
    def frames_decoded(self) -> int:
        """Frames decoded so far, shown or not."""
        return self._decoded_before + (self._track.decoded if self._track else 0)

    @property
    def damaged(self) -> int:
        """Packets that failed so far, of those that were read and decoded."""
        return self._damaged_before + (self._track.damaged if self._track else 0)

    def frames(self, start: Fraction = Fraction(0)) -> Iterator[Decoded | Damage]:
        """Frames in the order of their times, none before zero, and what could not be read in between.

        Begins with a keyframe at or before `start`, or with the first frame. Call it once, and once more
        after each `rewind`.

        Raises:
            InputError: reading broke off.
        """
        if start > 0 and self._is_seekable:
            self._seek(start)
        seen, self._seen = self._seen, deque()
        while seen:  # no picture is to stay in memory
            event = seen.popleft()
            if isinstance(event, Damage) or event.pts >= event.shift:
                yield event
        for event in self._events:
            if isinstance(event, Damage) or event.pts >= event.shift:
                yield event

    def wanted_frames(self, plan: SamplingPlan) -> Iterator[Decoded | Passed | Damage]:
        """As `frames`, but what `plan` cannot want is decoded only where that is needed for other frames.

        A sampler gets the same frames from this as from `frames`; one that takes a `Passed` shows that the
        file is not what it says. `frames_decoded` counts what was decoded, and `damaged` does not know of
        what was passed over. What comes from a server is decoded as a whole, since it may come only once.

        Raises:
            Distrusted: go on with `reread`.
            InputError: reading broke off.
        """
        start = Fraction(0) if self._shift else plan.first_needed
        if plan.mode == "every" or self._is_url or self._opened.only_dts:
            yield from self.frames(start)
            return
        if start > 0 and self._is_seekable:
            self._seek(start)
        elif plan.mode == "rate" and plan.fps <= _SPARSE_FPS and not self._shift:
            self._load_index()
        if not self._seen:  # reading begins anew
            self._to_first_picture()
        newest = self._seen[-1] if self._seen else None
        last = newest.picture.pts if isinstance(newest, Decoded) else None
        if self.damaged or not isinstance(newest, Decoded) or last is None:
            yield from self.frames()
            return
        self._seen.clear()
        self._events = iter(())
        timeline = self._timeline
        timeline.check(last, newest.pts)
        if newest.pts >= newest.shift:
            yield newest
        del newest  # no picture is to stay in memory
        track = self._opened
        wanted = Wanted(plan, track.time_base, track.zero, self._shift)
        passing = False
        for each in SparseDecoding(track, wanted, last=last, index=KeyframeIndex.of(track)).pictures():
            if not isinstance(each, LeftOut):
                decoded = timeline.place_told(each)
                passing = False
                if decoded.pts >= decoded.shift:
                    yield decoded
                continue
            placed = None
            if not passing:
                placed = each.first
                time = timeline.pass_over(placed)
                if time >= self._shift:
                    passing = True
                    yield Passed(time)
            if timeline.needs_gaps and each.last != placed:
                timeline.pass_over(each.last)

    def rewind(self) -> None:
        """Goes back to the beginning. Times go on from where the last picture left the screen, counts too.

        Raises:
            InputError: it cannot be opened again.
        """
        decoded, damaged = self.frames_decoded, self.damaged
        self._shift = self.end
        self._open()
        self._decoded_before, self._damaged_before = decoded, damaged

    def reread(self) -> None:
        """Goes back to the very beginning, as if nothing had been read.

        Raises:
            InputError: it cannot be opened again.
        """
        self._shift = Fraction(0)
        self._open()

    def truncated(self) -> bool:
        """Whether a video that was read to its end ends well short of what it declares."""
        declared = self.info.duration_s
        if declared is None:
            return False
        missing = declared - self.end
        track = self._opened
        if track.last_index_dts is not None:  # an index of every frame: it knows whether there was more
            more = track.last_dts is None or track.last_dts < track.last_index_dts
            return more and missing > max(Fraction(1, 2), declared / 20)
        if self.info.duration_covers_all and len(self.info.streams) > 1:
            return missing > max(Fraction(2), declared / 10)
        return missing > max(Fraction(1), declared / 20)

    def close(self) -> None:
        """Lets go of the file."""
        self._seen.clear()
        if self._track is not None:
            self._track.close()
        self._input.close()

    @property
    def _opened(self) -> Track:
        assert self._track is not None
        return self._track

    @property
    def _is_seekable(self) -> bool:
        return bool(_SEEKABLE.intersection(self.info.container.split(",")))

    def _open(self) -> None:
        if self._track is not None:
            self._track.close()
        self._track = Track(self._input, self._stopped)
        if self._is_url and is_live_container(self._track.container):
            raise GoesOn(self.name, self._track.container.format.name.split(",")[0])
        self._restart()

    def _restart(self) -> None:
        """Counts from here on: at the beginning, or after a seek."""
        self._decoded_before = self._opened.decoded = 0
        self._damaged_before = self._opened.damaged = 0
        self._seen.clear()
        self._timeline = Timeline(self._opened, self._shift)
        self._events = self._decode()

    def _look(self) -> VideoInfo:
        """Decodes the first picture and tells what it and the file say."""
        first = self._to_first_picture()
        if first is not None:
            self._first = first.pts
            return describe(self._opened.container, self._opened.stream, first.picture)
        failed = f" (damaged packets: {self.damaged})" if self.damaged else ""
        raise InputError(f"{self.name}: no picture in it can be decoded{failed}")

    def _to_first_picture(self) -> Decoded | None:
        """Decodes the next picture, which comes again with all others; None at the end."""
        for event in self._events:
            self._seen.append(event)
            if isinstance(event, Decoded):
                return event
        return None

    def _seek(self, start: Fraction) -> None:
        """Goes to the keyframe before `start`; back to the beginning if none can be found there."""
        track = self._opened
        moved = False
        for step in _STEPS_BACK_S:
            target = start - step
            if target <= self._first:
                break
            moved = True
            with suppress(av.FFmpegError):
                track.seek(math.floor((target + track.zero) / track.time_base))
                self._restart()
                if self._reached_keyframe(start):
                    return
        if moved:
            self._open()

    def _reached_keyframe(self, start: Fraction) -> bool:
        for event in self._events:
            if isinstance(event, Decoded) and event.keyframe:
                self._opened.decoded, self._opened.damaged = 1, 0
                self._seen.append(event)
                return event.pts <= start and self._timeline.anchored
        return False

    def _load_index(self) -> None:
        """Has FFmpeg read an index that it otherwise reads when it first seeks."""
        track = self._opened
        if "matroska" not in track.container.format.name or len(track.stream.index_entries) > 1:
            return
        with suppress(av.FFmpegError):
            track.seek(math.floor((self._first + track.zero) / track.time_base))
            self._restart()
            first = self._to_first_picture()
            if first is not None and first.pts == self._first and first.keyframe:
                return
        self._open()

    def _decode(self) -> Iterator[Decoded | Damage]:
        track = self._opened
        failed = track.damaged
        for packet in track.packets():
            try:
                track.decode(packet)
            except av.FFmpegError:
                track.damaged += 1
                continue
            for picture in track.ready():
                if track.damaged > failed:
                    yield self._damage(track.damaged - failed)
                    failed = track.damaged
                yield self._timeline.place(picture)
        if track.damaged > failed:
            yield self._damage(track.damaged - failed)

    def _damage(self, packets: int) -> Damage:
        what = "1 packet" if packets == 1 else f"{packets} packets"
        return Damage(f"{what} could not be decoded", float(self.end))
