"""Sessions over WebSocket: the I/O around `SessionProtocol`."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from typing import TYPE_CHECKING, Any, Final, assert_never

from starlette.websockets import WebSocket, WebSocketDisconnect

from protocol.effects import CancelOpen, CloseSocket, OpenSession, ReleaseSession, SendText, SubmitFrame
from protocol.errors import SessionError
from protocol.host import Refused
from protocol.messages import Created, FrameReply
from protocol.server.answers import refusal
from protocol.session_protocol import SessionProtocol, State

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from starlette.types import Receive, Scope, Send

    from protocol.host import OpenOutcome, SessionHost
    from protocol.messages import SessionConfig
    from protocol.server.metrics import Metrics
    from protocol.server.readiness import Readiness
    from protocol.server.settings import ServerSettings

logger = logging.getLogger(__name__)

MAX_UNSENT: Final = 16
"""Messages that may wait for a slow client before what it sends is no longer read."""
TRANSPORT: Final = "websocket"


class WebSocketEndpoint:
    """ASGI application that gives each connection a session of its own.

    Attributes:
        connections: those open now.
    """

    def __init__(
        self, host: SessionHost | None, readiness: Readiness, metrics: Metrics, settings: ServerSettings
    ) -> None:
        """Without a `host` every connection is refused with 501."""
        self.connections: set[Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._host = host
        self._readiness = readiness
        self._metrics = metrics
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection to its end."""
        if self._host is None:
            await refusal(501, "this server offers no streaming sessions")(scope, receive, send)
            return
        if self._readiness.draining:
            await refusal(503, "the server is shutting down")(scope, receive, send)
            return
        socket = WebSocket(scope, receive, send)
        connection = Connection(socket, self._host, self._readiness, self._metrics, self._settings)
        task = asyncio.current_task()
        assert task is not None
        self.connections.add(connection)
        self._tasks.add(task)
        try:
            await connection.serve()
        finally:
            self.connections.discard(connection)
            self._tasks.discard(task)

    def shut_down(self) -> None:
        """Closes every connection (1001), after the reply to its frame in flight."""
        for connection in self.connections:
            connection.shut_down()

    async def wait_closed(self, timeout_s: float) -> None:
        """Waits until all of them are closed, for `timeout_s` at most."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_s)


class Connection:
    """One WebSocket connection and its session.

    A task reads what the client sends, whatever else is going on: so its pings are answered while a frame is
    inferred, and it is noticed when it leaves. What it sends ahead waits in the protocol, which bounds that
    in bytes. What the host is to do is started at once; what is to be said waits here, in order, and while
    more than `MAX_UNSENT` messages do, reading stops.
    """

    def __init__(
        self,
        socket: WebSocket,
        host: SessionHost,
        readiness: Readiness,
        metrics: Metrics,
        settings: ServerSettings,
    ) -> None:
        """Does nothing before `serve`."""
        self._socket = socket
        self._host = host
        self._readiness = readiness
        self._metrics = metrics
        self._idle_timeout_s = settings.idle_timeout_s
        self._protocol = SessionProtocol()
        self._todo: deque[SendText | CloseSocket | ReleaseSession] = deque()
        self._performing = False
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._opening: asyncio.Task[None] | None = None
        self._gave_up = False  # on sending
        self._active_at = 0.0

    async def serve(self) -> None:
        """Serves the connection to its end; when this returns, its session has been released."""
        try:
            await self._socket.accept()
        except OSError:  # it left already
            return
        self._touch()
        self._room.set()
        self._start(self._read)
        try:
            while True:
                await self._perform_all()
                if self._protocol.over and not self._performing:
                    return
                await self._wait()
        finally:
            self._protocol.disconnected()  # if this was cancelled, or is a fault of ours
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._react()
            await self._release_what_is_left()

    def shut_down(self) -> None:
        """Closes the connection, after the reply to its frame in flight."""
        self._protocol.shut_down()
        self._react()

    async def _wait(self) -> None:
        """Waits until there is something to do, or the client's time is up.

        Frames come and go meanwhile without waking it: whether one did is looked at when the time is over.
        """
        self._wake.clear()
        try:
            async with asyncio.timeout_at(self._active_at + self._idle_timeout_s):
                await self._wake.wait()
        except TimeoutError:
            if self._protocol.state not in (State.AWAITING_CREATE, State.IDLE):
                self._touch()  # it is the server's turn
            elif self._active_at + self._idle_timeout_s <= asyncio.get_running_loop().time():
                self._protocol.expired(timeout_s=self._idle_timeout_s)
                self._react()

    async def _read(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                self._protocol.disconnected()
                self._react()
                return
            text = message.get("text")
            if text is not None:
                self._metrics.received(TRANSPORT, len(text))
                self._protocol.receive_text(text)
            else:
                data = message["bytes"]
                self._metrics.received(TRANSPORT, len(data))
                self._protocol.receive_binary(data)
            self._react()
            await self._room.wait()

    async def _perform_all(self) -> None:
        """Does what waits, in order, unless another task is at it."""
        if self._performing:
            return
        self._performing = True
        try:
            while self._todo:
                await self._guarded(self._perform, self._todo.popleft())
        finally:
            self._performing = False
            if self._protocol.over:
                self._wake.set()

    async def _perform(self, effect: SendText | CloseSocket | ReleaseSession) -> None:
        match effect:
            case SendText(text):
                self._count(text)
                await self._send({"type": "websocket.send", "text": text})
            case ReleaseSession(session_id, abort):
                self._protocol.released(await self._host.close(session_id, abort=abort))
            case CloseSocket(code):
                await self._send({"type": "websocket.close", "code": code, "reason": ""})
            case _:
                assert_never(effect)

    async def _open(self, config: SessionConfig) -> None:
        outcome: OpenOutcome
        try:
            admitted = self._readiness.admit(config)
        except SessionError as error:
            outcome = Refused(error)
        else:
            outcome = await self._host.open(admitted, idle_timeout_s=self._idle_timeout_s)
        if isinstance(outcome, Created):
            self._touch()
        self._protocol.opened(outcome)

    async def _frame(self, session_id: str, image: bytes | str) -> None:
        outcome = await self._host.frame(session_id, image)
        if isinstance(outcome, FrameReply):
            self._touch()
        self._protocol.answered(outcome)
        self._take_over()
        await self._perform_all()  # here rather than by waking another task for it

    async def _send(self, message: dict[str, Any]) -> None:
        if self._gave_up:
            return
        try:
            await self._socket.send(message)
        except (WebSocketDisconnect, RuntimeError):  # it left, or was cut off
            self._gave_up = True
            self._protocol.disconnected()

    def _count(self, text: str) -> None:
        if text.startswith('{"op":"error"'):
            self._metrics.error(json.loads(text)["code"])

    async def _release_what_is_left(self) -> None:
        """Releases a session that nobody waits for any more."""
        while self._todo:
            effect = self._todo.popleft()
            if isinstance(effect, ReleaseSession):
                await self._host.close(effect.session_id, abort=effect.abort)

    def _react(self) -> None:
        """Takes over what the protocol wants done, and wakes who does it."""
        self._take_over()
        if self._todo or self._protocol.over:
            self._wake.set()

    def _take_over(self) -> None:
        for effect in self._protocol.effects():
            match effect:
                case SubmitFrame(session_id, image):
                    self._start(self._frame, session_id, image)
                case OpenSession(config):
                    self._opening = self._start(self._open, config)
                case CancelOpen():
                    if self._opening is not None:
                        self._opening.cancel()
                case _:
                    self._todo.append(effect)
        if self._protocol.wants_messages and len(self._todo) <= MAX_UNSENT:
            self._room.set()
        else:
            self._room.clear()

    def _start(self, work: Callable[..., Coroutine[Any, Any, None]], *given: Any) -> asyncio.Task[None]:
        task = asyncio.create_task(self._guarded(work, *given))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _guarded(self, work: Callable[..., Coroutine[Any, Any, None]], *given: Any) -> None:
        """Does `work` and what follows. What it raises is a fault of ours: told in the protocol's words."""
        try:
            await work(*given)
        except Exception as error:
            traceback = error if logger.isEnabledFor(logging.DEBUG) else None
            logger.error("WebSocket: unexpected %s: %s", type(error).__name__, error, exc_info=traceback)
            self._protocol.broke()
        self._react()

    def _touch(self) -> None:
        self._active_at = asyncio.get_running_loop().time()
