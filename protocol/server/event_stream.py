"""A completion's answer as server-sent events."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse

from protocol.errors import SessionError
from protocol.server.answers import as_openai
from protocol.server.chat_answer import event
from protocol.server.keepalive import SEND_TIMEOUT_S
from protocol.server.leaving import unless_gone
from protocol.wire import error_body

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from starlette.types import Receive, Scope, Send

    from protocol.server.chat_flight import ChatFlight

MEDIA_TYPE = "text/event-stream"


class EventStream(StreamingResponse):
    """Sends events as they come, and an error among them as the last.

    A client that leaves, or takes nothing for a minute, ends the flight.
    """

    def __init__(
        self, flight: ChatFlight, events: AsyncGenerator[str, None], on_error: Callable[[int], None]
    ) -> None:
        """`on_error` is told the code of an error that is sent: the status was 200 by then."""
        # nginx holds a stream back unless it is told not to.
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        super().__init__(events, media_type=MEDIA_TYPE, headers=headers)
        self._flight = flight
        self._events = events
        self._on_error = on_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Sends all of it, in the way of ASGI."""
        async with self._flight:
            await unless_gone(receive, self._send(send))

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async for each in self._events:
                await _send_part(send, each)
        except SessionError as error:
            self._on_error(error.code)
            await _send_part(send, event(as_openai(error_body(error))))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send_part(send: Send, text: str) -> None:
    try:
        async with asyncio.timeout(SEND_TIMEOUT_S):
            await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
    except TimeoutError:
        raise ClientDisconnect from None
