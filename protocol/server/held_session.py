"""One session as its host holds it: the engine's session, its idle clock, and the frame in flight."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from protocol.host import FrameOutcome
    from protocol.session import Session

PATIENCE_S = 5.0
"""How long an engine may take to let go of a cancelled frame, and then of its session."""

_log = logging.getLogger(__name__)


class Flight:
    """A frame on its way.

    Attributes:
        outcome: settled once, by whatever ends the frame first: its answer, a failure, its time, or an abort.
        work: what answers it. It may outlast the outcome a little, until the engine notices an abort.
    """

    def __init__(
        self, work: Coroutine[None, None, None], timeout_s: float, on_timeout: Callable[[], object]
    ) -> None:
        """Starts `work`; calls `on_timeout` if `landed` was not called by then."""
        loop = asyncio.get_running_loop()
        self.outcome: asyncio.Future[FrameOutcome] = loop.create_future()
        self.work = asyncio.create_task(work)
        self._timer = loop.call_later(timeout_s, on_timeout)

    def landed(self) -> None:
        """The work has ended."""
        self._timer.cancel()

    def settle(self, outcome: FrameOutcome) -> bool:
        """Whether that is how it ends: False if it had ended already."""
        if self.outcome.done():
            return False
        self.outcome.set_result(outcome)
        return True

    def abort(self, outcome: FrameOutcome) -> bool:
        """As `settle`, and stops the work where it is."""
        if not self.settle(outcome):
            return False
        self.work.cancel()
        return True


class HeldSession:
    """A session that is open.

    Attributes:
        id: the host's, which the engine does not know.
        answered: frames answered.
        idle_timeout_s: the longest it may be without a frame.
        idle_since: when it began to wait for one, by the host's clock.
        flight: the frame in flight; the idle clock stands still meanwhile.
    """

    def __init__(self, session_id: str, session: Session, *, idle_timeout_s: float, now: float) -> None:
        self.id = session_id
        self.session = session
        self.idle_timeout_s = idle_timeout_s
        self.idle_since = now
        self.answered = 0
        self.flight: Flight | None = None

    @property
    def expires_at(self) -> float | None:
        """When its idle time is over; None while a frame is in flight."""
        return None if self.flight else self.idle_since + self.idle_timeout_s

    def expired(self, now: float) -> bool:
        """Whether its idle time is over."""
        return self.expires_at is not None and self.expires_at <= now

    async def release(self) -> None:
        """Closes the engine's session, once a frame in flight has ended. Never raises."""
        flight = self.flight
        if flight is not None:
            await asyncio.wait({flight.outcome})
            await asyncio.wait({flight.work}, timeout=PATIENCE_S)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self.session.close()
        except Exception as error:  # the session is gone either way
            _log.warning("%s: the engine did not close it: %s", self.id, str(error) or type(error).__name__)
