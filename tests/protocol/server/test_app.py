from __future__ import annotations

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance
from websockets.exceptions import InvalidStatus

from protocol.server.app import create_app
from protocol.server.readiness import Readiness
from protocol.server.settings import ServerSettings
from tests.fake_engine import FakeEngine
from tests.protocol.server.running import PROMPT, error, picture, running, running_in_thread

DOCUMENT = create_app(None, Readiness(), ServerSettings()).openapi()
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)


@pytest.fixture(scope="module")
def server():
    with running_in_thread(FakeEngine(), host={"max_sessions": 10_000}) as (server, _):
        yield server


@pytest.fixture(scope="module")
def session(server):
    """A session that takes frames."""
    return httpx.post(f"{server.url}/v1/streaming/sessions", json=PROMPT, trust_env=False).json()[
        "session_id"
    ]


@SCHEMA.parametrize()
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_server_does_what_its_openapi_says(case, server, session):
    if case.method == "POST" and "session_id" in case.path_parameters:
        case.path_parameters["session_id"] = session
    # A number in quotes is taken for a number, so what the schema forbids is not always refused; and few
    # strings are pictures, so what it allows is not always taken.
    lenient = [negative_data_rejection, positive_data_acceptance]
    case.call_and_validate(base_url=server.url, excluded_checks=lenient)


def test_every_route_is_described_with_its_statuses_and_examples():
    described = {
        (method.upper(), path): operation
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    }
    streaming = {key: value for key, value in described.items() if "/streaming/" in key[1]}
    assert set(streaming) == {
        ("GET", "/v1/streaming/config"),
        ("POST", "/v1/streaming/sessions"),
        ("POST", "/v1/streaming/sessions/{session_id}/frame"),
        ("DELETE", "/v1/streaming/sessions/{session_id}"),
    }
    for operation in streaming.values():
        for status, response in operation["responses"].items():
            assert response["description"]
            assert "example" in response["content"]["application/json"], status
    frame = streaming["POST", "/v1/streaming/sessions/{session_id}/frame"]
    assert set(frame["requestBody"]["content"]) == {"application/json", "image/jpeg", "image/png"}
    assert {"200", "400", "401", "404", "409", "413", "415", "500", "503"} <= set(frame["responses"])
    assert not [path for _, path in described if path.endswith("/ws")]


async def test_the_examples_are_what_the_server_takes_and_gives():
    content = {
        path: DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["application/json"]["example"]
        for path in ("/v1/streaming/sessions", "/v1/streaming/sessions/{session_id}/frame")
    }
    creation, frame = content.values()
    async with running(FakeEngine()) as server:
        session = await server.create(**creation)
        path = f"/v1/streaming/sessions/{session}"
        assert (await server.client.post(f"{path}/frame", json=frame)).status_code == 200


async def test_without_streaming_there_are_no_streaming_routes():
    async with running(FakeEngine(), streaming=False) as server:
        error(await server.client.get("/v1/streaming/config"), 404)
        error(await server.client.post("/v1/streaming/sessions", json=PROMPT), 404)
        with pytest.raises(InvalidStatus) as refused:
            await server.websocket()
        assert refused.value.response.status_code == 404
        assert (await server.client.get("/v1/models")).status_code == 200
        document = (await server.client.get("/openapi.json")).json()
    assert not [path for path in document["paths"] if "streaming" in path]


async def test_a_parameter_that_is_invalid_is_400():
    app = create_app(None, Readiness(), ServerSettings())

    @app.get("/square")
    def square(number: int) -> int:
        return number * number

    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        assert (await client.get("/square", params={"number": 3})).json() == 9
        assert "number" in error(await client.get("/square", params={"number": "three"}), 400)


async def test_framework_errors_have_the_protocols_shape():
    async with running(FakeEngine()) as server:
        assert "/nowhere" in error(await server.client.get("/nowhere"), 404)
        answer = await server.client.get("/v1/streaming/sessions")
        error(answer, 405)
        assert answer.headers["allow"] == "POST"
        error(await server.client.put("/v1/streaming/sessions/x/frame", content=picture()), 405)
        with pytest.raises(InvalidStatus) as refused:
            await server.websocket("/v1/streaming/sessions")
        assert refused.value.response.status_code == 404
