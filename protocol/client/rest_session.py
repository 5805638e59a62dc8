"""A session over REST: it lives on the server until it is deleted, or has been idle for too long."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from protocol.client.failures import KEY_HINT, not_admitted, out_of_order, refused
from protocol.client.frame_encoder import FrameEncoder
from protocol.errors import (
    EngineError,
    EngineFailure,
    NotFound,
    SessionError,
    SessionLost,
    Unavailable,
)
from protocol.frame_guard import FrameGuard
from protocol.limits import REST_IDLE_TIMEOUT_S
from protocol.messages import Closed
from protocol.server_message import read_created, read_error, read_reply
from protocol.session import Session
from protocol.wire import config_body, image_body

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from protocol.client.answer import Answer
    from protocol.client.connection import Connection
    from protocol.frame import Frame
    from protocol.messages import Created, FrameReply, SessionConfig

    T = TypeVar("T")

PATH = "/v1/streaming/sessions"

_LEAVING_S = 5.0
"""Told to stop, so long is waited for a session that is being created or deleted, so that none is left."""
_SESSION_IS_LOST = (404, 409, 500, 502, 503, 504)


class RestSession(Session):
    """See `Session`; make one with `open`. It ends with the first frame that fails; none is sent twice."""

    idle_timeout_s = REST_IDLE_TIMEOUT_S

    def __init__(self, created: Created, connection: Connection, warn: Callable[[str], None]) -> None:
        self.created = created
        self._connection = connection
        self._settings = connection.settings
        self._encoder = FrameEncoder[bytes](
            self._settings.frame_encoding, lambda image: image_body(image).encode("ascii")
        )
        self._warn = warn
        self._path = f"{PATH}/{quote(created.session_id, safe='')}"
        self._answered = 0
        self._last_index = -1
        self._guard = FrameGuard()
        self._closed: Closed | None = None

    @classmethod
    async def open(
        cls, connection: Connection, config: SessionConfig, warn: Callable[[str], None]
    ) -> RestSession:
        """Creates the session; cancelled meanwhile, deletes it again.

        Args:
            warn: hears of a session that may not have been released.

        Raises:
            SessionError: the server does not admit it, or cannot be reached now.
            EngineError: the server is no such server, or refuses the key.
        """
        creating = asyncio.create_task(cls._create(connection, config))
        try:
            created = await asyncio.shield(creating)
        except asyncio.CancelledError:
            await asyncio.wait({creating}, timeout=_LEAVING_S)
            if creating.done() and not creating.cancelled() and creating.exception() is None:
                await cls(creating.result(), connection, warn).close()
            creating.cancel()
            raise
        return cls(created, connection, warn)

    @staticmethod
    async def _create(connection: Connection, config: SessionConfig) -> Created:
        body = json.dumps(config_body(config), ensure_ascii=False).encode()
        answer = await connection.request("POST", PATH, body=body)
        if not answer.ok:
            if answer.status in (400, 404, 409, 413, 415, 500, 503):
                raise not_admitted(connection.address, read_error(answer.status, answer.body))
            raise refused(connection.address, PATH, answer)
        try:
            created = read_created(answer.body)
        except EngineFailure as error:
            raise EngineError(f"{connection.address}: {error.message}") from error
        if not created.session_id:
            raise EngineError(f"{connection.address}: created a session without an id")
        return created

    async def caption(self, frame: Frame) -> FrameReply:
        """See `Session.caption`. Cancelled, the server may go on with the frame until the session is deleted.

        Raises:
            SessionLost: the server has lost or ended the session, or does not answer.
            EngineError: it did not answer this frame, or with what makes no sense.
            Conflict: another frame is under way.
        """
        with self._guard.frame():
            try:
                return self._taken(await self._post(await self._encoder.message(frame)))
            except asyncio.CancelledError:
                self._guard.over = SessionLost("the session was left with a frame under way")
                raise
            except EngineError as error:
                self._guard.over = error
                raise

    def shown_size(self, frame: Frame) -> tuple[int, int]:  # noqa: ARG002
        """See `Session.shown_size`; a PNG may have been scaled down to fit."""
        return self._encoder.shown_size

    async def prepare(self, frame: Frame) -> None:
        """See `Session.prepare`: encodes the frame, and sends nothing."""
        await self._encoder.prepare(frame)

    async def close(self) -> Closed:
        """Deletes the session, also when cancelled meanwhile."""
        if self._closed is None:
            self._closed = Closed(session_id=self.created.session_id, frames=self._answered)
            failed, self._guard.over = self._guard.over, NotFound("the session is closed")
            await _to_its_end(self._delete(quiet=failed is not None))
        return self._closed

    async def _post(self, body: bytes) -> Answer:
        try:
            return await self._connection.request(
                "POST", f"{self._path}/frame", body=body, timeout_s=self._settings.frame_timeout_s
            )
        except Unavailable as error:
            raise SessionLost(error.message, hint=error.hint) from error

    def _taken(self, answer: Answer) -> FrameReply:
        address = self._connection.address
        if not answer.ok:
            said = f"{address}: did not answer a frame ({answer.status}): {answer.reason}"
            if answer.status in _SESSION_IS_LOST:
                raise SessionLost(said, code=answer.status)
            raise EngineError(said, hint=KEY_HINT if answer.status in (401, 403) else "")
        try:
            reply = read_reply(answer.body)
        except EngineFailure as error:
            raise EngineError(f"{address}: {error.message}") from error
        if reply.frame_index <= self._last_index:
            raise out_of_order(address, reply.frame_index, self._last_index)
        self._last_index = reply.frame_index
        self._answered += 1
        return reply

    async def _delete(self, *, quiet: bool) -> None:
        """`quiet`: the session is probably gone, so that a failure says nothing new."""
        address = self._connection.address
        try:
            answer = await self._connection.request("DELETE", self._path)
            if answer.ok or answer.status == HTTPStatus.NOT_FOUND:  # it is not there any more
                return
            why = f"{answer.status}: {answer.reason}"
        except (SessionError, EngineError) as error:
            why = error.message.removeprefix(f"{address}: ")
        if not quiet:
            self._warn(f"{address}: session {self.created.session_id} may not have been deleted: {why}")


async def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which goes on for `_LEAVING_S` when the caller is cancelled."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=_LEAVING_S)
        task.cancel()
        raise
