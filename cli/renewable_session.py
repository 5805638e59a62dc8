"""A session of a live source: followed by another when its history is to end, or its server has let it go."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from protocol.messages import Closed
from protocol.session import Session

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from protocol.frame import Frame
    from protocol.messages import FrameReply


class RenewableSession(Session):
    """See `Session`. One that waited for a frame for longer than its server keeps it is not asked any more.

    Attributes:
        created: of the session in use, so its id changes; the new one knows nothing of what was before.
    """

    def __init__(
        self,
        first: Session,
        reopen: Callable[[], Awaitable[Session]],
        tell: Callable[[str], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`tell` hears why there is a new one, in one line."""
        self.created = first.created
        self._session: Session | None = first
        self._reopen = reopen
        self._tell = tell
        self._clock = clock
        self._idle_since = clock()
        self._answered = 0

    async def renew(self) -> None:
        """Ends the session in use; the next frame begins another."""
        ended, self._session = self._session, None
        if ended is not None:
            await ended.close()

    async def caption(self, frame: Frame) -> FrameReply:
        """See `Session.caption`.

        Raises:
            SessionError: also where no other session is to be had.
        """
        idle_s = self._clock() - self._idle_since
        if self._session is not None and idle_s >= (self._session.idle_timeout_s or float("inf")):
            self._tell(f"no frame for {idle_s:.0f} s, longer than a server keeps a session: a new one begins")
            await self.renew()
        if self._session is None:
            self._session = await self._reopen()
            self.created = self._session.created
        try:
            reply = await self._session.caption(frame)
        finally:
            self.created = self._session.created
            self._idle_since = self._clock()
        self._answered += 1
        return reply

    def shown_size(self, frame: Frame) -> tuple[int, int]:
        """See `Session.shown_size`."""
        return frame.size if self._session is None else self._session.shown_size(frame)

    async def prepare(self, frame: Frame) -> None:
        """See `Session.prepare`."""
        if self._session is not None:
            await self._session.prepare(frame)

    async def close(self) -> Closed:
        """Closes the session in use; `frames` counts those of all."""
        await self.renew()
        return Closed(session_id=self.created.session_id, frames=self._answered)
