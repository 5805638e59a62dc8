"""Sessions of an engine in this process, by id."""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import TYPE_CHECKING

from protocol.errors import EngineError, EngineFailure, SessionError, Unavailable
from protocol.host import Busy, Dead, Failed, Gone, Refused
from protocol.limits import FRAME_TIMEOUT_S
from protocol.messages import Closed, FrameReply
from protocol.server.held_session import HeldSession
from protocol.server.picture_decoder import PictureDecoder

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol.host import FrameOutcome, OpenOutcome
    from protocol.messages import Created, SessionConfig
    from protocol.session import Engine, Session

MAX_SESSIONS = 64
"""Sessions open at once, unless told otherwise."""


class HostObserver:
    """Hears what happens in a host, to count it. Overridden where it matters; called in the event loop."""

    def opened(self) -> None:
        """A session was admitted."""

    def refused(self, error: SessionError) -> None:
        """A session was not admitted."""

    def ended(self, how: str) -> None:
        """A session ended: `closed`, `aborted`, `expired`, `failed`, `timed out` or `shut down`."""

    def answered(self, reply: FrameReply) -> None:
        """A frame was answered; its reply has the times of its stages."""

    def failed(self, error: SessionError) -> None:
        """A frame was not answered."""

    def engine_lost(self, reason: str) -> None:
        """The engine is gone for good: the server is not ready any more."""


class EngineHost:
    """A `SessionHost` over an engine in this process.

    One frame a session is in flight, and a session without one for its idle time expires: a timer reaps it,
    and so does the next admission. A frame that outlives `frame_timeout_s`, or an engine that fails, ends its
    session for good; what is left of it is the reason, for the next who asks. When the engine itself is gone
    (`EngineError`), every session is dead and none is admitted any more.

    Frames come as they arrived. The picture is checked and decoded in a thread once the session is known to
    be there and free, within the frame's time; `decode_ms` and `inqueue_ms` of the reply tell of that.

    All of it runs in one event loop and is not to be called from another. The engine is not closed here:
    whoever made it does that, after `shut_down`.

    Attributes:
        lost: why the engine is gone, None while it is there.
        draining: whether no session is admitted any more because of `drain` or `shut_down`.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        max_sessions: int = MAX_SESSIONS,
        frame_timeout_s: float = FRAME_TIMEOUT_S,
        decoders: int = 2,
        observer: HostObserver | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Starts nothing yet.

        Args:
            max_sessions: sessions open at once, those being opened or released included.
            frame_timeout_s: longest a frame may take, decoding included.
            decoders: pictures decoded at once.
            clock: seconds, for the idle times.
        """

    async def open(self, config: SessionConfig, *, idle_timeout_s: float) -> OpenOutcome:
        """See `SessionHost.open`."""

    async def frame(self, session_id: str, image: bytes | str) -> FrameOutcome:
        """See `SessionHost.frame`."""

    async def close(self, session_id: str, *, abort: bool = False) -> Closed | Gone:
        """See `SessionHost.close`. With `abort` it does not wait for the engine to let go."""

    async def reap(self) -> int:
        """Ends the sessions whose idle time is over; gives their number."""

    async def drain(self, timeout_s: float) -> None:
        """Admits nothing more, waits for the frames in flight, and aborts those that outlive `timeout_s`."""

    async def shut_down(self) -> None:
        """Aborts every frame, releases every session, and waits until the engine has let go of them."""

    @property
    def open_sessions(self) -> int:
        """Sessions that take frames, or are being opened."""

    @property
    def frames_in_flight(self) -> int:
        """Frames being decoded or answered."""
