"""Small servers for the client's tests: they answer as the protocol says, or as it does not."""

from __future__ import annotations

import json
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from websockets.asyncio.server import serve

from protocol.client.address import ServerAddress
from protocol.client.connection import Connection
from protocol.client.settings import ClientSettings
from protocol.messages import SERVER_RETENTION

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request
    from starlette.types import ASGIApp
    from websockets.asyncio.server import ServerConnection

RETENTION = SERVER_RETENTION.model_dump()
CREATED = {"session_id": "sess-1", "model": "m", "fps": 1.0, "retention": RETENTION}
PAGE = HTMLResponse("<!doctype html><title>Welcome</title>")


def reply(index: int, text: str = "A door.") -> dict[str, Any]:
    return {"frame_index": index, "text": text, "finish_reason": "stop", "token_count": 2}


def error(code: int, message: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "code": code}}, status_code=code)


@asynccontextmanager
async def http_server(app: ASGIApp, **options: Any) -> AsyncIterator[str]:
    """`app` on a free port; gives its base URL."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    config = uvicorn.Config(app, lifespan="off", ws="none", log_config=None, access_log=False, **options)
    config.load()
    # Its parts, without the loop that looks for signals every 0.1 s.
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[listening])
    scheme = "https" if config.is_ssl else "http"
    try:
        yield f"{scheme}://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.force_exit = True
        await server.shutdown(sockets=[listening])


@asynccontextmanager
async def websocket_server(
    handler: Callable[[ServerConnection], Awaitable[None]],
    *,
    tls: ssl.SSLContext | None = None,
    **options: Any,
) -> AsyncIterator[str]:
    """`handler` for each WebSocket, on a free port; gives the base URL. Ends whatever is still open."""
    server = await serve(handler, "127.0.0.1", 0, ssl=tls, max_size=None, close_timeout=0.1, **options)
    try:
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    finally:
        server.close()
        await server.wait_closed()


def connection_to(url: str, **options: Any) -> Connection:
    return Connection(ClientSettings.choose(ServerAddress.parse(url), **options))


async def create(socket: ServerConnection, **changes: Any) -> dict[str, Any]:
    """Takes `create` and admits the session; gives what was asked for."""
    asked: dict[str, Any] = json.loads(await socket.recv())
    assert asked["op"] == "create"
    created = {"op": "created", **CREATED, "frame_format": asked["frame_format"], **changes}
    await socket.send(json.dumps(created))
    return asked


async def say(socket: ServerConnection, **message: Any) -> None:
    await socket.send(json.dumps(message))


def nim(**changes: Any) -> Starlette:
    """What a NIM answers to the checks; `changes` are answers by route, with ``_`` for ``/``.

    A route that is None is not there.
    """
    answers: dict[str, Any] = {
        "v1_health_ready": {"object": "health.response", "message": "Service is ready", "status": "ready"},
        "v1_metadata": {"model_type": "reasoner", "selectedModelProfileId": "abc123", "version": "2.1.0"},
        "v1_streaming_config": {"model": "m", "retention": RETENTION, "sampling": {"max_tokens": 24}},
        **changes,
    }
    return _app(answers)


def dynamo(**changes: Any) -> Starlette:
    """What a Dynamo frontend answers to the checks; see `nim`."""
    worker = {"namespace": "ns", "component": "backend", "endpoint": "generate", "instance_id": 1}
    answers: dict[str, Any] = {
        "health": {"status": "healthy", "endpoints": ["dyn://x"], "instances": [worker]},
        "v1_models": {"object": "list", "data": [{"id": "alias"}]},
        "v1_streaming_config": {"model": "/models/m", "retention": RETENTION, "sampling": {}},
        **changes,
    }
    return _app(answers)


def _app(answers: dict[str, Any]) -> Starlette:
    def route(name: str, answer: Any) -> Route:
        async def endpoint(request: Request) -> Response:
            return answer if isinstance(answer, Response) else JSONResponse(answer)

        return Route("/" + name.replace("_", "/"), endpoint)

    return Starlette(routes=[route(name, answer) for name, answer in answers.items() if answer is not None])
