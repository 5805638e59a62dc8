"""A camera or network stream as a source: sampled as it arrives, found again when it is lost."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from cli.video.live_policy import DEFAULT_POLICY, LivePolicy
from cli.video.live_reader import LiveReader
from cli.video.lookahead import Exhausted
from cli.video.mailbox import Arrival, Given, Mailbox
from cli.video.timeouts import OPEN_TIMEOUT_S
from protocol.errors import InputError
from protocol.frame import Frame
from protocol.source import Dropped

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cli.video.live_input import LiveInput
    from cli.video.sampling import SamplingPlan
    from protocol.source import Event

_CLOSE_TIMEOUT_S = 0.5
_LOOK_EVERY_S = 0.25


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
        self._start(LiveReader(given, plan, policy, open_s, self._mailbox))

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
            item = await self._next()
            if item is None:
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
                    # It is on screen until the next one would be due.
                    yield self._reader.ended(item.arrival.time_s + float(1 / self._plan.fps))
                    return

    async def _next(self) -> Event | Given | None:
        """What comes next; None at the end.

        Raises:
            InputError: the source is lost.
        """
        while True:
            try:
                async with asyncio.timeout(_LOOK_EVERY_S) as turn:
                    item: Event | Given = await self._mailbox.get()
                    return item
            except Exhausted:
                return None
            except TimeoutError:
                if not turn.expired():
                    raise
            if self._reader.overdue:
                self._reader.stop.set()
                self._mailbox.finish()
                return self._reader.ended(self.duration_s)
            if self._reader.hangs:
                self._start(self._reader.successor())

    def _start(self, reader: LiveReader) -> None:
        self._reader = reader
        threading.Thread(target=reader.run, name="live reader", daemon=True).start()

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
