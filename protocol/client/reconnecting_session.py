"""A session that is followed by another when it is lost."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

from protocol.errors import FrameRefused, SessionLost, Unavailable
from protocol.messages import Closed
from protocol.session import Session

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from protocol.frame import Frame
    from protocol.messages import FrameReply

PATIENCE_S = 300.0
"""So long is tried to reach a server again: a model takes its time to load."""
MOST_LOSSES = 3
"""Sessions lost in a row without an answer, after which another would be no better."""
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 5.0


class ReconnectingSession(Session):
    """See `Session`. The frame that a session was lost with is not sent again; the next begins a new session.

    Attributes:
        created: of the session in use, so its id changes; the new one knows nothing of what was before.
    """

    def __init__(
        self, first: Session, reopen: Callable[[], Awaitable[Session]], warn: Callable[[str], None]
    ) -> None:
        self.created = first.created
        self.idle_timeout_s = first.idle_timeout_s
        self._session: Session | None = first
        self._reopen = reopen
        self._warn = warn
        self._losses = 0
        self._answered = 0

    async def caption(self, frame: Frame) -> FrameReply:
        """See `Session.caption`.

        Raises:
            FrameRefused: also when the session was lost; it says so.
            SessionLost: no other session is to be had, or `MOST_LOSSES` in a row gave no answer.
        """
        if self._session is None:
            self._session = await self._reopened()
            self.created = self._session.created
        try:
            reply = await self._session.caption(frame)
        except SessionLost as error:
            self._losses += 1
            lost, self._session = self._session, None
            await lost.close()
            if self._losses >= MOST_LOSSES:
                raise
            raise FrameRefused(error.message, code=error.code, session_lost=True) from error
        self._losses = 0
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
        if self._session is not None:
            await self._session.close()
        return Closed(session_id=self.created.session_id, frames=self._answered)

    async def _reopened(self) -> Session:
        pause_s = _FIRST_PAUSE_S
        until = monotonic() + PATIENCE_S
        told = False
        while True:
            try:
                return await self._reopen()
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
