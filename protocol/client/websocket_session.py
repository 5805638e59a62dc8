"""A session over a WebSocket: one connection is one session."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from websockets.asyncio.client import connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidMessage,
    InvalidStatus,
    WebSocketException,
)

from protocol.client.answer import Answer
from protocol.client.failures import not_admitted, out_of_order, refused, unreachable
from protocol.client.frame_encoder import FrameEncoder
from protocol.errors import (
    EngineError,
    EngineFailure,
    FrameRefused,
    NotFound,
    SessionLost,
    Unavailable,
)
from protocol.frame_guard import FrameGuard
from protocol.limits import CLIENT_PING_INTERVAL_S, WEBSOCKET_IDLE_TIMEOUT_S
from protocol.messages import Closed, FrameReply
from protocol.redaction import mask_credentials
from protocol.server_message import ErrorMessage, SessionCreated, read_server_message
from protocol.session import Session
from protocol.wire import DELETE_TEXT, create_text, image_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from websockets.asyncio.client import ClientConnection

    from protocol.client.connection import Connection
    from protocol.frame import Frame
    from protocol.messages import Created, SessionConfig
    from protocol.server_message import ServerMessage

PATH = "/v1/streaming/ws"

_PONG_TIMEOUT_S = 60.0
"""Patience with a server too busy to answer a ping; a dead network is noticed after it, not after a frame's
half an hour."""
_CLOSING_S = 2.0
_MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_MAX_UNREAD = 16
"""Messages held unread: one is all there should be. Full, reading from the network waits."""


class _Connect(connect):
    """Redirects are refused, as over HTTP: pictures and keys go where they were meant to go."""

    def process_redirect(self, exc: Exception) -> Exception:
        return exc


class WebSocketSession(Session):
    """See `Session`; make one with `open`. A frame is sent once the one before is answered, and once only."""

    idle_timeout_s = WEBSOCKET_IDLE_TIMEOUT_S

    def __init__(
        self, socket: ClientConnection, created: Created, connection: Connection, warn: Callable[[str], None]
    ) -> None:
        self.created = created
        self._socket = socket
        self._connection = connection
        self._settings = settings = connection.settings
        self._encoder = FrameEncoder[bytes | str](
            settings.frame_encoding, bytes if settings.frame_format == "binary" else image_text
        )
        self._warn = warn
        self._answered = 0
        self._last_index = -1
        self._guard = FrameGuard()
        self._closed: Closed | None = None

    @classmethod
    async def open(
        cls, connection: Connection, config: SessionConfig, warn: Callable[[str], None]
    ) -> WebSocketSession:
        """Connects and creates the session. `warn` hears of a session that may not have been released.

        Raises:
            SessionError: the server does not admit it, or cannot be reached now.
            EngineError: the server is no such server, or refuses the key.
        """
        settings = connection.settings
        socket = await _connected(connection)
        try:
            try:
                async with asyncio.timeout(settings.control_timeout_s):
                    await socket.send(create_text(config, settings.frame_format))
                    message = read_server_message(await socket.recv())
            except TimeoutError as error:
                raise Unavailable(
                    f"{connection.address}: created no session within {settings.control_timeout_s:g} s"
                ) from error
            except ConnectionClosed as error:
                raise Unavailable(
                    f"{connection.address}: created no session: {_why_closed(error)}"
                ) from error
            except EngineFailure as error:
                raise EngineError(f"{connection.address}: {error.message}") from error
            if isinstance(message, ErrorMessage):
                raise not_admitted(connection.address, message.error)
            if not isinstance(message, SessionCreated):
                raise EngineError(f"{connection.address}: answered 'create' with {_named(message)}")
        except BaseException:
            await _hang_up(socket)
            raise
        return cls(socket, message, connection, warn)

    async def caption(self, frame: Frame) -> FrameReply:
        """See `Session.caption`. Cancelled, the session is of no further use.

        Raises:
            FrameRefused: the server said so, and that the session goes on.
            SessionLost: the connection broke, the answer took too long, or the server ended the session.
            EngineError: the server's answer makes no sense.
            Conflict: another frame is under way.
        """
        with self._guard.frame():
            try:
                return self._taken(await self._exchange(await self._encoder.message(frame)))
            except asyncio.CancelledError:
                self._guard.over = SessionLost("the session was left with a frame under way")
                raise
            except (SessionLost, EngineError) as error:
                self._guard.over = error
                raise

    def shown_size(self, frame: Frame) -> tuple[int, int]:  # noqa: ARG002
        """See `Session.shown_size`; a PNG may have been scaled down to fit."""
        return self._encoder.shown_size

    async def prepare(self, frame: Frame) -> None:
        """See `Session.prepare`: encodes the frame, and sends nothing."""
        await self._encoder.prepare(frame)

    async def close(self) -> Closed:
        """Deletes the session and waits for the server to say so; a session that is over just hangs up."""
        if self._closed is None:
            self._closed = Closed(session_id=self.created.session_id, frames=self._answered)
            try:
                if self._guard.over is None:
                    await self._delete()
            finally:
                self._guard.over = NotFound("the session is closed")
                await _hang_up(self._socket)
        return self._closed

    async def _exchange(self, message: str | bytes) -> ServerMessage:
        """Sends one frame and reads the one message that answers it."""
        address, limit_s = self._connection.address, self._settings.frame_timeout_s
        try:
            async with asyncio.timeout(limit_s):
                # The server may have ended the session before, with its reason unread: recv gives that first.
                with suppress(ConnectionClosed):
                    await self._socket.send(message)
                return read_server_message(await self._socket.recv())
        except TimeoutError as error:
            raise SessionLost(
                f"{address}: no answer to a frame within {limit_s:g} s", hint="--frame-timeout waits longer"
            ) from error
        except ConnectionClosed as error:
            raise SessionLost(f"{address}: {_why_closed(error)}", code=_close_code(error)) from error
        except EngineFailure as error:
            raise EngineError(f"{address}: {error.message}") from error

    def _taken(self, answer: ServerMessage) -> FrameReply:
        address = self._connection.address
        if isinstance(answer, ErrorMessage):
            if not answer.fatal:
                raise FrameRefused(answer.error.message, code=answer.error.code)
            raise SessionLost(
                f"{address}: the server ended the session ({answer.error.code}): {answer.error.message}",
                code=answer.error.code,
            )
        if not isinstance(answer, FrameReply):
            raise EngineError(f"{address}: answered a frame with {_named(answer)}")
        if answer.frame_index <= self._last_index:
            raise out_of_order(address, answer.frame_index, self._last_index)
        self._last_index = answer.frame_index
        self._answered += 1
        return answer

    async def _delete(self) -> None:
        try:
            async with asyncio.timeout(self._settings.control_timeout_s):
                await self._socket.send(DELETE_TEXT)
                while not isinstance(read_server_message(await self._socket.recv()), Closed):
                    pass
        except (TimeoutError, ConnectionClosed, EngineFailure) as error:
            if isinstance(error, ConnectionClosed) and error.rcvd is not None:
                return  # the server had ended it
            self._warn(
                f"{self._connection.address}: did not confirm the end of session {self.created.session_id}"
            )


async def _connected(connection: Connection) -> ClientConnection:
    address, limit_s = connection.address, connection.settings.control_timeout_s
    try:
        return await _Connect(
            address.websocket_url + PATH,
            additional_headers=connection.headers,
            ssl=connection.tls,
            proxy=None if address.loopback else True,  # True: as the environment says
            compression=None,  # pictures do not shrink, and deflating them takes longer than sending them
            max_size=_MAX_MESSAGE_BYTES,
            max_queue=_MAX_UNREAD,
            open_timeout=limit_s,
            ping_interval=CLIENT_PING_INTERVAL_S,
            ping_timeout=_PONG_TIMEOUT_S,
            close_timeout=_CLOSING_S,
        )
    except InvalidStatus as error:
        response = error.response
        answer = Answer(
            status=response.status_code,
            body=bytes(response.body or b""),
            content_type=response.headers.get("Content-Type", ""),
            location=response.headers.get("Location", ""),
        )
        if answer.status in (404, 405, 501):
            raise EngineError(
                f"{address}: has no WebSocket at {PATH} ({answer.status})", hint="try --transport rest"
            ) from error
        raise refused(address, PATH, answer) from error
    except InvalidMessage as error:
        raise Unavailable(f"{address}: hung up during the WebSocket handshake") from error
    except InvalidHandshake as error:
        reason = mask_credentials(str(error)).rstrip(".")
        raise EngineError(f"{address}: no WebSocket: {reason}", hint="try --transport rest") from error
    except (WebSocketException, OSError, ValueError) as error:
        raise unreachable(address, error, timeout_s=limit_s) from error


async def _hang_up(socket: ClientConnection) -> None:
    """Closes the connection, which releases the session too; takes no more than a moment."""
    try:
        await socket.close()
    except asyncio.CancelledError:
        socket.transport.abort()
        raise


def _close_code(error: ConnectionClosed) -> int | None:
    return error.rcvd.code if error.rcvd is not None else None


def _why_closed(error: ConnectionClosed) -> str:
    """How a connection ended, in words."""
    if error.rcvd is not None:
        said = " ".join(error.rcvd.reason.split())
        return f"the server closed the connection ({error.rcvd.code}{f': {said}' if said else ''})"
    if error.sent is not None and error.sent.reason == "keepalive ping timeout":
        return f"the connection broke: no sign of life for {_PONG_TIMEOUT_S:g} s"
    if error.sent is not None and error.sent.code != 1000:
        return f"the server sent what is no WebSocket message ({error.sent.code})"
    return "the connection broke"


def _named(message: ServerMessage) -> str:
    match message:
        case SessionCreated():
            return "another session"
        case Closed():
            return "the session's end"
        case FrameReply():
            return "a frame's reply"
        case _:
            return "an error"
