"""What servers are, and are not."""

from typing import Any

import pytest
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from protocol.client.checks import check_server, identify_server
from protocol.client.server_info import ServerInfo
from protocol.client.settings import Backend
from protocol.errors import EngineError, Unavailable
from tests.protocol.client.servers import PAGE, RETENTION, connection_to, dynamo, error, http_server, nim


async def check(app: ASGIApp, backend: Backend | None = "nim") -> ServerInfo:
    async with http_server(app) as url:
        connection = connection_to(url)
        try:
            return await (check_server(connection, backend) if backend else identify_server(connection))
        finally:
            await connection.close()


async def test_a_nim() -> None:
    info = await check(nim())
    assert (info.backend, info.model, info.profile, info.version) == ("nim", "m", "abc123", "2.1.0")
    assert (info.retention, info.sampling) == (RETENTION, {"max_tokens": 24})
    assert 0 < info.round_trip_s < 30


async def test_a_dynamo_frontend_is_asked_nothing_of_its_workers() -> None:
    info = await check(dynamo(), "dynamo")
    assert (info.backend, info.model, info.profile) == ("dynamo", "/models/m", None)


async def test_a_server_unknown_so_far() -> None:
    assert (await check(nim(), None)).backend == "nim"
    assert (await check(dynamo(), None)).backend == "dynamo"
    with pytest.raises(EngineError, match="no NIM: /v1/health/ready is not there"):
        await check(nim(v1_health_ready=None), None)


async def test_what_both_are_called_is_a_nim() -> None:
    both = nim(health={"status": "healthy", "instances": [{"endpoint": "generate"}]})
    assert (await check(both, None)).backend == "nim"


def status(code: int, text: str = "") -> Response:
    return PlainTextResponse(text, status_code=code)


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"v1_health_ready": status(503, "loading")}, Unavailable, r"not ready \(503: loading\); wait until"),
        (
            {"v1_health_ready": error(401, "a key is needed")},
            EngineError,
            r"\(401: a key .*\); give a key with",
        ),
        ({"v1_health_ready": status(403)}, EngineError, "refuses access .*STREAM_API_KEY"),
        ({"v1_health_ready": None}, EngineError, "no NIM: .*; check the URL: .* without /v1"),
        (
            {"v1_health_ready": RedirectResponse("https://x.test/")},
            EngineError,
            "redirects to https://x.test/",
        ),
        ({"v1_health_ready": status(500, "oops")}, EngineError, "answers /v1/health/ready with 500: oops"),
        (
            {"v1_health_ready": PAGE, "v1_metadata": PAGE},
            EngineError,
            "no streaming server: /v1/metadata is a web page",
        ),
        (
            {"v1_metadata": status(200, "hi")},
            EngineError,
            "/v1/metadata is something else than a JSON object",
        ),
        ({"v1_metadata": None}, EngineError, "answers /v1/metadata with 404"),
        ({"v1_metadata": {}}, EngineError, "/v1/metadata names no selected profile"),
        ({"v1_metadata": {"model_type": "embedding"}}, EngineError, "serves a 'embedding' model"),
        (
            {"v1_streaming_config": None},
            EngineError,
            r"streaming is unavailable .*404\); .*NIM_ENABLE_STREAMING=true",
        ),
        (
            {"v1_streaming_config": status(501)},
            EngineError,
            r"streaming is unavailable .*501\); .*startup logs",
        ),
        ({"v1_streaming_config": error(503, "loading")}, Unavailable, r"not ready \(503: loading\)"),
        ({"v1_streaming_config": {"model": ""}}, EngineError, "/v1/streaming/config names no model"),
        ({"v1_streaming_config": JSONResponse([])}, EngineError, "/v1/streaming/config is something else"),
    ],
)
async def test_no_nim_that_streams(changes: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        await check(nim(**changes))
    assert "\n" not in str(caught.value)


async def test_a_dynamo_frontend_taken_for_a_nim_is_recognised() -> None:
    with pytest.raises(EngineError, match="looks like a Dynamo frontend: --backend dynamo"):
        await check(dynamo())


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"health": None}, EngineError, "no Dynamo frontend: /health is not there .*--backend nim"),
        ({"health": {"instances": []}}, Unavailable, "no worker is registered"),
        ({"health": {"instances": [{"endpoint": "embed"}]}}, Unavailable, "no worker is registered"),
        ({"health": JSONResponse({"instances": []}, 503)}, Unavailable, "no worker is registered"),
        ({"health": status(503, "unhealthy")}, Unavailable, "not ready .*unhealthy"),
        ({"health": status(401)}, EngineError, "refuses access"),
        ({"health": {"status": "ok"}}, EngineError, "no streaming server: /health is"),
        ({"health": PAGE}, EngineError, "no streaming server: /health is a web page"),
        ({"v1_models": {"data": []}}, Unavailable, "no model is served yet"),
        ({"v1_streaming_config": None}, EngineError, "image may be old, or streaming disabled on the worker"),
        (
            {"v1_streaming_config": error(503, "busy")},
            Unavailable,
            "busy.*workers may be loading or full, or the one that would answer is away",
        ),
    ],
)
async def test_no_dynamo_frontend_that_streams(
    changes: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        await check(dynamo(**changes), "dynamo")
