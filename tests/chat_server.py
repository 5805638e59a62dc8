"""A server of chat completions on a real socket that answers well, or badly in the way a test asks for."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Answer = Callable[["Exchange"], Awaitable[None]]


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    @property
    def pictures(self) -> list[str]:
        """Data URLs of the pictures in a request for a reply."""
        return [
            part["image_url"]["url"]
            for message in self.json["messages"]
            if isinstance(message["content"], list)
            for part in message["content"]
            if part["type"] == "image_url"
        ]


@dataclass
class Exchange:
    """One request, and the way back."""

    request: Request
    number: int
    writer: asyncio.StreamWriter
    opened: asyncio.Event

    async def head(self, status: int = 200, kind: str = "text/event-stream", **headers: str) -> None:
        lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {kind}", "Transfer-Encoding: chunked"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        await self.writer.drain()

    async def send(self, data: bytes) -> None:
        self.writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await self.writer.drain()

    async def event(self, data: object) -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        await self.send(f"data: {text}\n\n".encode())

    async def end(self) -> None:
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()


def piece(text: str | None = None, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    said = {**delta, **({} if text is None else {"content": text})}
    return {"choices": [{"index": 0, "delta": said, "finish_reason": finish}]}


def say(
    *texts: str,
    finish: str | None = "stop",
    usage: dict[str, Any] | None = None,
    counts: bool = True,
    done: bool = True,
) -> Answer:
    """A good answer, in pieces; without `texts` it tells how many pictures it was shown."""

    async def answer(exchange: Exchange) -> None:
        pictures = len(exchange.request.pictures)
        pieces = texts or (f"reply {exchange.number}", f" to {pictures} pictures")
        await exchange.head()
        await exchange.send(b": comments are passed over\n\n")
        await exchange.event(piece("", role="assistant"))
        for text in pieces:
            await exchange.event(piece(text))
        if finish:
            await exchange.event(piece(finish=finish))
        if counts:
            counted = {"prompt_tokens": 20 + 100 * pictures, "completion_tokens": len(pieces) + 1}
            await exchange.event({"choices": [], "usage": usage or counted})
        if done:
            await exchange.event("[DONE]")
        await exchange.end()

    return answer


def status(code: int, body: object, kind: str = "application/json", **headers: str) -> Answer:
    """A plain answer with that body."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head(code, kind, **headers)
        data = body if isinstance(body, str) else json.dumps(body)
        if data:
            await exchange.send(data.encode())
        await exchange.end()

    return answer


def refuse(code: int, message: str, **headers: str) -> Answer:
    """An error as OpenAI's API has them."""
    return status(code, {"error": {"message": message, "type": "some_error", "code": code}}, **headers)


def events(*data: object, kind: str = "text/event-stream") -> Answer:
    """A stream of just these events."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head(kind=kind)
        for each in data:
            await exchange.event(each)
        await exchange.end()

    return answer


def raw(data: bytes) -> Answer:
    """A stream of just these bytes, in three pieces."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        third = len(data) // 3 or 1
        for start in range(0, len(data), third):
            await exchange.send(data[start : start + third])
        await exchange.end()

    return answer


def cut(*texts: str, head: bool = True) -> Answer:
    """The connection is gone after these pieces; without `head` before anything was answered."""

    async def answer(exchange: Exchange) -> None:
        if head:
            await exchange.head()
        for text in texts:
            await exchange.event(piece(text))
        exchange.writer.transport.abort() if texts else exchange.writer.close()

    return answer


def silence(*texts: str) -> Answer:
    """Nothing more after these pieces."""

    async def answer(exchange: Exchange) -> None:
        if texts:
            await exchange.head()
        for text in texts:
            await exchange.event(piece(text))
        await asyncio.Event().wait()

    return answer


def held(first: str, rest: str) -> Answer:
    """The rest of the reply comes when the test opens the server's gate."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.event(piece(first))
        await exchange.opened.wait()
        await exchange.event(piece(rest, finish="stop"))
        await exchange.event("[DONE]")
        await exchange.end()

    return answer


def models(*names: str, **fields: Any) -> Answer:
    return status(
        200, {"object": "list", "data": [{"id": name, "object": "model", **fields} for name in names]}
    )


NOT_THERE = status(404, "<html><title>404 Not Found</title></html>", "text/html")


@dataclass
class ChatServer:
    """What a running server was told and was asked.

    Attributes:
        answers: to requests for replies, in turn; the last for ever.
        listed: the answer to ``/v1/models``.
        root: where the routes are.
        requests: all that were received.
    """

    answers: list[Answer] = field(default_factory=lambda: [say()])
    listed: Answer = field(default_factory=lambda: models("m"))
    root: str = "/v1"
    requests: list[Request] = field(default_factory=list)
    url: str = ""
    _asked: int = 0
    _loop: asyncio.AbstractEventLoop | None = None
    _opened: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def chats(self) -> list[Request]:
        return [request for request in self.requests if request.path.endswith("/chat/completions")]

    def open_gate(self) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._opened.set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                request = await _read(reader)
                self.requests.append(request)
                await self._answer(request, writer)
                if writer.is_closing():
                    return
        writer.close()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        answer = NOT_THERE
        number = self._asked
        if request.path == f"{self.root}/models" and request.method == "GET":
            answer = self.listed
        elif request.path == f"{self.root}/chat/completions" and request.method == "POST":
            answer = self.answers[min(number, len(self.answers) - 1)]
            self._asked += 1
        await answer(Exchange(request, number, writer, self._opened))


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, path, _ = head[0].split(" ")
    pairs = (line.partition(": ") for line in head[1:] if line)
    headers = {name.lower(): value for name, _, value in pairs}
    return Request(method, path, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


@contextmanager
def chat_server(answers: Iterable[Answer] | None = None, **fields: Any) -> Iterator[ChatServer]:
    """Such a server, in a thread of its own."""
    server = ChatServer(**({} if answers is None else {"answers": list(answers)}), **fields)
    ready = threading.Event()

    async def run() -> None:
        loop = server._loop = asyncio.get_running_loop()
        server._opened = asyncio.Event()
        stopping = asyncio.Event()
        fields["stop"] = lambda: loop.call_soon_threadsafe(stopping.set)
        tasks: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            try:
                await server.serve(reader, writer)
            except asyncio.CancelledError:
                writer.transport.abort()
            finally:
                tasks.discard(task)

        listening = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 26)
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        ready.set()
        await stopping.wait()
        listening.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        fields["stop"]()
        thread.join()
