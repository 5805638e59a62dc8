"""Handing what a live source gives from its thread to an event loop: the newest frame, or all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cli.video.lookahead import Lookahead
from protocol.source import Dropped, Ended, Event

if TYPE_CHECKING:
    from datetime import datetime

    from av import VideoFrame

    from cli.video.picture import PictureRenderer

MAX_WAITING = 3
"""Frames and events that wait for the consumer. Full, the thread waits."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A frame that came.

    Attributes:
        arrived_s: when, by the monotonic clock.
        captured_at: when, in UTC.
        time_s: when, on the source's time line.
        renderer: makes the picture of it.
    """

    picture: VideoFrame
    arrived_s: float
    captured_at: datetime
    time_s: float
    renderer: PictureRenderer


@dataclass(frozen=True, slots=True)
class Given:
    """A frame for the consumer, and how many that were due went by before it."""

    arrival: Arrival
    dropped: int


class Mailbox(Lookahead[Event | Given]):
    """A `Lookahead` that also takes frames as they come.

    Where only the newest counts, each takes the place of the one before, due or not, and those that were due
    are counted; at the end a consumer that is busy gets no last one, which would be old by then. Otherwise
    every frame that is due waits for its turn, and the thread for room. What happens between frames is not
    dropped and keeps its place among them.
    """

    def __init__(self, *, newest_only: bool) -> None:
        super().__init__(MAX_WAITING)
        self._newest_only = newest_only
        self._newest: Arrival | None = None
        self._due = 0
        self._wanted = True  # the consumer waits, or has had nothing yet

    def offer(self, arrival: Arrival, *, due: bool) -> bool:
        """A frame came; False if nobody wants any more. Called by the thread."""
        if not self._newest_only:
            return self.put(Given(arrival, 0)) if due else not self.closed
        with self._room:
            if self.closed:
                return False
            self._newest = arrival
            self._due += due
        return self._wake()

    def put(self, item: Event | Given) -> bool:
        """Adds what happened after the frames so far; see `Lookahead.put`."""
        with self._room:
            frame = self._take_newest()
            self._newest = None
            if frame is not None:
                late = isinstance(item, Ended) and not self._wanted
                self._items.append(Dropped(frame.dropped + 1) if late else frame)
        return super().put(item)

    def begin(self) -> None:
        """The consumer begins now: what went by before that is nobody's loss."""
        with self._room:
            self._due = min(self._due, 1)

    async def filled(self) -> None:
        """Waits until there is something to get, and leaves it there.

        Raises:
            Exhausted: nothing comes.
            BaseException: what the thread ended with.
        """
        while True:
            with self._room:
                if self._items or self._due:
                    return
                self._raise_if_over()
                self._ready.clear()
            await self._ready.wait()

    def close(self) -> None:
        """See `Lookahead.close`."""
        with self._room:
            self._newest, self._due = None, 0
        super().close()

    def _take(self) -> Event | Given | None:
        item = super()._take() or self._take_newest()
        self._wanted = item is None
        return item

    def _take_newest(self) -> Given | None:
        if self._newest is None or not self._due:
            return None
        given = Given(self._newest, self._due - 1)
        self._newest, self._due = None, 0
        return given
