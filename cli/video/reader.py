"""Decoding a video packet by packet: what fails is counted and skipped, what decodes gets its true time."""

from __future__ import annotations

import math
import os
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, cast

import av

from cli.video.clock import FrameClock
from cli.video.container import OpenInput, video_stream
from cli.video.info import VideoInfo, describe, time_zero
from cli.video.timeouts import DEFAULT_TIMEOUTS, Timeouts
from protocol.errors import InputError
from protocol.source import Damage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from av import Packet, VideoFrame
    from av.container import InputContainer
    from av.video.codeccontext import VideoCodecContext
    from av.video.stream import VideoStream

_MAX_THREADS = 8
_BROKEN_READS_IN_A_ROW = 50
_SEEKABLE = frozenset(("mov", "matroska", "webm", "mpegts", "flv", "asf"))
"""Containers whose packets all carry times, so that reading from the middle gives the same ones."""
_STEPS_BACK_S = (0, 5, 20)


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


class Reader:
    """One video, read once or again and again, in the calling thread, which FFmpeg may block for long.

    Attributes:
        name: the input as the person gave it, credentials masked.
        info: what the file says of itself.
        frames_decoded: frames decoded so far, shown or not.
        damaged: packets that failed so far.
        end: when the last picture read so far leaves the screen, in seconds.
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
        self.frames_decoded = 0
        self.damaged = 0
        self.end = Fraction(0)
        self._shift = Fraction(0)
        self._seen: deque[Decoded | Damage] = deque()
        self._container: InputContainer | None = None
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

    def frames(self, start: Fraction = Fraction(0)) -> Iterator[Decoded | Damage]:
        """Frames in the order of their times, none before zero, and what could not be read in between.

        Begins with a keyframe at or before `start`, or with the first frame. Call it once, and once more
        after each `rewind`.

        Raises:
            InputError: reading broke off.
        """
        if start > 0 and _SEEKABLE.intersection(self.info.container.split(",")):
            self._seek(start)
        for event in chain(self._seen, self._events):
            if isinstance(event, Damage) or event.pts >= event.shift:
                yield event

    def rewind(self) -> None:
        """Goes back to the beginning. Times go on from where the last picture left the screen, counts too.

        Raises:
            InputError: it cannot be opened again.
        """
        decoded, damaged = self.frames_decoded, self.damaged
        self._shift = self.end
        self._open()
        self.frames_decoded, self.damaged = decoded, damaged

    def truncated(self) -> bool:
        """Whether a video that was read to its end ends well short of what it declares."""
        declared = self.info.duration_s
        if declared is None:
            return False
        missing = declared - self.end
        if self._last_index_dts is not None:  # an index of every frame: it knows whether there was more
            more = self._last_dts is None or self._last_dts < self._last_index_dts
            return more and missing > max(Fraction(1, 2), declared / 20)
        if self.info.duration_covers_all and len(self.info.streams) > 1:
            return missing > max(Fraction(2), declared / 10)
        return missing > max(Fraction(1), declared / 20)

    def close(self) -> None:
        """Lets go of the file."""
        self._seen.clear()
        if self._container is not None:
            self._container.close()
        self._input.close()

    def _open(self) -> None:
        if self._container is not None:
            self._container.close()
        self._container = self._input.open()
        self._stream = video_stream(self._container, self.name)
        self._decoder = _decoder_for(self._stream)
        self._only_dts = self._container.format.name == "avi"  # its PTS are guesses, wrong with B-frames
        self._last_dts: int | None = None
        self._last_index_dts: int | None = None
        index = self._stream.index_entries
        if "mov" in self._container.format.name and len(index):
            self._last_index_dts = index[-1].timestamp
        self._restart()

    def _restart(self) -> None:
        """Counts from here on: at the beginning, or after a seek."""
        assert self._container is not None
        self.frames_decoded = 0
        self.damaged = 0
        self._seen.clear()
        rate = self._stream.average_rate or self._stream.guessed_rate
        self._clock = FrameClock(time_zero(self._container, self._stream), rate)
        self._events = self._decode()

    def _look(self) -> VideoInfo:
        """Decodes the first picture, which `frames` gives again."""
        assert self._container is not None
        for event in self._events:
            self._seen.append(event)
            if isinstance(event, Decoded):
                self._first = event.pts
                return describe(self._container, self._stream, event.picture)
        failed = f" ({self.damaged} packets failed)" if self.damaged else ""
        raise InputError(f"{self.name}: no picture in it can be decoded{failed}")

    def _seek(self, start: Fraction) -> None:
        """Goes to the keyframe before `start`; back to the beginning if none can be found there."""
        assert self._container is not None
        assert self._stream.time_base is not None
        zero = time_zero(self._container, self._stream)
        moved = False
        for step in _STEPS_BACK_S:
            target = start - step
            if target <= self._first:
                break
            moved = True
            with suppress(av.FFmpegError):
                stamp = math.floor((target + zero) / self._stream.time_base)
                self._container.seek(stamp, stream=self._stream)
                self._decoder.flush_buffers()
                self._restart()
                if self._reached_keyframe(start):
                    return
        if moved:
            self._open()

    def _reached_keyframe(self, start: Fraction) -> bool:
        for event in self._events:
            if isinstance(event, Decoded) and event.keyframe:
                self.frames_decoded, self.damaged = 1, 0
                self._seen.append(event)
                return event.pts <= start and self._clock.anchored
        return False

    def _decode(self) -> Iterator[Decoded | Damage]:
        failed = self.damaged
        for packet in self._packets():
            try:
                pictures = self._decoder.decode(packet)
            except av.FFmpegError:
                self.damaged += packet.size > 0
                continue
            for picture in pictures:
                if self.damaged > failed:
                    yield self._damage(self.damaged - failed)
                    failed = self.damaged
                yield self._placed(picture)
        if self.damaged > failed:
            yield self._damage(self.damaged - failed)

    def _packets(self) -> Iterator[Packet[VideoStream]]:
        assert self._container is not None
        broken = 0
        while broken < _BROKEN_READS_IN_A_ROW:
            try:
                for packet in self._container.demux(self._stream):
                    if self._stopped():
                        return
                    broken = 0
                    if packet.dts is not None:
                        self._last_dts = max(packet.dts, self._last_dts or packet.dts)
                    yield packet
            except av.error.InvalidDataError:
                broken += 1
                self.damaged += 1
            except (av.FFmpegError, OSError) as error:
                reason = str(self._input.error(error)).removeprefix(f"{self.name}: ")
                raise InputError(f"{self.name}: reading broke off: {reason}") from error
            else:
                return

    def _placed(self, picture: VideoFrame) -> Decoded:
        base = picture.time_base or self._stream.time_base
        assert base is not None
        dts = None if picture.dts is None else picture.dts * base
        pts = None if picture.pts is None or (self._only_dts and dts is not None) else picture.pts * base
        time, duration = self._clock.place(pts, dts, picture.duration * base if picture.duration else None)
        time += self._shift
        self.frames_decoded += 1
        self.end = time + duration
        return Decoded(picture, time, duration, picture.key_frame, self._shift)

    def _damage(self, packets: int) -> Damage:
        what = "1 packet" if packets == 1 else f"{packets} packets"
        return Damage(f"{what} could not be decoded", float(self.end))


def _decoder_for(stream: VideoStream) -> VideoCodecContext:
    decoder = stream.codec_context
    if (
        stream.metadata.get("alpha_mode") == "1"
    ):  # FFmpeg's own VP8 and VP9 decoders leave the alpha plane out
        name = {"vp8": "libvpx", "vp9": "libvpx-vp9"}.get(decoder.name, "")
        if name in av.codecs_available:
            extradata = decoder.extradata
            decoder = cast("VideoCodecContext", av.CodecContext.create(name, "r"))
            decoder.extradata = extradata
    decoder.thread_type = "AUTO"
    decoder.thread_count = min(_MAX_THREADS, max(2, os.cpu_count() or 2))
    return decoder
