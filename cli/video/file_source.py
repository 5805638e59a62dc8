"""A video file, URL or pipe as a source of sampled frames."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from cli.video.inputs import is_url
from cli.video.lookahead import Exhausted, Lookahead
from cli.video.reader import Reader
from cli.video.sampled import sampled
from cli.video.timeline import Decoded
from cli.video.timeouts import DEFAULT_TIMEOUTS, Pulse, Timeouts
from protocol.frame import Frame
from protocol.redaction import mask_url
from protocol.source import Taken

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from cli.video.info import VideoInfo
    from cli.video.inputs import Input
    from cli.video.picture import PictureRenderer
    from cli.video.sampling import SamplingPlan
    from protocol.source import Event

Opening = TypeVar("Opening", bound="FileSource")

LOOKAHEAD_FRAMES = 4
"""Frames read ahead of the consumer: at most 4 x 12.6 MB of pixels. Full, decoding waits."""

_CLOSE_TIMEOUT_S = 0.5
_PULSE_EVERY_S = 0.25


async def open_source(
    given: Input, plan: SamplingPlan, timeouts: Timeouts = DEFAULT_TIMEOUTS, *, pictures: bool = True
) -> FileSource:
    """Opens `given` in a thread of its own and starts to read ahead.

    Without `pictures` each frame comes as `Taken`, which spares converting it.

    Raises:
        InputError: it cannot be opened, not in time, or there is no picture in it.
    """
    return await opened(FileSource(given, plan, timeouts, pictures=pictures))


async def opened(source: Opening) -> Opening:
    """Waits until `source` is open; closes it if that fails.

    Raises:
        InputError: it cannot be opened, not in time, or there is no picture in it.
    """
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

    def __init__(
        self,
        given: Input,
        plan: SamplingPlan,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        *,
        pictures: bool = True,
    ) -> None:
        self.name = mask_url(given) if is_url(given) else given
        self.duration_s: float | None = None
        self.expected_frames: int | None = None
        self.info: VideoInfo
        self._given = given
        self._plan = plan
        self._pictures = pictures
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

    def _give(self, reader: Reader) -> Iterator[Event | Decoded]:
        """What the thread gives once the video is open."""
        events = sampled(reader, self._plan)
        if self._pictures:
            return events
        return (Taken(float(each.pts)) if isinstance(each, Decoded) else each for each in events)

    def _run(self) -> None:
        """The thread's life: opens, reads to the end or until closed, lets go."""
        ended: BaseException | None = None
        reader: Reader | None = None
        try:
            reader = Reader(self._given, stopped=self._stopped, timeouts=self._timeouts)
            if self._queue.put(reader):
                self._read(reader)
        except BaseException as error:
            ended = error  # given to the consumer, who is the one to handle it
        finally:
            if reader is not None:
                reader.close()
            self._queue.finish(ended)

    def _read(self, reader: Reader) -> None:
        """Gives all of `reader`. A frame becomes a picture in another thread, while the next are decoded."""
        frames = FrameMaker(reader.info)

        def give(event: Event | Decoded) -> bool:
            return self._queue.put(frames.make(event) if isinstance(event, Decoded) else event)

        with ThreadPoolExecutor(1, "picture renderer") as renderer:
            given: Future[bool] | None = None
            for event in self._give(reader):
                if given is not None and not given.result():
                    return
                given = renderer.submit(give, event)
                del event  # no more than one is to be held here
            if given is not None:
                given.result()


class FrameMaker:
    """Makes frames of what is decoded of one video, in one thread."""

    def __init__(self, info: VideoInfo) -> None:
        """`info`: how its pictures are to be shown, and when the first of them was taken."""
        self._info = info
        self._renderer: PictureRenderer | None = None

    def make(self, decoded: Decoded) -> Frame:
        """The frame in `decoded`, as shown.

        Raises:
            InputError: nothing here converts such pixels.
        """
        if self._renderer is None:
            # Loads OpenCV and numpy, which sampling alone can do without.
            from cli.video.picture import PictureRenderer

            self._renderer = PictureRenderer(self._info.sample_aspect, self._info.orientation)
        taken = None
        if self._info.recorded_at is not None:
            taken = self._info.recorded_at + timedelta(seconds=float(decoded.pts - decoded.shift))
        pixels = self._renderer.render(decoded.picture)
        return Frame(pixels=pixels, pts_s=float(decoded.pts), captured_at=taken)
