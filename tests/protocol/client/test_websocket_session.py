"""A session over a WebSocket, with servers that keep to the protocol and servers that do not."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from protocol.client import websocket_session
from protocol.client.websocket_session import WebSocketSession
from protocol.errors import (
    Conflict,
    EngineError,
    FrameRefused,
    InvalidRequest,
    NotFound,
    SessionLost,
    Unavailable,
)
from protocol.messages import Retention, SessionConfig
from tests.protocol.client.pictures import frame
from tests.protocol.client.servers import connection_to, create, reply, say, websocket_server

Handler = Callable[[ServerConnection], Awaitable[None]]
CONFIG = SessionConfig(system_prompt="Describe.", model="m")


@pytest.fixture(autouse=True)
def _hang_up_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers here leave in every way; none needs to be waited for."""
    monkeypatch.setattr(websocket_session, "_CLOSING_S", 0.1)


async def open_session(
    url: str, config: SessionConfig = CONFIG, *, warn: Callable[[str], None] = lambda _: None, **options: Any
) -> WebSocketSession:
    return await WebSocketSession.open(connection_to(url, **options), config, warn)


async def answer_frames(socket: ServerConnection) -> None:
    """Keeps to the protocol until the session is deleted."""
    answered = 0
    async for message in socket:
        if isinstance(message, str) and json.loads(message)["op"] == "delete":
            await say(socket, op="closed", session_id="sess-1", frames=answered, closed=True)
            return
        await say(socket, op="frame", **reply(answered))
        answered += 1


async def test_a_session_from_create_to_delete() -> None:
    heard: list[Any] = []

    async def handler(socket: ServerConnection) -> None:
        assert socket.request is not None
        assert socket.request.path == "/v1/streaming/ws"
        assert "Sec-WebSocket-Extensions" not in socket.request.headers  # no compression is offered
        heard.append(await create(socket))
        for index in range(2):
            heard.append(await socket.recv())
            await say(socket, op="frame", **reply(index, f"caption {index}"), new_field=1)
        heard.append(await socket.recv())
        await say(socket, op="closed", session_id="sess-1", frames=2, closed=True)

    async with websocket_server(handler) as url:
        session = await open_session(url)
        assert (session.created.session_id, session.created.model) == ("sess-1", "m")
        assert [(await session.caption(frame())).text for _ in range(2)] == ["caption 0", "caption 1"]
        assert session.shown_size(frame()) == (64, 48)
        closed = await session.close()
        assert closed.frames == 2
        assert await session.close() == closed
        with pytest.raises(NotFound):
            await session.caption(frame())
    created, first, second, deleted = heard
    assert created == {"op": "create", "frame_format": "binary", "system_prompt": "Describe.", "model": "m"}
    assert first == second == frame().encoded("jpeg")
    assert json.loads(deleted) == {"op": "delete"}


async def test_what_is_asked_for_is_sent_and_a_retention_names_its_frames() -> None:
    heard: list[dict[str, Any]] = []

    async def handler(socket: ServerConnection) -> None:
        heard.append(await create(socket))
        await answer_frames(socket)

    retention = Retention(max_video_segments=8, max_session_tokens=2048)
    config = SessionConfig(system_prompt="s", question="q", fps=2, model="m", retention=retention)
    async with websocket_server(handler) as url:
        await (await open_session(url, config)).close()
    assert heard[0]["retention"]["max_video_segments"] == 8
    assert heard[0]["retention"]["max_session_tokens"] == 2048
    assert (heard[0]["question"], heard[0]["fps"]) == ("q", 2)


async def test_base64_frames_are_json_without_a_prefix() -> None:
    heard: list[Any] = []

    async def handler(socket: ServerConnection) -> None:
        assert (await create(socket))["frame_format"] == "base64"
        heard.append(json.loads(await socket.recv()))
        await say(socket, op="frame", **reply(0))
        await answer_frames(socket)

    async with websocket_server(handler) as url:
        session = await open_session(url, frame_format="base64", frame_encoding="png")
        await session.caption(frame())
        await session.close()
    assert heard[0]["op"] == "frame"
    assert base64.b64decode(heard[0]["image_b64"], validate=True) == frame().encoded("png")


async def test_the_key_goes_with_the_handshake() -> None:
    async def handler(socket: ServerConnection) -> None:
        assert socket.request is not None
        await create(socket, model=socket.request.headers["Authorization"])
        await answer_frames(socket)

    async with websocket_server(handler) as url, await open_session(url, api_key="k") as session:
        assert session.created.model == "Bearer k"


async def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)

    async def handler(socket: ServerConnection) -> None:
        await create(socket)
        await answer_frames(socket)

    async with websocket_server(handler) as url, await open_session(url) as session:
        assert session.created.session_id == "sess-1"
    with pytest.raises(Unavailable, match="refused"):  # by the proxy
        await open_session("http://server.invalid")


async def test_one_frame_at_a_time() -> None:
    go_on = asyncio.Event()

    async def handler(socket: ServerConnection) -> None:
        await create(socket)
        await socket.recv()
        await go_on.wait()
        await say(socket, op="frame", **reply(0))
        await answer_frames(socket)

    async with websocket_server(handler) as url, await open_session(url) as session:
        first = asyncio.create_task(session.caption(frame()))
        await asyncio.sleep(0)
        with pytest.raises(Conflict):
            await session.caption(frame())
        go_on.set()
        assert (await first).frame_index == 0


async def test_an_error_that_is_not_fatal_costs_its_frame_only() -> None:
    async def handler(socket: ServerConnection) -> None:
        await create(socket)
        await socket.recv()
        await say(socket, op="error", message="frame too large", code=413, fatal=False)
        await answer_frames(socket)

    async with websocket_server(handler) as url, await open_session(url) as session:
        with pytest.raises(FrameRefused, match="frame too large") as caught:
            await session.caption(frame())
        assert (caught.value.code, caught.value.session_lost) == (413, False)
        assert (await session.caption(frame())).frame_index == 0


async def test_a_code_of_its_own_is_no_reason_to_end() -> None:
    async def handler(socket: ServerConnection) -> None:
        await create(socket)
        await socket.recv()
        await say(socket, op="error", message="try the next", code=409, fatal=False)
        await answer_frames(socket)

    async with websocket_server(handler) as url, await open_session(url) as session:
        with pytest.raises(FrameRefused):
            await session.caption(frame())
        await session.caption(frame())


async def fatal(socket: ServerConnection) -> None:
    await say(socket, op="error", message="the engine is gone", code=500, fatal=True)
    await socket.close(1011)


async def abrupt(socket: ServerConnection) -> None:
    socket.transport.abort()


async def going_away(socket: ServerConnection) -> None:
    await socket.close(1001, "restarting")


async def broken_frame(socket: ServerConnection) -> None:
    socket.transport.write(b"\xff\xff\xff\xff")
    await socket.wait_closed()


def saying(text: str | bytes) -> Handler:
    async def say_it(socket: ServerConnection) -> None:
        await socket.send(text)
        await socket.wait_closed()

    return say_it


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (fatal, SessionLost, r"the server ended the session \(500\): the engine is gone"),
        (abrupt, SessionLost, "the connection broke"),
        (going_away, SessionLost, r"the server closed the connection \(1001: restarting\)"),
        (broken_frame, SessionLost, r"what is no WebSocket message \(1002\)"),
        (saying("{"), EngineError, "the server sent what is not JSON"),
        (saying(b"\xff\xfe"), EngineError, "the server sent what is not JSON"),
        (saying("[]"), EngineError, "the server sent a list"),
        (saying('{"op":"update"}'), EngineError, "of an unknown kind: 'update'"),
        (saying('{"op":"frame","text":"no index"}'), EngineError, "makes no sense: frame_index"),
        (saying('{"op":"closed","session_id":"x","frames":1}'), EngineError, "with the session's end"),
        (saying('{"op":"created","session_id":"y","model":"m"}'), EngineError, "with another session"),
    ],
)
async def test_what_ends_a_session(answer: Handler, kind: type[Exception], message: str) -> None:
    async def handler(socket: ServerConnection) -> None:
        await create(socket)
        await socket.recv()
        await answer(socket)

    warnings: list[str] = []
    async with websocket_server(handler) as url:
        session = await open_session(url, warn=warnings.append)
        with pytest.raises(kind, match=message) as caught:
            await session.caption(frame())
        assert type(caught.value) is kind
        assert str(caught.value).startswith(f"{url}: ")
        with pytest.raises(kind, match=message):  # and no further frame is sent
            await session.caption(frame())
        assert (await session.close()).frames == 0
    assert warnings == []


async def test_a_reason_given_while_no_frame_was_under_way_is_found() -> None:
    left = asyncio.Event()

    async def handler(socket: ServerConnection) -> None:
        await create(socket)
        await say(socket, op="error", message="idle for too long", code=404, fatal=True)
        await socket.close(1008)
        left.set()

    async with websocket_server(handler) as url:
        session = await open_session(url)
        await left.wait()
        with pytest.raises(SessionLost, match="idle for too long") as caught:
            await session.caption(frame())
        assert caught.value.code == 404
        await session.close()


async def test_answers_out_of_step_are_noticed() -> None:
    async def handler(socket: ServerConnection) -> None:
        await create(socket)
        for _ in range(2):
            await socket.recv()
            await say(socket, op="frame", **reply(0))
        await socket.wait_closed()

    async with websocket_server(handler) as url:
        session = await open_session(url)
        await session.caption(frame())
        with pytest.raises(EngineError, match="answered frame 0 after frame 0"):
            await session.caption(frame())
        await session.close()


async def silent(socket: ServerConnection) -> None:
    await create(socket)
    await socket.wait_closed()


async def test_a_frame_without_an_answer_in_time() -> None:
    async with websocket_server(silent) as url:
        session = await open_session(url, frame_timeout_s=0.05)
        with pytest.raises(SessionLost, match=r"no answer to a frame within 0\.05 s; --frame-timeout"):
            await session.caption(frame())
        await session.close()


async def test_cancelled_with_a_frame_under_way_it_hangs_up() -> None:
    gone = asyncio.Event()
    heard: list[Any] = []

    async def handler(socket: ServerConnection) -> None:
        await create(socket)
        with suppress(ConnectionClosed):
            while True:
                heard.append(await socket.recv())
        gone.set()

    async with websocket_server(handler) as url:
        session = await open_session(url)
        running = asyncio.create_task(session.caption(frame()))
        while not heard:
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await session.close()
        await gone.wait()
    assert len(heard) == 1  # the frame; no message after it


async def test_a_server_that_does_not_confirm_the_end_is_told_of() -> None:
    warnings: list[str] = []
    async with websocket_server(silent) as url:
        session = await open_session(url, warn=warnings.append, control_timeout_s=0.2)
        await session.close()
    assert warnings == [f"{url}: did not confirm the end of session sess-1"]


def refusing(code: int, message: str = "because", *, fatal: bool = True) -> Handler:
    async def handler(socket: ServerConnection) -> None:
        await socket.recv()
        await say(socket, op="error", message=message, code=code, fatal=fatal)
        await socket.close(1008)

    return handler


async def hang_up(socket: ServerConnection) -> None:
    await socket.recv()
    await socket.close(1013, "later")


@pytest.mark.parametrize(
    ("handler", "kind", "message"),
    [
        (refusing(400, "max_session_tokens: too small"), InvalidRequest, "max_session_tokens: too small"),
        (refusing(404, "no model x"), NotFound, "no model x"),
        (refusing(503, "all slots are taken"), Unavailable, "all slots are taken; wait, or close other"),
        (refusing(500), EngineError, r"created no session \(500\): because"),
        (hang_up, Unavailable, r"created no session: the server closed the connection \(1013: later\)"),
        (saying("hello"), EngineError, "not JSON"),
        (saying('{"op":"frame","frame_index":0,"text":""}'), EngineError, "answered 'create' with a frame's"),
        (saying('{"op":"created","model":"m"}'), EngineError, "makes no sense: session_id"),
    ],
)
async def test_a_session_that_is_not_admitted(handler: Handler, kind: type[Exception], message: str) -> None:
    async with websocket_server(handler) as url:
        with pytest.raises(kind, match=message) as caught:
            await open_session(url)
        assert type(caught.value) is kind


async def test_no_session_in_time() -> None:
    async def handler(socket: ServerConnection) -> None:
        await socket.wait_closed()

    async with websocket_server(handler) as url:
        with pytest.raises(Unavailable, match=r"created no session within 0\.2 s"):
            await open_session(url, control_timeout_s=0.2)


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (404, EngineError, r"has no WebSocket at /v1/streaming/ws \(404\); try --transport rest"),
        (401, EngineError, r"refuses access \(401: .*\); give a key"),
        (503, Unavailable, r"not ready \(503"),
        (302, EngineError, "redirects to ws://127.0.0.1:1/"),
    ],
)
async def test_no_websocket_there(status: int, kind: type[Exception], message: str) -> None:
    def refuse(socket: ServerConnection, request: Request) -> Response:
        response = socket.respond(status, "no")  # type: ignore[arg-type]
        response.headers["Location"] = "ws://127.0.0.1:1/"
        return response

    async with websocket_server(silent, process_request=refuse) as url:
        with pytest.raises(kind, match=message):
            await open_session(url)


async def test_nothing_listens() -> None:
    with pytest.raises(Unavailable, match="nothing listens there"):
        await open_session("http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("said", "kind", "message"),
    [
        (b"", Unavailable, "hung up during the WebSocket handshake"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", EngineError, "no WebSocket: .*; try --transport rest"),
    ],
)
async def test_a_handshake_that_is_none(said: bytes, kind: type[Exception], message: str) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        with pytest.raises(kind, match=message):
            await open_session(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
