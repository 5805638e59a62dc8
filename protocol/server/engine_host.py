"""Sessions of an engine in this process, by id."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from typing import TYPE_CHECKING

from protocol.errors import EngineFailure, SessionError, Unavailable
from protocol.host import Busy, Dead, Failed, Gone, Refused
from protocol.limits import FRAME_TIMEOUT_S, MAX_SESSIONS
from protocol.messages import Closed, FrameReply
from protocol.server.engine_errors import (
    engine_gone,
    frame_error,
    is_engine_lost,
    open_error,
    shutting_down,
)
from protocol.server.held_session import PATIENCE_S, Flight, HeldSession
from protocol.server.host_observer import HostObserver
from protocol.server.picture_decoder import PictureDecoder
from protocol.server.session_table import SessionTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol.host import FrameOutcome, OpenOutcome
    from protocol.messages import Created, SessionConfig
    from protocol.session import Engine


class EngineHost:
    """A `SessionHost` over an engine in this process.

    One frame a session is in flight, and a session without one for its idle time expires: a timer reaps it,
    and so does the next admission. A frame that outlives `frame_timeout_s`, or an engine that fails, ends its
    session for good; what is left is the reason, for whoever asks next. When the engine itself is gone
    (`EngineError`), every session is dead and none is admitted any more.

    Frames come as they arrived. The picture is checked and decoded in a thread once the session is known to
    be there and free, within the frame's time; `decode_ms` and `inqueue_ms` of the reply tell of that.

    All of it runs in one event loop and is not to be called from another. The engine is not closed here:
    whoever made it does that, after `shut_down`.

    Attributes:
        lost: why the engine is gone; None while it is there.
        draining: whether `drain` or `shut_down` was called, so that nothing is admitted any more.
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
            frame_timeout_s: the longest a frame may take, decoding included.
            decoders: pictures decoded at once.
            clock: seconds, for the idle times.
        """
        self.lost: str | None = None
        self.draining = False
        self._engine = engine
        self._max_sessions = max_sessions
        self._frame_timeout_s = frame_timeout_s
        self._decoder = PictureDecoder(decoders)
        self._observer = observer or HostObserver()
        self._clock = clock
        self._sessions = SessionTable(clock, self.reap)
        self._opening = 0
        self._in_flight: set[HeldSession] = set()
        self._releases: set[asyncio.Task[None]] = set()

    @property
    def open_sessions(self) -> int:
        """Sessions that take frames."""
        return len(self._sessions)

    @property
    def frames_in_flight(self) -> int:
        """Frames being decoded or answered."""
        return len(self._in_flight)

    async def open(self, config: SessionConfig, *, idle_timeout_s: float) -> OpenOutcome:
        """See `SessionHost.open`."""
        try:
            created = await self._open(config, idle_timeout_s)
        except SessionError as error:
            self._observer.refused(error)
            return Refused(error)
        self._observer.opened()
        return created

    async def frame(self, session_id: str, image: bytes | str) -> FrameOutcome:
        """See `SessionHost.frame`."""
        held = self._find(session_id)
        if held is None:
            grave = self._sessions.grave(session_id)
            return Dead(grave.reason) if grave else Gone()
        if held.flight is not None:
            return Busy()
        if self.draining:
            return Failed(shutting_down())
        flight = Flight(self._fly(held, image), self._frame_timeout_s, lambda: self._time_out(held))
        # Not left to `_fly`, which never begins if it is aborted at once.
        flight.work.add_done_callback(lambda _: self._land(held, flight))
        held.flight = flight
        self._in_flight.add(held)
        return await asyncio.shield(flight.outcome)

    async def close(self, session_id: str, *, abort: bool = False) -> Closed | Gone:
        """See `SessionHost.close`. With `abort` it does not wait until the engine has let go."""
        held = self._find(session_id)
        if held is None:
            grave = self._sessions.grave(session_id)
            self._sessions.forget(session_id)
            return Closed(session_id=session_id, frames=grave.frames) if grave else Gone()
        if abort and held.flight is not None:
            self._abort(held, Gone())
        released = self._release(held, "aborted" if abort else "closed")
        if not abort:
            await asyncio.shield(released)
        return Closed(session_id=session_id, frames=held.answered)

    def reap(self) -> int:
        """Ends the sessions whose idle time is over; gives their number."""
        return len(self._reap())

    async def drain(self, timeout_s: float) -> None:
        """Admits nothing more, waits for the frames in flight, and aborts those that outlive `timeout_s`."""
        self.draining = True
        outcomes = [held.flight.outcome for held in self._in_flight if held.flight]
        if outcomes:
            await asyncio.wait(outcomes, timeout=timeout_s)
        self._abort_all()

    async def shut_down(self) -> None:
        """Aborts every frame, releases every session, and waits until the engine has let go of them."""
        self.draining = True
        self._abort_all()
        for held in self._sessions:
            self._release(held, "shut down")
        while self._releases:
            await asyncio.wait(self._releases)
        self._sessions.clear()
        self._decoder.close()

    # Opening.

    async def _open(self, config: SessionConfig, idle_timeout_s: float) -> Created:
        await self._make_room()
        self._opening += 1
        try:
            # Awaited right here: between the engine's answer and the table there is no moment at which a
            # cancelled caller could leave a session behind.
            session = await self._engine.open(config)
        except Exception as error:
            if is_engine_lost(error):
                self._lose(error)
            raise open_error(error) from error
        finally:
            self._opening -= 1
        held = HeldSession(
            f"sess-{secrets.token_hex(16)}", session, idle_timeout_s=idle_timeout_s, now=self._clock()
        )
        if self.draining or self.lost is not None:
            self._start_release(held)
        self._require_ready()
        self._sessions.add(held)
        return session.created.model_copy(update={"session_id": held.id})

    async def _make_room(self) -> None:
        """Reaps the expired, and waits a little for what is being released.

        Raises:
            Unavailable: there is no room, or no engine.
        """
        self._require_ready()
        expired = self._reap()
        if expired:  # what they hold in the engine is to be free when the next session asks for it
            await asyncio.wait(expired, timeout=PATIENCE_S)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                while self._full and self._releases:
                    await asyncio.wait(self._releases, return_when=asyncio.FIRST_COMPLETED)
        self._require_ready()
        if self._full:
            raise Unavailable(
                f"all {self._max_sessions} sessions are in use", hint="close one, or try again later"
            )

    @property
    def _full(self) -> bool:
        return len(self._sessions) + self._opening + len(self._releases) >= self._max_sessions

    def _require_ready(self) -> None:
        if self.draining:
            raise shutting_down()
        if self.lost is not None:
            raise engine_gone(self.lost)

    # Answering.

    async def _fly(self, held: HeldSession, image: bytes | str) -> None:
        """Answers a frame, or says why not."""
        flight = held.flight
        assert flight is not None
        try:
            outcome = await self._answer(held, image)
        except asyncio.CancelledError:
            # Aborted, with its outcome settled; or else the engine gave it up of its own accord.
            outcome = Failed(EngineFailure("the engine cancelled the frame"))
        self._land(held, flight)  # before the outcome is known: then the next frame may come
        self._settle(held, flight, outcome)

    def _land(self, held: HeldSession, flight: Flight) -> None:
        if held.flight is flight:
            flight.landed()
            held.flight = None
            self._in_flight.discard(held)
            if held in self._sessions:
                self._sessions.watch(held)

    async def _answer(self, held: HeldSession, image: bytes | str) -> FrameOutcome:
        try:
            decoded = await self._decoder.decode(image)
            try:
                reply = await held.session.caption(decoded.frame)
            finally:
                held.idle_since = self._clock()
        except Exception as error:
            if is_engine_lost(error):
                self._lose(error)
            return Failed(frame_error(error))
        decode_ms = decoded.decode_ms if reply.decode_ms is None else reply.decode_ms
        inqueue_ms = decoded.waited_ms + (reply.inqueue_ms or 0.0)
        # The engine counts from when it was asked; the frame was submitted before it was decoded.
        before_s = (decoded.waited_ms + decoded.decode_ms) / 1000
        whole = {
            name: seconds + before_s
            for name, seconds in (("ttft_s", reply.ttft_s), ("latency_s", reply.latency_s))
            if seconds is not None
        }
        return reply.model_copy(update={"decode_ms": decode_ms, "inqueue_ms": inqueue_ms, **whole})

    def _settle(self, held: HeldSession, flight: Flight, outcome: FrameOutcome) -> None:
        if not flight.settle(outcome):
            return
        if isinstance(outcome, FrameReply):
            held.answered += 1
            self._observer.answered(outcome)
            return
        self._observer.failed(outcome.error)
        if outcome.ends_session:
            self._kill(held, f"an earlier frame failed: {outcome.error}", "failed")

    def _time_out(self, held: HeldSession) -> None:
        reason = f"a frame took longer than {self._frame_timeout_s:g} s"
        self._abort(held, Dead(reason))
        self._kill(held, reason, "timed out")

    def _abort(self, held: HeldSession, outcome: Failed | Dead | Gone) -> None:
        if held.flight is not None and held.flight.abort(outcome):
            self._observer.failed(outcome.error)

    def _abort_all(self) -> None:
        for held in list(self._in_flight):
            self._abort(held, Failed(shutting_down()))
            self._kill(held, "the server is shutting down", "shut down")

    # Ending.

    def _find(self, session_id: str) -> HeldSession | None:
        held = self._sessions.get(session_id)
        if held is not None and held.expired(self._clock()):
            self._release(held, "expired")
            return None
        return held

    def _reap(self) -> list[asyncio.Task[None]]:
        return [self._release(held, "expired") for held in self._sessions.expired()]

    def _kill(self, held: HeldSession, reason: str, how: str) -> None:
        """Ends a session for good, and keeps the reason."""
        if held in self._sessions:  # otherwise it is being closed already
            self._release(held, how)
            self._sessions.bury(held, reason)

    def _lose(self, error: Exception) -> None:
        """The engine is gone, and every session with it."""
        if self.lost is None:
            self.lost = str(error)
            self._observer.engine_lost(self.lost)
        for held in list(self._in_flight):
            self._abort(held, Failed(EngineFailure(self.lost)))
        for held in self._sessions:
            self._kill(held, self.lost, "failed")

    def _release(self, held: HeldSession, how: str) -> asyncio.Task[None]:
        self._sessions.remove(held)
        self._observer.ended(how)
        return self._start_release(held)

    def _start_release(self, held: HeldSession) -> asyncio.Task[None]:
        task = asyncio.create_task(held.release())
        self._releases.add(task)
        task.add_done_callback(self._releases.discard)
        return task
