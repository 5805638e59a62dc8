"""A session of a live source: followed by another when its history is to end, or its server has let it go."""

from __future__ import annotations

from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from protocol.successive_session import SuccessiveSession

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from protocol.frame import Frame
    from protocol.messages import FrameReply
    from protocol.session import Session


class RenewableSession(SuccessiveSession):
    """See `SuccessiveSession`. One that its server must have let go meanwhile is not asked any more."""

    def __init__(
        self,
        first: Session,
        reopen: Callable[[], Awaitable[Session]],
        tell: Callable[[str], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`tell` hears why there is a new one, in one line."""
        super().__init__(first, reopen)
        self._tell = tell
        self._clock = clock
        self._idle_since = clock()

    async def renew(self) -> None:
        """Ends the session in use; the next frame begins another."""
        await self._end()

    async def caption(self, frame: Frame) -> FrameReply:
        """See `Session.caption`.

        Raises:
            SessionError: also where no other session is to be had.
        """
        idle_s = self._clock() - self._idle_since
        if self._session is not None and idle_s >= (self._session.idle_timeout_s or inf):
            self._tell(f"no frame for {idle_s:.0f} s, longer than a server keeps a session: a new one begins")
            await self._end()
        try:
            return await self._reply(frame)
        finally:
            self._idle_since = self._clock()
