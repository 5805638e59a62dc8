"""A session that is followed by another when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.messages import Closed
from protocol.session import Session

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from protocol.frame import Frame
    from protocol.messages import FrameReply


class SuccessiveSession(Session):
    """See `Session`. Who derives from it says in `caption` when the one in use ends.

    Attributes:
        created: of the session in use, so its id changes; the new one knows nothing of what was before.
    """

    def __init__(self, first: Session, reopen: Callable[[], Awaitable[Session]]) -> None:
        """`reopen` gives the next one."""
        self.created = first.created
        self.idle_timeout_s = first.idle_timeout_s
        self._session: Session | None = first
        self._reopen = reopen
        self._answered = 0

    def shown_size(self, frame: Frame) -> tuple[int, int]:
        """See `Session.shown_size`."""
        return frame.size if self._session is None else self._session.shown_size(frame)

    async def prepare(self, frame: Frame) -> None:
        """See `Session.prepare`."""
        if self._session is not None:
            await self._session.prepare(frame)

    async def close(self) -> Closed:
        """Closes the session in use; `frames` counts those of all."""
        await self._end()
        return Closed(session_id=self.created.session_id, frames=self._answered)

    async def _end(self) -> None:
        """Ends the session in use; the next frame begins another."""
        ended, self._session = self._session, None
        if ended is not None:
            await ended.close()

    async def _reply(self, frame: Frame) -> FrameReply:
        """The reply of the session in use to `frame`, or of the next if there is none."""
        if self._session is None:
            self._session = await self._reopen()
        session = self._session
        self.created = session.created
        try:
            reply = await session.caption(frame)
        finally:
            self.created = session.created  # it may be one of several itself
        self._answered += 1
        return reply
