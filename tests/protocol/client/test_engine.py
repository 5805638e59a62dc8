"""The engine whose sessions are a server's."""

from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from protocol.client.address import ServerAddress
from protocol.client.engine import RemoteEngine
from protocol.client.reconnecting_session import ReconnectingSession
from protocol.client.rest_session import RestSession
from protocol.client.settings import ClientSettings
from protocol.errors import EngineError, NotFound
from protocol.messages import SessionConfig
from protocol.session import ServedModel
from tests.protocol.client.servers import CREATED, dynamo, http_server, nim

CONFIG = SessionConfig(system_prompt="Describe.")


def engine_at(url: str, **options: Any) -> RemoteEngine:
    return RemoteEngine(ClientSettings.choose(ServerAddress.parse(url), **options))


def with_sessions(app: Starlette, asked: list[dict[str, Any]]) -> Starlette:
    """`app`, which admits sessions over REST too."""

    async def create(request: Request) -> Response:
        asked.append(await request.json())
        return JSONResponse(CREATED, 201)

    async def delete(request: Request) -> Response:
        return JSONResponse({"session_id": "sess-1", "frames": 0, "closed": True})

    app.router.routes += [
        Route("/v1/streaming/sessions", create, methods=["POST"]),
        Route("/v1/streaming/sessions/{id}", delete, methods=["DELETE"]),
    ]
    return app


@pytest.mark.parametrize(
    ("app", "backend", "model"), [(nim(), "nim", "m"), (dynamo(), "dynamo", "/models/m")]
)
async def test_a_session_is_created_with_the_servers_own_name_for_its_model(
    app: Starlette, backend: str, model: str
) -> None:
    asked: list[dict[str, Any]] = []
    async with http_server(with_sessions(app, asked)) as url:
        engine = engine_at(url, backend=backend, transport="rest")
        assert engine.name == backend
        await engine.check(CONFIG)
        async with await engine.open(CONFIG) as session:
            assert isinstance(session, RestSession)
        assert await engine.load() == ServedModel(model)
        await engine.close()
    assert asked == [{"system_prompt": "Describe.", "model": model}]


async def test_another_model_is_refused_before_any_session() -> None:
    asked: list[dict[str, Any]] = []
    async with http_server(with_sessions(nim(), asked)) as url:
        engine = engine_at(url, transport="rest")
        other = CONFIG.model_copy(update={"model": "other"})
        for attempt in (engine.check, engine.open):
            with pytest.raises(NotFound, match=rf"^--model other: {url} serves m; leave --model out$"):
                await attempt(other)
        await engine.check(CONFIG.model_copy(update={"model": "m"}))
        await engine.close()
    assert asked == []


async def test_opening_makes_the_checks_too() -> None:
    async with http_server(nim(v1_streaming_config=None)) as url:
        engine = engine_at(url)
        with pytest.raises(EngineError, match="streaming is unavailable"):
            await engine.open(CONFIG)
        await engine.close()


async def test_sessions_reconnect_when_they_are_told_to() -> None:
    async with http_server(with_sessions(nim(), [])) as url:
        engine = engine_at(url, transport="rest", reconnect=True)
        async with await engine.open(CONFIG) as session:
            assert isinstance(session, ReconnectingSession)
        await engine.close()
