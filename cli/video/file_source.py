"""A video file, URL or pipe as a source of sampled frames."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from cli.video.inputs import is_url
from cli.video.lookahead import Exhausted, Lookahead
from cli.video.picture import PictureRenderer
from cli.video.reader import Decoded, Reader
from cli.video.timeouts import DEFAULT_TIMEOUTS, Pulse, Timeouts
from protocol.frame import Frame
from protocol.redaction import mask_url
from protocol.source import Damage, Ended

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from fractions import Fraction

    from cli.video.info import VideoInfo
    from cli.video.inputs import Input
    from cli.video.sampling import SamplingPlan
    from protocol.source import Event

LOOKAHEAD_FRAMES = 4
"""Frames read ahead of the consumer: at most 4 x 12.6 MB of pixels. Full, decoding waits."""

_CLOSE_TIMEOUT_S = 0.5
_PULSE_EVERY_S = 0.25


async def open_source(given: Input, plan: SamplingPlan, timeouts: Timeouts = DEFAULT_TIMEOUTS) -> FileSource:
    """Opens `given` in a thread of its own and starts to read ahead.

    Raises:
        InputError: it cannot be opened, not in time, or there is no picture in it.
    """
    source = FileSource(given, plan, timeouts)
    try:
        await source._opened()
    except BaseException:
        await source.close()
        raise
    return source


class FileSource:
    """See `protocol.source.Source`; make one with `open_source`.

    Decoding happens in a daemon thread, since FFmpeg can block for good: closing waits for it only briefly.

    Attributes:
        info: what the file says of itself.
    """

    live = False

    def __init__(self, given: Input, plan: SamplingPlan, timeouts: Timeouts = DEFAULT_TIMEOUTS) -> None:
        self.name = mask_url(given) if is_url(given) else given
        self.duration_s: float | None = None
        self.expected_frames: int | None = None
        self.info: VideoInfo
        self._given = given
        self._plan = plan
        self._timeouts = timeouts
        self._pulse = Pulse(timeouts)
        self._queue: Lookahead[Event | Reader] = Lookahead(LOOKAHEAD_FRAMES)
        self._thread = threading.Thread(target=self._run, name="video reader", daemon=True)
        self._thread.start()

    async def events(self) -> AsyncIterator[Event]:
        """See `Source.events`."""
        while True:
            try:
                event = await self._next()
            except Exhausted:
                return
            assert not isinstance(event, Reader)
            yield event

    async def close(self) -> None:
        """Stops the thread; one that hangs inside FFmpeg is left behind after half a second."""
        self._queue.close()
        await self._queue.finished(_CLOSE_TIMEOUT_S)

    async def _next(self) -> Event | Reader:
        """What the thread gives next.

        Raises:
            Exhausted: it gave its last.
            InputError: it cannot go on, or the input is silent for longer than allowed.
        """
        since = time.monotonic()  # a thread that waited for room gave no sign meanwhile
        while True:
            try:
                async with asyncio.timeout(_PULSE_EVERY_S) as turn:
                    return await self._queue.get()
            except TimeoutError:
                if not turn.expired():
                    raise
            if self._pulse.silent_too_long(since):
                self._queue.close()
                raise self._pulse.error(self.name)

    def _stopped(self) -> bool:
        """Asked by the reader after each packet, and each piece of a pipe."""
        self._pulse.beat()
        return self._queue.closed

    async def _opened(self) -> None:
        reader = await self._next()
        assert isinstance(reader, Reader)
        self.name, self.info = reader.name, reader.info
        span = self._plan.span(self.info.duration_s)
        self.duration_s = None if span is None else float(span)
        self.expected_frames = self._plan.expected_frames(self.info.duration_s, self.info.believed_rate)

    def _run(self) -> None:
        """The thread's life: opens, reads to the end or until closed, lets go."""
        ended: BaseException | None = None
        reader: Reader | None = None
        try:
            reader = Reader(self._given, stopped=self._stopped, timeouts=self._timeouts)
            if self._queue.put(reader):
                for event in _sample(reader, self._plan):
                    if not self._queue.put(event):
                        break
        except BaseException as error:
            ended = error  # given to the consumer, who is the one to handle it
        finally:
            if reader is not None:
                reader.close()
            self._queue.finish(ended)


def _passes(reader: Reader, plan: SamplingPlan) -> Iterator[Decoded | Damage]:
    """What `reader` reads; with `plan.loop` again and again, until a pass has no picture in it."""
    yield from reader.frames(plan.first_needed)
    ended = None
    while plan.loop and reader.end != ended:
        ended = reader.end
        reader.rewind()
        yield from reader.frames()


def _sample(reader: Reader, plan: SamplingPlan) -> Iterator[Event]:
    """Frames that `plan` wants of the video, with its damage and its end."""
    sampler = plan.sampler()
    renderer = PictureRenderer(reader.info.sample_aspect, reader.info.orientation)
    recorded_at = reader.info.recorded_at

    def as_frame(decoded: Decoded) -> Frame:
        taken = None
        if recorded_at is not None:
            taken = recorded_at + timedelta(seconds=float(decoded.pts - decoded.shift))
        return Frame(pixels=renderer.render(decoded.picture), pts_s=float(decoded.pts), captured_at=taken)

    events = iter(()) if sampler.done else _passes(reader, plan)
    closed_at: Fraction | None = None
    for event in events:
        if isinstance(event, Damage):
            yield event
            continue
        sample = sampler.push(event, event.pts, keyframe=event.keyframe)
        if sample is not None:
            yield as_frame(sample)
        if sampler.done:
            closed_at = None if sample is event else event.pts
            break
    whole = not sampler.done
    end = reader.end
    if closed_at is not None:  # by a frame that is no part of the sample
        end = min(end, closed_at)
    sample = sampler.finish(reader.end)
    if sample is not None:
        yield as_frame(sample)
    if not whole and sampler.next_s is not None:  # the last frame stands for the time up to the next tick
        length = None if plan.loop else reader.info.duration_s
        end = max(end, min(sampler.next_s, length or sampler.next_s))
    if plan.end is not None:
        end = min(end, plan.end)
    yield Ended(
        end_s=float(end),
        frames_decoded=reader.frames_decoded,
        damaged=reader.damaged,
        truncated=whole and reader.truncated(),
    )
