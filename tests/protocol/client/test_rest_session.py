"""A session over REST, with servers that keep to the protocol and servers that do not."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from protocol.client.connection import Connection
from protocol.client.rest_session import RestSession
from protocol.errors import Conflict, EngineError, InvalidRequest, NotFound, SessionLost, Unavailable
from protocol.messages import SessionConfig
from tests.protocol.client.pictures import frame
from tests.protocol.client.servers import CREATED, PAGE, connection_to, error, http_server, reply

CONFIG = SessionConfig(system_prompt="Describe.", model="m", fps=2)


class Sessions:
    """A REST server: what it is asked, in order, and what it answers."""

    def __init__(self, *, created: Response | None = None, answers: list[Response] | None = None) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.created = created or JSONResponse(CREATED, 201)
        self.answers = answers
        self.deleted: Response = JSONResponse({"session_id": "sess-1", "frames": 0, "closed": True})
        self.hold = asyncio.Event()
        self.hold.set()
        self.arrived = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        routes = [
            Route("/v1/streaming/sessions", self._create, methods=["POST"]),
            Route("/v1/streaming/sessions/{id:path}/frame", self._frame, methods=["POST"]),
            Route("/v1/streaming/sessions/{id:path}", self._delete, methods=["DELETE"]),
        ]
        await Starlette(routes=routes)(scope, receive, send)

    @property
    def methods(self) -> list[str]:
        return [f"{method} {path.rpartition('/')[2]}" for method, path, _ in self.asked]

    async def _create(self, request: Request) -> Response:
        self.asked.append((request.method, request.url.path, await request.json()))
        self.arrived.set()
        await self.hold.wait()
        return self.created

    async def _frame(self, request: Request) -> Response:
        assert request.headers["content-type"] == "application/json"
        self.asked.append((request.method, request.url.path, await request.json()))
        self.arrived.set()
        await self.hold.wait()
        if self.answers is not None:
            return self.answers.pop(0)
        return JSONResponse(reply(len(self.asked) - 2))

    async def _delete(self, request: Request) -> Response:
        self.asked.append((request.method, request.url.path, None))
        return self.deleted


Opener = Callable[..., Awaitable[RestSession]]


@pytest.fixture
async def open_session() -> AsyncIterator[Opener]:
    """Opens a session at a URL; what it went through is closed with the test."""
    connections: list[Connection] = []

    async def opener(url: str, warn: Callable[[str], None] = lambda _: None, **options: Any) -> RestSession:
        connections.append(connection_to(url, transport="rest", **options))
        return await RestSession.open(connections[-1], CONFIG, warn)

    yield opener
    for connection in connections:
        await connection.close()


async def test_a_session_from_create_to_delete(open_session: Opener) -> None:
    server = Sessions()
    async with http_server(server) as url:
        session = await open_session(url, frame_encoding="png")
        assert session.created.session_id == "sess-1"
        assert [(await session.caption(frame())).frame_index for _ in range(2)] == [0, 1]
        assert session.shown_size(frame()) == (64, 48)
        closed = await session.close()
        assert (closed.frames, await session.close()) == (2, closed)
        with pytest.raises(NotFound):
            await session.caption(frame())
    assert server.methods == ["POST sessions", "POST frame", "POST frame", "DELETE sess-1"]
    assert server.asked[0][2] == {"system_prompt": "Describe.", "model": "m", "fps": 2.0}
    assert base64.b64decode(server.asked[1][2]["image_b64"], validate=True) == frame().encoded("png")


async def test_an_id_is_no_path(open_session: Opener) -> None:
    server = Sessions(created=JSONResponse({**CREATED, "session_id": "../a b"}, 201))
    async with http_server(server) as url:
        await (await open_session(url)).close()
    assert server.asked[-1][:2] == ("DELETE", "/v1/streaming/sessions/../a b")


async def test_one_frame_at_a_time(open_session: Opener) -> None:
    server = Sessions()
    async with http_server(server) as url, await open_session(url) as session:
        first = asyncio.create_task(session.caption(frame()))
        await asyncio.sleep(0)
        with pytest.raises(Conflict):
            await session.caption(frame())
        await first


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (error(400, "not a picture"), EngineError, r"did not answer a frame \(400\): not a picture"),
        (error(413, "too large"), EngineError, r"\(413\): too large"),
        (error(415, "send JSON"), EngineError, r"\(415\): send JSON"),
        (error(401, "no"), EngineError, r"\(401\): no; give a key"),
        (error(404, "no such session"), SessionLost, r"\(404\): no such session"),
        (error(409, "dead"), SessionLost, r"\(409\): dead"),
        (error(500, "it broke"), SessionLost, r"\(500\): it broke"),
        (error(503, "its owner is away"), SessionLost, r"\(503\): its owner is away"),
        (PlainTextResponse("<html>nginx", 502), SessionLost, r"\(502\): "),
        (PAGE, EngineError, "not JSON"),
        (JSONResponse({"text": "no index"}), EngineError, "makes no sense: frame_index"),
    ],
)
async def test_a_frame_that_fails_ends_the_session_which_is_deleted(
    answer: Response, kind: type[Exception], message: str, open_session: Opener
) -> None:
    server = Sessions(answers=[answer])
    warnings: list[str] = []
    async with http_server(server) as url:
        session = await open_session(url, warn=warnings.append)
        with pytest.raises(kind, match=message) as caught:
            await session.caption(frame())
        assert type(caught.value) is kind
        with pytest.raises(kind):
            await session.caption(frame())
        server.deleted = error(404, "no such session")
        await session.close()
    assert server.methods == ["POST sessions", "POST frame", "DELETE sess-1"]
    assert warnings == []


async def test_answers_out_of_step_are_noticed(open_session: Opener) -> None:
    server = Sessions(answers=[JSONResponse(reply(3)), JSONResponse(reply(3))])
    async with http_server(server) as url, await open_session(url) as session:
        await session.caption(frame())
        with pytest.raises(EngineError, match="answered frame 3 after frame 3"):
            await session.caption(frame())


async def test_a_frame_without_an_answer_in_time_is_not_sent_again(open_session: Opener) -> None:
    server = Sessions()
    async with http_server(server) as url:
        session = await open_session(url, frame_timeout_s=0.1)
        server.hold.clear()
        with pytest.raises(SessionLost, match=r"no answer within 0\.1 s"):
            await session.caption(frame())
        await session.close()
    assert server.methods == ["POST sessions", "POST frame", "DELETE sess-1"]


async def test_cancelled_with_a_frame_under_way_it_is_deleted(open_session: Opener) -> None:
    server = Sessions()
    async with http_server(server) as url:

        async def run() -> None:
            async with await open_session(url) as session:
                server.hold.clear()
                server.arrived.clear()
                await session.caption(frame())

        running = asyncio.create_task(run())
        while len(server.asked) < 2:
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert server.methods == ["POST sessions", "POST frame", "DELETE sess-1"]


async def test_cancelled_while_it_is_created_it_is_deleted(open_session: Opener) -> None:
    server = Sessions()
    server.hold.clear()
    async with http_server(server) as url:
        opening = asyncio.create_task(open_session(url))
        await server.arrived.wait()
        opening.cancel()
        await asyncio.sleep(0)
        server.hold.set()
        with pytest.raises(asyncio.CancelledError):
            await opening
    assert server.methods == ["POST sessions", "DELETE sess-1"]


async def test_cancelled_while_it_is_deleted_it_still_is(open_session: Opener) -> None:
    server = Sessions()
    async with http_server(server) as url:
        session = await open_session(url)
        closing = asyncio.create_task(session.close())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
    assert server.methods == ["POST sessions", "DELETE sess-1"]


async def test_a_session_that_may_be_left_is_told_of(open_session: Opener) -> None:
    server = Sessions()
    server.deleted = error(500, "it broke")
    warnings: list[str] = []
    async with http_server(server) as url:
        await (await open_session(url, warn=warnings.append)).close()
    assert warnings == [f"{url}: session sess-1 may not have been deleted: 500: it broke"]


async def test_a_session_is_deleted_however_the_server_says_yes(open_session: Opener) -> None:
    server = Sessions()
    server.deleted = Response(status_code=204)
    warnings: list[str] = []
    async with http_server(server) as url:
        await (await open_session(url, warn=warnings.append)).close()
    assert warnings == []


@pytest.mark.parametrize(
    ("created", "kind", "message"),
    [
        (error(400, "system_prompt: missing"), InvalidRequest, "system_prompt: missing"),
        (error(404, "no model x"), NotFound, "no model x"),
        (
            error(503, "all slots are taken"),
            Unavailable,
            "all slots are taken; wait, or close other sessions",
        ),
        (error(500, "oops"), EngineError, r"created no session \(500\): oops"),
        (error(401, "no"), EngineError, "refuses access"),
        (PlainTextResponse("hello", 200), EngineError, "not JSON"),
        (JSONResponse({"model": "m"}, 201), EngineError, "makes no sense: session_id"),
        (JSONResponse({**CREATED, "session_id": ""}, 201), EngineError, "a session without an id"),
        (JSONResponse({**CREATED, "session_id": 5}, 201), EngineError, "makes no sense: session_id"),
    ],
)
async def test_a_session_that_is_not_admitted(
    created: Response, kind: type[Exception], message: str, open_session: Opener
) -> None:
    async with http_server(Sessions(created=created)) as url:
        with pytest.raises(kind, match=message) as caught:
            await open_session(url)
        assert type(caught.value) is kind
