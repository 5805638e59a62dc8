"""A session that is followed by another when it is lost."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

from protocol.errors import FrameRefused, SessionLost, Unavailable
from protocol.successive_session import SuccessiveSession

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from protocol.frame import Frame
    from protocol.messages import FrameReply
    from protocol.session import Session

PATIENCE_S = 300.0
"""So long is tried to reach a server again: a model takes its time to load."""
MOST_LOSSES = 3
"""Sessions lost in a row without an answer, after which another would be no better."""
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 5.0


class ReconnectingSession(SuccessiveSession):
    """See `SuccessiveSession`. A frame that a session was lost with is not sent again."""

    def __init__(
        self, first: Session, reopen: Callable[[], Awaitable[Session]], warn: Callable[[str], None]
    ) -> None:
        super().__init__(first, self._reopened)
        self._open = reopen
        self._warn = warn
        self._losses = 0

    async def caption(self, frame: Frame) -> FrameReply:
        """See `Session.caption`.

        Raises:
            FrameRefused: also when the session was lost; it says so.
            SessionLost: no other session is to be had, or `MOST_LOSSES` in a row gave no answer.
        """
        try:
            reply = await self._reply(frame)
        except SessionLost as error:
            if self._session is None:  # and none is to be had
                raise
            self._losses += 1
            await self._end()
            if self._losses >= MOST_LOSSES:
                raise
            raise FrameRefused(error.message, code=error.code, session_lost=True) from error
        self._losses = 0
        return reply

    async def _reopened(self) -> Session:
        pause_s = _FIRST_PAUSE_S
        until = monotonic() + PATIENCE_S
        told = False
        while True:
            try:
                return await self._open()
            except Unavailable as error:
                if monotonic() + pause_s > until:
                    raise SessionLost(
                        f"{error.message}, tried for {PATIENCE_S:g} s", hint=error.hint
                    ) from error
                if not told:
                    told = True
                    self._warn(f"{error.message}; trying again for up to {PATIENCE_S:g} s")
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
