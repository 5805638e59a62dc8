"""The sessions of a host, and when each of them expires."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from protocol.server.held_session import HeldSession

MAX_GRAVES = 1024
"""Dead sessions whose reason is remembered; they hold nothing else and take no room."""


@dataclass(frozen=True, slots=True)
class Grave:
    """What is left of a session that ended for good."""

    reason: str
    frames: int
    expires_at: float


class SessionTable:
    """Sessions by id, and the graves of dead ones; a timer calls when the next of them is over.

    There is no timer where there is nothing to wait for: not while all sessions have a frame in flight, and
    not in an empty table.
    """

    def __init__(self, clock: Callable[[], float], on_due: Callable[[], object]) -> None:
        """`on_due` is called in the event loop when something may have expired; it calls `expired`."""
        self._clock = clock
        self._on_due = on_due
        self._sessions: dict[str, HeldSession] = {}
        # With MAX_GRAVES the oldest is forgotten: whoever asks for it hears that it is gone, not why.
        self._graves: dict[str, Grave] = {}
        self._timer: asyncio.Handle | None = None
        self._timer_at = 0.0  # by the event loop's clock

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[HeldSession]:
        return iter(list(self._sessions.values()))

    def __contains__(self, held: HeldSession) -> bool:
        return held.id in self._sessions

    def get(self, session_id: str) -> HeldSession | None:
        """The session of that id, expired or not."""
        return self._sessions.get(session_id)

    def add(self, held: HeldSession) -> None:
        """Takes a session in."""
        self._sessions[held.id] = held
        self.watch(held)

    def remove(self, held: HeldSession) -> None:
        """Takes a session out."""
        del self._sessions[held.id]

    def bury(self, held: HeldSession, reason: str) -> None:
        """Remembers why a session died, for as long as the session would have been kept."""
        if len(self._graves) >= MAX_GRAVES:
            del self._graves[next(iter(self._graves))]
        grave = Grave(reason, held.answered, self._clock() + held.idle_timeout_s)
        self._graves[held.id] = grave
        self._arm(grave.expires_at)

    def grave(self, session_id: str) -> Grave | None:
        """What is left of the session of that id."""
        return self._graves.get(session_id)

    def forget(self, session_id: str) -> None:
        """Forgets a dead session."""
        self._graves.pop(session_id, None)

    def watch(self, held: HeldSession) -> None:
        """Sees to it that somebody calls when `held` expires."""
        if held.expires_at is not None:
            self._arm(held.expires_at)

    def expired(self) -> list[HeldSession]:
        """The sessions whose time is over, still in the table; graves whose time is over are forgotten."""
        now = self._clock()
        self._graves = {name: grave for name, grave in self._graves.items() if grave.expires_at > now}
        return [held for held in self if held.expired(now)]

    def clear(self) -> None:
        """Forgets everything, and stops the timer."""
        self._sessions.clear()
        self._graves.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, deadline: float) -> None:
        """Calls at `deadline`, unless a call comes before it."""
        loop = asyncio.get_running_loop()
        delay_s = max(0.0, deadline - self._clock())
        at = loop.time() + delay_s
        if self._timer is not None:
            if self._timer_at <= at:
                return
            self._timer.cancel()
        self._timer, self._timer_at = loop.call_later(delay_s, self._due), at

    def _due(self) -> None:
        self._timer = None
        self._on_due()
        deadlines = [held.expires_at for held in self] + [grave.expires_at for grave in self._graves.values()]
        following = [deadline for deadline in deadlines if deadline is not None]
        if following:
            self._arm(min(following))
