"""What stands beneath a server: sessions by id, wherever they live."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from protocol.errors import SessionError
    from protocol.frame import Frame
    from protocol.messages import Closed, Created, FrameReply, SessionConfig


@dataclass(frozen=True, slots=True)
class Refused:
    """The session was not admitted: invalid (400), unknown model (404), full or loading (503)."""

    error: SessionError


@dataclass(frozen=True, slots=True)
class Busy:
    """Another frame of this session is in flight (409, and the session goes on)."""


@dataclass(frozen=True, slots=True)
class Gone:
    """No such session: never opened, closed, or expired (404)."""


@dataclass(frozen=True, slots=True)
class Dead:
    """The session ended for good, by a frame that outlived its time or an engine that failed (409)."""

    reason: str


@dataclass(frozen=True, slots=True)
class OwnerLost:
    """The process or machine that held the session is away (503)."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """This frame failed; `error.code` says how and whether the session goes on."""

    error: SessionError


@runtime_checkable
class SessionHost(Protocol):
    """Opens, feeds and closes sessions by an opaque id that the host mints.

    Outcomes are values, and no live object is handed out, so that a host whose sessions live in other
    processes fits behind the same handlers. Idle clocks and in-flight locks are the host's own.
    """

    async def open(self, config: SessionConfig, *, idle_timeout_s: float) -> Created | Refused:
        """Reaps expired sessions, then admits or refuses this one."""
        ...

    async def frame(
        self, session_id: str, frame: Frame
    ) -> FrameReply | Busy | Gone | Dead | OwnerLost | Failed:
        """Answers one frame. It refreshes the idle clock, which then stands still until the reply."""
        ...

    async def close(self, session_id: str, *, abort: bool = False) -> Closed | Gone | OwnerLost:
        """Releases a session; with `abort`, a frame in flight is cancelled in the engine too."""
        ...
