"""What stands beneath a server: sessions by id, wherever they live.

Every way a call can end is a value, and every value that is not the answer carries the error to report, so
that WebSocket and REST read the same table:

============== ==== ============ =====================================================
outcome        code ends session meaning
============== ==== ============ =====================================================
`Refused`      any  –            not admitted: 400, 404, 503, or 500 if the engine broke
`Busy`         409  no           another frame of the session is in flight
`Gone`         404  yes          never opened, closed, or expired
`Dead`         409  yes          ended for good by an earlier frame, or by this one's time
`OwnerLost`    503  yes          the process or machine that holds the session is away
`Failed`       any  by its code  this frame: 400, 413, 503 go on; 404, 409, 500 do not
============== ==== ============ =====================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from protocol.errors import Conflict, EngineFailure, NotFound, SessionError, Unavailable
from protocol.messages import Closed, Created, FrameReply

if TYPE_CHECKING:
    from protocol.messages import SessionConfig


@dataclass(frozen=True, slots=True)
class Refused:
    """The session was not admitted: invalid (400), unknown model (404), full or loading (503)."""

    error: SessionError


@dataclass(frozen=True, slots=True)
class Busy:
    """Another frame of this session is in flight (409, and the session goes on)."""

    ends_session: ClassVar[bool] = False

    @property
    def error(self) -> SessionError:
        """What to report."""
        return Conflict("a frame of this session is in flight", hint="wait for its reply before the next")


@dataclass(frozen=True, slots=True)
class Gone:
    """No such session: never opened, closed, or expired (404)."""

    ends_session: ClassVar[bool] = True

    @property
    def error(self) -> SessionError:
        """What to report."""
        return NotFound("no such session: it was closed, expired, or never opened", hint="create a new one")


@dataclass(frozen=True, slots=True)
class Dead:
    """The session ended for good, by a frame that outlived its time or an engine that failed (409)."""

    reason: str
    ends_session: ClassVar[bool] = True

    @property
    def error(self) -> SessionError:
        """What to report."""
        return Conflict(f"the session is no longer usable: {self.reason}", hint="create a new one")


@dataclass(frozen=True, slots=True)
class OwnerLost:
    """The process or machine that held the session is away (503)."""

    reason: str
    ends_session: ClassVar[bool] = True

    @property
    def error(self) -> SessionError:
        """What to report."""
        return Unavailable(f"the session is lost: {self.reason}", hint="create a new one")


@dataclass(frozen=True, slots=True)
class Failed:
    """This frame failed; `error.code` says how and whether the session goes on."""

    error: SessionError

    @property
    def ends_session(self) -> bool:
        """Whether the session is of no further use; see `Session.caption`."""
        return isinstance(self.error, NotFound | Conflict | EngineFailure)


OpenOutcome = Created | Refused
FrameOutcome = FrameReply | Busy | Gone | Dead | OwnerLost | Failed
CloseOutcome = Closed | Gone | OwnerLost


@runtime_checkable
class SessionHost(Protocol):
    """Opens, feeds and closes sessions by an opaque id that the host mints.

    Outcomes are values, and no live object is handed out, so that a host whose sessions live in other
    processes fits behind the same handlers. For the same reason a frame comes as it arrived: a host that
    forwards it has no use for pixels, and one that decodes it should first know that the session is there and
    free. Idle clocks and in-flight locks are the host's own.
    """

    async def open(self, config: SessionConfig, *, idle_timeout_s: float) -> OpenOutcome:
        """Reaps expired sessions, then admits or refuses this one. Cancelled, it leaves no session behind."""
        ...

    async def frame(self, session_id: str, image: bytes | str) -> FrameOutcome:
        """Answers one frame: the bytes of a JPEG or PNG file, or a str that is their base64.

        A frame whose picture is accepted refreshes the idle clock, which then stands still until the reply.
        Cancelling the call gives up the reply; the frame goes on in the engine unless `close` aborts it.
        """
        ...

    async def close(self, session_id: str, *, abort: bool = False) -> CloseOutcome:
        """Releases a session after its frame in flight; `abort` cancels that one, in the engine too."""
        ...
