"""A server on a real socket, in the test's own event loop."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import socket
import struct
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
from PIL import Image
from websockets.asyncio.client import connect

from protocol.server.app import create_app
from protocol.server.chat_host import ChatHost
from protocol.server.engine_host import EngineHost
from protocol.server.metrics import Metrics
from protocol.server.readiness import Readiness
from protocol.server.server import Server, listen
from protocol.server.settings import ServerSettings
from protocol.server.websocket import WebSocketEndpoint

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from websockets.asyncio.client import ClientConnection

    from protocol.session import Engine

PROMPT = {"system_prompt": "Describe the frame."}


def picture(width: int = 64, height: int = 48, kind: str = "JPEG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.linear_gradient("L").resize((width, height)).convert("RGB").save(buffer, kind, **options)
    return buffer.getvalue()


@dataclass
class Running:
    """A running server and what it stands on."""

    port: int
    engine: Engine
    host: EngineHost
    chat: ChatHost
    readiness: Readiness
    endpoint: WebSocketEndpoint
    metrics: Metrics
    server: Server
    client: httpx.AsyncClient
    scheme: str = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def websocket(self, path: str = "/v1/streaming/ws", **options: Any) -> connect:
        options = {"compression": None, "max_size": None, "proxy": None, **options}
        return connect(f"{self.url.replace('http', 'ws')}{path}", **options)

    def count(self, name: str, **labels: str) -> float:
        """A counter's value."""
        found = self.metrics._registry.get_sample_value(name, labels)
        return found or 0.0

    async def create(self, **fields: Any) -> str:
        """Opens a session over REST."""
        answer = await self.client.post("/v1/streaming/sessions", json={**PROMPT, **fields})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["session_id"])

    async def send(self, session_id: str, image: bytes, kind: str = "image/jpeg") -> httpx.Response:
        """A raw frame over REST."""
        path = f"/v1/streaming/sessions/{session_id}/frame"
        return await self.client.post(path, content=image, headers={"Content-Type": kind})


@contextlib.asynccontextmanager
async def running(
    engine: Engine,
    *,
    host: dict[str, Any] | None = None,
    chat: dict[str, Any] | None = None,
    ready: bool = True,
    hosted: bool = True,
    **settings: Any,
) -> AsyncIterator[Running]:
    """A server over `engine`; `host` and `chat` go to its hosts, the rest to its settings."""
    told = ServerSettings(**settings)
    metrics = Metrics()
    readiness = Readiness(await engine.load() if ready else None)
    sessions = EngineHost(engine, observer=metrics, **(host or {}))
    metrics.watch_sessions(lambda: sessions.open_sessions)
    chats = ChatHost(engine, observer=metrics, **(chat or {}))
    metrics.watch_chats(lambda: chats.running)
    beneath = sessions if hosted else None
    endpoint = WebSocketEndpoint(beneath, readiness, metrics, told)
    app = create_app(beneath, readiness, told, metrics, endpoint, chats if hosted else None)
    server = Server(app)
    sockets = listen("127.0.0.1", 0)
    port = sockets[0].getsockname()[1]
    serving = asyncio.create_task(server.serve(sockets))
    client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False)
    try:
        async with client:
            yield Running(port, engine, sessions, chats, readiness, endpoint, metrics, server, client)
    finally:
        endpoint.shut_down()
        await endpoint.wait_closed(5)
        server.should_exit = True
        await serving
        await chats.shut_down()
        await sessions.shut_down()
        await engine.close()


async def say(socket: ClientConnection, **message: Any) -> dict[str, Any]:
    """Sends a JSON message and gives the answer."""
    await socket.send(json.dumps(message))
    return await hear(socket)


async def hear(socket: ClientConnection) -> dict[str, Any]:
    """The next message."""
    answer: dict[str, Any] = json.loads(await socket.recv())
    return answer


async def deaf_websocket(port: int) -> asyncio.StreamWriter:
    """A WebSocket after its handshake that takes next to nothing of what it is sent."""
    small = socket.socket()
    small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    small.setblocking(False)
    await asyncio.get_running_loop().sock_connect(small, ("127.0.0.1", port))
    reader, writer = await asyncio.open_connection(sock=small, limit=4096)
    writer.write(
        b"GET /v1/streaming/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    assert b"101" in await reader.readuntil(b"\r\n\r\n")
    return writer


def masked_text(text: str) -> bytes:
    """One text message as a client frames it, masked with zeros."""
    data = text.encode()
    assert len(data) < 126
    return struct.pack("!BBI", 0x81, 0x80 | len(data), 0) + data


def error(answer: httpx.Response, code: int) -> str:
    """The message of a REST error, which must have `code` and the shape of its path."""
    assert answer.status_code == code, answer.text
    body = answer.json()
    assert set(body) == {"error"}
    openai = answer.request.url.path.startswith(("/v1/chat/", "/v1/models"))
    assert set(body["error"]) == ({"message", "type", "param", "code"} if openai else {"message", "code"})
    assert body["error"]["code"] == code
    return str(body["error"]["message"])


@contextlib.contextmanager
def running_in_thread(engine: Engine, **options: Any) -> Iterator[tuple[Running, asyncio.AbstractEventLoop]]:
    """The same for tests that are not asynchronous, in an event loop in a thread of its own."""
    ready: Future[tuple[Running, asyncio.AbstractEventLoop]] = Future()
    done = asyncio.Event()

    async def serve() -> None:
        try:
            async with running(engine, **options) as server:
                ready.set_result((server, asyncio.get_running_loop()))
                await done.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
            raise

    with ThreadPoolExecutor(1) as thread:
        serving = thread.submit(asyncio.run, serve())
        server, loop = ready.result(timeout=30)
        try:
            yield server, loop
        finally:
            loop.call_soon_threadsafe(done.set)
            serving.result(timeout=30)
