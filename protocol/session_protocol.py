"""One WebSocket connection's session, as a state machine without I/O.

Messages and the host's outcomes go in; what is to be done comes out as effects, in the order in which it is
to be done. Nothing here waits, reads a clock or touches a socket, so every rule of the contract is tested
without one.

::

    AWAITING_CREATE ──create──► OPENING ──created──► IDLE ◄──reply──► IN_FLIGHT
                                                       └──delete──► CLOSING ──closed──► CLOSED

From each of them a fatal error leads to DEAD, and a client that leaves or a server that shuts down to
CLOSED. In both nothing is said any more, and the session, if there was one, has been released.

A layer of I/O around it is a loop::

    protocol = SessionProtocol()
    while True:
        protocol.receive_text(...)              # or receive_binary, opened, answered, released, ...
        for effect in protocol.effects():
            match effect:
                case OpenSession(config): ...   # start host.open; report its outcome with opened()
                case SubmitFrame(session_id, image): ...   # start host.frame; report with answered()
                case ReleaseSession(session_id, abort): ...   # host.close; report with released()
                case CancelOpen(): ...          # cancel what OpenSession started
                case SendText(text): ...
                case CloseSocket(code): ...     # the last one

Messages that come while the session is being opened or a frame is in flight wait here, in order; `delete` is
the last that counts. While `wants_messages` is false no more should be read: the other side then feels it in
its own socket.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, auto
from typing import TYPE_CHECKING

from protocol.effects import (
    CancelOpen,
    CloseSocket,
    Effect,
    OpenSession,
    ReleaseSession,
    SendText,
    SubmitFrame,
)
from protocol.errors import EngineFailure, InvalidRequest, NotFound, SessionError
from protocol.host import Refused
from protocol.limits import (
    CLOSE_GOING_AWAY,
    CLOSE_INTERNAL_ERROR,
    CLOSE_NORMAL,
    CLOSE_POLICY,
    MAX_QUEUED_BYTES,
    MIN_QUEUED_BYTES,
)
from protocol.messages import Closed, FrameReply
from protocol.wire import (
    DEFAULT_FRAME_FORMAT,
    FrameFormat,
    closed_text,
    created_text,
    error_text,
    frame_text,
    quoted,
    read_create,
    read_frame,
    read_object,
)

if TYPE_CHECKING:
    from protocol.host import CloseOutcome, FrameOutcome, OpenOutcome


class State(Enum):
    """Where a connection's session stands."""

    AWAITING_CREATE = auto()
    """Connected; nothing has been said."""
    OPENING = auto()
    """The host is asked for a session."""
    IDLE = auto()
    """A frame or `delete` may come."""
    IN_FLIGHT = auto()
    """A frame is being answered."""
    CLOSING = auto()
    """The host is asked to close the session."""
    CLOSED = auto()
    """Over: after `delete`, or because one side went away."""
    DEAD = auto()
    """Over: after a fatal error."""


class SessionProtocol:
    """The server's side of one connection. See the module for how to use it.

    Whatever the other side sends is answered, never raised. RuntimeError is raised where the caller breaks
    the rules: an outcome is reported that was not asked for.

    Attributes:
        state: where the session stands.
        session_id: the host's id, once there is a session.
    """

    def __init__(self, *, max_queued_bytes: int = MAX_QUEUED_BYTES) -> None:
        """`max_queued_bytes`: what may wait before `wants_messages` turns false."""
        self.state = State.AWAITING_CREATE
        self.session_id: str | None = None
        self._frame_format: FrameFormat = DEFAULT_FRAME_FORMAT
        self._going_away = False
        self._effects: list[Effect] = []
        self._max_queued_bytes = max_queued_bytes
        # Full, it says so with `wants_messages`; a message that comes nevertheless is kept.
        self._queue: deque[str | bytes] = deque()
        self._queued_bytes = 0

    def effects(self) -> list[Effect]:
        """What is to be done now, in order; each effect is given once."""
        effects, self._effects = self._effects, []
        return effects

    @property
    def over(self) -> bool:
        """Whether nothing will be said any more."""
        return self.state in (State.CLOSED, State.DEAD)

    @property
    def wants_messages(self) -> bool:
        """Whether another message should be read. Disconnects should be noticed all the same."""
        return self._queued_bytes < self._max_queued_bytes

    # What the other side does.

    def receive_text(self, text: str) -> None:
        """A text message came."""
        self._receive(text)

    def receive_binary(self, data: bytes) -> None:
        """A binary message came."""
        self._receive(data)

    def disconnected(self) -> None:
        """The other side is gone: the session is released and its frame cancelled."""
        if not self.over:
            self._end(State.CLOSED)

    # What the host did.

    def opened(self, outcome: OpenOutcome) -> None:
        """The outcome of `OpenSession`."""
        if self.over:
            if not isinstance(outcome, Refused):
                self._effects.append(ReleaseSession(outcome.session_id, abort=True))
            return
        self._expect(State.OPENING)
        if isinstance(outcome, Refused):
            self.state = State.AWAITING_CREATE  # nothing to cancel any more
            self._fail(outcome.error)
            return
        self.session_id = outcome.session_id
        self.state = State.IDLE
        self._send(created_text(outcome, self._frame_format))
        self._proceed()

    def answered(self, outcome: FrameOutcome) -> None:
        """The outcome of `SubmitFrame`."""
        if self.over:
            return
        self._expect(State.IN_FLIGHT)
        self.state = State.IDLE
        if isinstance(outcome, FrameReply):
            self._send(frame_text(outcome))
        elif outcome.ends_session:
            self._fail(outcome.error)
            return
        else:
            self._complain(outcome.error)
        self._proceed()

    def released(self, outcome: CloseOutcome) -> None:
        """The outcome of `ReleaseSession`."""
        if self.over:
            return
        self._expect(State.CLOSING)
        if isinstance(outcome, Closed):
            self._send(closed_text(outcome))
            self._end(State.CLOSED, CLOSE_NORMAL)
        else:
            self._fail(outcome.error)

    # What the server does of its own accord.

    def expired(self, *, timeout_s: float) -> None:
        """Nothing came for `timeout_s` seconds where the other side's turn was; ignored where it was ours."""
        if self.state is State.AWAITING_CREATE:
            self._fail(InvalidRequest(f"no 'create' message came within {timeout_s:g} s"))
        elif self.state is State.IDLE:
            self._fail(NotFound(f"the session expired after {timeout_s:g} s without a frame"))

    def shut_down(self) -> None:
        """The server ends: a frame in flight is still answered, then the connection is closed."""
        if self.over:
            return
        self._going_away = True
        if self.state is State.OPENING:
            self._end(State.CLOSED, CLOSE_GOING_AWAY)
        elif self.state in (State.AWAITING_CREATE, State.IDLE):
            self._proceed()

    def broke(self) -> None:
        """Something unforeseen was raised around this machine. What it was is for the log, not the client."""
        if not self.over:
            self._fail(EngineFailure("internal error", hint="see the server's log"))

    # How a message is taken.

    def _receive(self, message: str | bytes) -> None:
        if self.over or self.state is State.CLOSING:  # `delete` was the last word
            return
        self._queue.append(message)
        self._queued_bytes += _weight(message)
        self._proceed()

    def _proceed(self) -> None:
        """Takes what waits, one message after the other, until one has to wait for the host."""
        while self.state in (State.AWAITING_CREATE, State.IDLE):
            if self._going_away:
                self._end(State.CLOSED, CLOSE_GOING_AWAY)
            elif self._queue:
                message = self._queue.popleft()
                self._queued_bytes -= _weight(message)
                self._take(message)
            else:
                return

    def _take(self, message: str | bytes) -> None:
        first = self.state is State.AWAITING_CREATE
        try:
            if first:
                self._take_first(message)
            elif isinstance(message, bytes):
                self._take_binary(message)
            else:
                self._take_text(message)
        except SessionError as error:
            if first:
                self._fail(error)
            else:
                self._complain(error)

    def _take_first(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            raise InvalidRequest("the first message must be 'create', as JSON text, not binary")
        config, self._frame_format = read_create(message)
        self.state = State.OPENING
        self._effects.append(OpenSession(config))

    def _take_binary(self, image: bytes) -> None:
        if self._frame_format != "binary":
            raise InvalidRequest(
                "this session takes base64 frames, not binary ones",
                hint='send {"op":"frame","image_b64":...}',
            )
        self._submit(image)

    def _take_text(self, text: str) -> None:
        message = read_object(text)
        match message.get("op"):
            case "frame":
                if self._frame_format != "base64":
                    raise InvalidRequest(
                        "this session takes binary frames, not base64 ones",
                        hint="send the file's bytes as a binary message",
                    )
                self._submit(read_frame(message))
            case "delete":
                self.state = State.CLOSING
                self._clear()
                self._effects.append(ReleaseSession(self._session(), abort=False))
            case "create":
                raise InvalidRequest(
                    "this connection has its session already", hint="connect again to create another"
                )
            case None:
                raise InvalidRequest("the message has no op", hint="expected 'frame' or 'delete'")
            case op:
                raise InvalidRequest(f"unknown op {quoted(op)}", hint="expected 'frame' or 'delete'")

    def _submit(self, image: bytes | str) -> None:
        self.state = State.IN_FLIGHT
        self._effects.append(SubmitFrame(self._session(), image))

    # How it ends.

    def _complain(self, error: SessionError) -> None:
        self._send(error_text(error, fatal=False))

    def _fail(self, error: SessionError) -> None:
        code = CLOSE_INTERNAL_ERROR if isinstance(error, EngineFailure) else CLOSE_POLICY
        self._end(State.DEAD, code, last_words=error_text(error, fatal=True))

    def _end(self, state: State, code: int | None = None, *, last_words: str | None = None) -> None:
        # Released first: whoever is slow to take the last words does not hold a session meanwhile.
        if self.state is State.OPENING:
            self._effects.append(CancelOpen())
        elif self.state in (State.IDLE, State.IN_FLIGHT):
            self._effects.append(ReleaseSession(self._session(), abort=True))
        if last_words is not None:
            self._send(last_words)
        if code is not None:
            self._effects.append(CloseSocket(code))
        self.state = state
        self._clear()

    def _clear(self) -> None:
        self._queue.clear()
        self._queued_bytes = 0

    def _send(self, text: str) -> None:
        self._effects.append(SendText(text))

    def _session(self) -> str:
        assert self.session_id is not None
        return self.session_id

    def _expect(self, state: State) -> None:
        if self.state is not state:
            raise RuntimeError(f"this outcome is reported in {state.name}, not in {self.state.name}")


def _weight(message: str | bytes) -> int:
    """What a message that waits counts for: about its memory."""
    return max(len(message), MIN_QUEUED_BYTES)
