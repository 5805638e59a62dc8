"""What is written down about each request."""

from __future__ import annotations

import logging
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.requests import ClientDisconnect

from protocol.server.answers import refusal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from protocol.server.metrics import Metrics

logger = logging.getLogger(__name__)


class AccessLog:
    """ASGI middleware, the outermost: a line a request, errors counted, nothing let out but an answer.

    A line has neither query nor headers, where keys may stand, and nothing that a terminal would act on.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        """`app` answers; `metrics` counts the errors it answers with."""
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands the request on, and answers 500 if that raises."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        status = 0

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                status = message["status"]
            elif message["type"] == "websocket.accept":
                status = 101
                _note(scope, "open", started)
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except ClientDisconnect:
            _note(scope, "client left", started)
            return
        except Exception as error:
            logger.error(
                "%s: unexpected %s: %s", _line(scope), type(error).__name__, error, exc_info=_traceback(error)
            )
            if not status:
                answer = refusal(500, "internal error; the server's log says more", scope["path"])
                await answer(scope, receive, send_noted)
        if status >= 400:
            self._metrics.error(status)
        _note(scope, "closed" if status == 101 else str(status), started)


def _note(scope: Scope, outcome: str, started: float) -> None:
    logger.info("%s %s %.1f ms", _line(scope), outcome, (perf_counter() - started) * 1000)


def _line(scope: Scope) -> str:
    client = scope.get("client")
    who = f"{client[0]}:{client[1]}" if client else "-"
    return f'{who} "{scope.get("method", "WEBSOCKET")} {quote(scope["path"])}"'


def _traceback(error: Exception) -> Exception | None:
    """The error where its traceback is asked for, that is with ``--debug``."""
    return error if logger.isEnabledFor(logging.DEBUG) else None
