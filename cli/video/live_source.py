"""A camera or network stream as a source: sampled as it arrives, found again when it is lost."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import av

from cli.video.arrival_clock import ArrivalClock
from cli.video.arrival_sampler import ArrivalSampler
from cli.video.backlog import Backlog
from cli.video.container import video_stream
from cli.video.decoder import live_decoder_for
from cli.video.info import describe
from cli.video.lookahead import Exhausted
from cli.video.mailbox import Arrival, Given, Mailbox
from cli.video.timeouts import OPEN_TIMEOUT_S, STALL_TIMEOUT_S
from protocol.errors import InputError
from protocol.frame import Frame
from protocol.source import Away, Damage, Dropped, Ended, Gap

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from av import Packet, VideoFrame
    from av.container import InputContainer
    from av.video.stream import VideoStream

    from cli.video.live_input import LiveInput
    from cli.video.picture import PictureRenderer
    from cli.video.sampling import SamplingPlan
    from protocol.source import Event

RETRY_FOR_S = 300.0

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 0.5
"""Between two attempts to reach a source that is gone: it is to be back within two seconds of its return."""
_CLOSE_TIMEOUT_S = 0.5
_LATE_END_S = 0.5  # the frame that shows that the time is over may be so late
_MOST_IN_FLIGHT = 64  # packets whose pictures have not come out of the decoder
_BROKEN_READS_IN_A_ROW = 50
_LATEST_S, _EARLIEST_S = 1.0, 60.0
"""A paced frame later than that, or due only after so long, has a clock of its own: it is paced by anew."""


@dataclass(frozen=True, slots=True)
class LivePolicy:
    """What to do where the world does not wait.

    Attributes:
        keep: `latest`: the newest frame wins; `all`: frames queue, and then the source waits.
        stall_s: a source that is silent for so long is lost; 0 waits without end.
        retry_for_s: so long a lost source is looked for; 0 gives up at once. None: `RETRY_FOR_S` where there
            is a network in between, else 0.
    """

    keep: Literal["latest", "all"] = "latest"
    stall_s: float = STALL_TIMEOUT_S
    retry_for_s: float | None = None


DEFAULT_POLICY = LivePolicy()


async def open_live(
    given: LiveInput,
    plan: SamplingPlan,
    policy: LivePolicy = DEFAULT_POLICY,
    *,
    open_s: float = OPEN_TIMEOUT_S,
) -> LiveSource:
    """Opens `given` in a thread of its own and waits for its first frame, for `open_s` at most (0: no limit).

    Raises:
        InputError: it cannot be opened, or no frame comes.
    """
    source = LiveSource(given, plan, policy, open_s=open_s)
    try:
        await source.arrived()
    except BaseException:
        await source.close()
        raise
    return source


class LiveSource:
    """See `protocol.source.Source`; make one with `open_live`.

    Frames are decoded in a daemon thread as they come, whether anybody wants them or not, so that none that
    is given is stale. Their times are those of their arrival, on a clock that goes on while the source is
    away. Of a paced source, whose frames come in bursts, they are when its timestamps say.
    """

    live = True

    def __init__(self, given: LiveInput, plan: SamplingPlan, policy: LivePolicy, *, open_s: float) -> None:
        self.name = given.name
        self.duration_s = None if plan.end is None else float(plan.end)
        self.expected_frames = plan.max_frames
        self._plan = plan
        self._open_s = open_s
        self._mailbox = Mailbox(newest_only=policy.keep == "latest")
        self._reader = _Reader(given, plan, policy, open_s, self._mailbox)
        self._thread = threading.Thread(target=self._reader.run, name="live reader", daemon=True)
        self._thread.start()

    async def arrived(self) -> None:
        """Waits for the first frame.

        Raises:
            InputError: none comes.
        """
        try:
            async with asyncio.timeout(self._open_s + 1 if self._open_s else None):
                await self._mailbox.filled()
        except TimeoutError:
            raise InputError(
                f"{self.name}: no picture came within {self._open_s:g} s",
                hint="--open-timeout waits longer, 0 without end",
            ) from None
        except Exhausted:
            raise InputError(f"{self.name}: it ended before a picture came") from None

    async def events(self) -> AsyncIterator[Event]:
        """See `Source.events`."""
        left = self._plan.max_frames
        self._mailbox.begin()
        while True:
            try:
                async with asyncio.timeout(self._reader.left_s()):
                    item = await self._mailbox.get()
            except Exhausted:
                return
            except TimeoutError:  # it is silent or away, and its time is over
                yield self._reader.ended(self.duration_s)
                return
            if not isinstance(item, Given):
                yield item
                continue
            if item.dropped:
                yield Dropped(item.dropped)
            yield await asyncio.to_thread(_frame, item.arrival)
            if left is not None:
                left -= 1
                if not left:
                    yield self._reader.ended(item.arrival.time_s)
                    return

    async def close(self) -> None:
        """Stops the thread; one that hangs inside FFmpeg is left behind after half a second."""
        self._reader.stop.set()
        self._mailbox.close()
        await self._mailbox.finished(_CLOSE_TIMEOUT_S)


def _frame(arrival: Arrival) -> Frame:
    return Frame(
        pixels=arrival.renderer.render(arrival.picture),
        pts_s=arrival.time_s,
        captured_at=arrival.captured_at,
        arrived_s=arrival.arrived_s,
    )


class _Reader:
    """What the thread does: opens, reads, loses, looks for and finds the source again."""

    def __init__(
        self, given: LiveInput, plan: SamplingPlan, policy: LivePolicy, open_s: float, mailbox: Mailbox
    ) -> None:
        self.stop = threading.Event()
        self._given = given
        self._policy = policy
        self._open_s = open_s
        self._mailbox = mailbox
        self._end_s = math.inf if plan.end is None else float(plan.end)
        self._sampler = ArrivalSampler(plan)
        self._zero_s: float | None = None  # when the first frame arrived, by the monotonic clock
        self._last_s = 0.0  # when the last one did, on the time line
        self._away: str | None = None  # why the source is
        self._decoded = 0
        self._damaged = 0

    def run(self) -> None:
        """The thread's life."""
        ended: BaseException | None = None
        try:
            self._read_on()
        except BaseException as error:
            ended = error  # given to the consumer, who is the one to handle it
        finally:
            self._mailbox.finish(ended)

    def ended(self, end_s: float | None = None) -> Ended:
        """The last event: at `end_s`, or with the last frame."""
        return Ended(
            end_s=self._last_s if end_s is None else end_s,
            frames_decoded=self._decoded,
            damaged=self._damaged,
        )

    def left_s(self) -> float | None:
        """How long to wait for the end of the plan, were no frame to come any more; None if it has no end."""
        if math.isinf(self._end_s) or self._zero_s is None:
            return None
        return max(0.0, self._end_s - self._now_s()) + _LATE_END_S

    def _read_on(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self.stop.is_set():
            before = self._decoded
            try:
                if self._read() or not self._given.endless:
                    if not self.stop.is_set():
                        self._mailbox.put(self.ended(None if math.isinf(self._end_s) else self._end_s))
                    return
                reason = "the stream ended"
            except InputError as error:
                if self._zero_s is None:
                    raise
                reason = error.message.removeprefix(f"{self._given.name}: ")
            if self._decoded > before:
                pause_s = _FIRST_PAUSE_S
            self._lost(reason)
            self.stop.wait(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _lost(self, reason: str) -> None:
        """The source is gone, or still is.

        Raises:
            InputError: it has been for too long, or is none that comes back.
        """
        name, retry_s = self._given.name, self._policy.retry_for_s
        if retry_s is None:
            retry_s = RETRY_FOR_S if self._given.network else 0.0
        if not retry_s:
            raise InputError(f"{name}: lost: {self._away or reason}")
        if self._now_s() - self._last_s > retry_s:
            raise InputError(
                f"{name}: lost ({self._away or reason}) and not back within {retry_s:g} s: {reason}",
                hint="--retry-for waits longer",
            )
        if self._away is None and not self.stop.is_set():
            self._away = reason
            self._mailbox.put(Away(self._last_s, reason))

    def _read(self) -> bool:
        """Reads until the source ends; whether that is where the plan ends.

        Raises:
            InputError: it cannot be opened, breaks off or is silent.
        """
        open_s = self._open_s if self._zero_s is None else self._policy.stall_s
        container = self._given.open(open_s, self._policy.stall_s)
        with container:
            stream = video_stream(container, self._given.name)
            return self._decode(container, stream)

    def _decode(self, container: InputContainer, stream: VideoStream) -> bool:
        decoder = live_decoder_for(stream)
        renderer: PictureRenderer | None = None
        pace = _Pace(self.stop) if self._given.paced else None
        clock = ArrivalClock()
        came: dict[int | None, float] = {}  # when each packet did, by its PTS
        failed = 0
        heard_s = time.monotonic()
        backlog = Backlog()
        old: VideoFrame | None = None  # the newest of the backlog
        for packet in backlog.through(_packets(self._given, container, stream)):
            now_s = time.monotonic()
            if len(came) >= _MOST_IN_FLIGHT:
                came.clear()
            came[packet.pts] = clock.arrived_s(now_s, _packet_s(packet), waited=backlog.waited)
            try:
                pictures = decoder.decode(packet)
            except av.FFmpegError:
                failed += renderer is not None  # before the first keyframe nothing can be decoded
                pictures = []
            for picture in pictures:
                if renderer is None:
                    renderer = _renderer(container, stream, picture)
                if failed:
                    self._damage(failed)
                    failed = 0
                heard_s = now_s
                arrived_s = came.pop(picture.pts, now_s)
                if pace is not None:
                    arrived_s = pace.wait(_stamp_s(picture, stream))
                elif now_s < backlog.over_s:
                    old = picture
                    continue
                old = None
                if not self._arrived(picture, arrived_s, renderer):
                    return True
            if self.stop.is_set():
                return True
            stall_s = self._policy.stall_s
            if stall_s and now_s - heard_s > stall_s:
                raise InputError(f"{self._given.name}: no picture for {stall_s:g} s")
        if old is not None and renderer is not None:  # all of it came at once: better that than nothing
            return not self._arrived(old, time.monotonic(), renderer)
        return False

    def _arrived(self, picture: VideoFrame, arrived_s: float, renderer: PictureRenderer) -> bool:
        """Hands a frame over; False if no more are wanted."""
        if self._zero_s is None:
            self._zero_s = arrived_s
        time_s = arrived_s - self._zero_s
        if time_s >= self._end_s:
            return False
        if self._away is not None:
            self._mailbox.put(Gap(self._last_s, time_s, self._away))
            self._away = None
        self._last_s = time_s
        self._decoded += 1
        captured_at = datetime.fromtimestamp(time.time() - (time.monotonic() - arrived_s), UTC)
        due = self._sampler.due(time_s, keyframe=picture.key_frame)
        return self._mailbox.offer(Arrival(picture, arrived_s, captured_at, time_s, renderer), due=due)

    def _damage(self, packets: int) -> None:
        self._damaged += packets
        what = "1 packet" if packets == 1 else f"{packets} packets"
        self._mailbox.put(Damage(f"{what} could not be decoded", self._last_s))

    def _now_s(self) -> float:
        return 0.0 if self._zero_s is None else time.monotonic() - self._zero_s


class _Pace:
    """Lets frames through when their timestamps say, counted from the first."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._offset_s: float | None = None  # from timestamps to the monotonic clock

    def wait(self, stamp_s: float | None) -> float:
        """Waits until the frame of that timestamp is due; when that is, by the monotonic clock."""
        now_s = time.monotonic()
        if stamp_s is None:
            return now_s
        if self._offset_s is None or not -_LATEST_S < stamp_s + self._offset_s - now_s < _EARLIEST_S:
            self._offset_s = now_s - stamp_s
        due_s = stamp_s + self._offset_s
        self._stop.wait(max(0.0, due_s - now_s))
        return due_s


def _packets(
    given: LiveInput, container: InputContainer, stream: VideoStream
) -> Iterator[Packet[VideoStream]]:
    """Packets as they come; the last is an empty one.

    Raises:
        InputError: reading broke off, or nothing came for too long.
    """
    broken = 0
    while broken < _BROKEN_READS_IN_A_ROW:
        try:
            for packet in container.demux(stream):
                broken = 0
                yield packet
        except IndexError:
            continue  # PyAV's, for a packet of a stream that was not there when it was opened
        except av.error.InvalidDataError:
            broken += 1
        except (av.FFmpegError, OSError) as error:
            raise given.error(error) from error
        else:
            return
    raise InputError(f"{given.name}: what comes is no video any more")


def _renderer(container: InputContainer, stream: VideoStream, picture: VideoFrame) -> PictureRenderer:
    from cli.video.picture import PictureRenderer

    info = describe(container, stream, picture)
    return PictureRenderer(info.sample_aspect, info.orientation)


def _packet_s(packet: Packet[VideoStream]) -> float | None:
    stamp = packet.dts if packet.dts is not None else packet.pts
    return None if stamp is None else float(stamp * packet.time_base)


def _stamp_s(picture: VideoFrame, stream: VideoStream) -> float | None:
    base = picture.time_base or stream.time_base
    return None if picture.pts is None or base is None else float(picture.pts * base)
