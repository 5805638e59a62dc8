"""The server's application: every route over one `SessionHost`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import WebSocketRoute

from protocol.errors import SessionError
from protocol.server.access import AccessLog
from protocol.server.answers import refusal
from protocol.server.chat import chat_routes
from protocol.server.metrics import Metrics
from protocol.server.paths import PlainPaths
from protocol.server.rest import NoSessions, answer_no_sessions, answer_session_error, rest_routes
from protocol.server.security import Gate
from protocol.server.service import service_routes
from protocol.server.websocket import WebSocketEndpoint

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from protocol.host import SessionHost
    from protocol.server.chat_host import ChatHost
    from protocol.server.readiness import Readiness
    from protocol.server.settings import ServerSettings

WEBSOCKET_PATH = "/v1/streaming/ws"


def create_app(
    host: SessionHost | None,
    readiness: Readiness,
    settings: ServerSettings,
    metrics: Metrics | None = None,
    sockets: WebSocketEndpoint | None = None,
    chat: ChatHost | None = None,
) -> FastAPI:
    """The application.

    Args:
        host: where the sessions live; without one the streaming routes answer 501.
        readiness: what the routes are told of the engine; whoever runs the server changes it.
        metrics: where to count; of the application's own if it is not given.
        sockets: the WebSocket connections, for whoever is to close them at the end.
        chat: what answers chat completions, whether there are streaming routes or not; without it 501.
    """
    metrics = metrics or Metrics()
    app = _Application(
        title="stream",
        version=settings.version,
        summary="Captions for video, frame by frame, in sessions that remember.",
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.include_router(service_routes(readiness, metrics, settings))
    app.include_router(chat_routes(chat, readiness, metrics))
    if settings.streaming:
        app.include_router(rest_routes(host, readiness, metrics, settings))
        endpoint = sockets or WebSocketEndpoint(host, readiness, metrics, settings)
        app.router.routes.append(WebSocketRoute(WEBSOCKET_PATH, endpoint))
    app.router.default = _not_found
    app.add_exception_handler(SessionError, answer_session_error)
    app.add_exception_handler(NoSessions, answer_no_sessions)
    app.add_exception_handler(HTTPException, _answer_http_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_middleware(Gate, settings=settings)
    if settings.allowed_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.allowed_origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],  # OpenAI's own client in a page sends a dozen about itself
        )
    app.add_middleware(PlainPaths)
    app.add_middleware(AccessLog, metrics=metrics)
    return app


class _Application(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """FastAPI's document without its 422, which is answered as 400."""
        document = super().openapi()
        for methods in document["paths"].values():
            for operation in methods.values():
                operation["responses"].pop("422", None)
        for name in ("HTTPValidationError", "ValidationError"):
            document["components"]["schemas"].pop(name, None)
        return document


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    await refusal(404, f"no such route: {scope['path']}", scope["path"])(scope, receive, send)


async def _answer_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return refusal(error.status_code, str(error.detail), request.scope["path"], error.headers)


async def _answer_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    said = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
    return refusal(400, said, request.scope["path"])
