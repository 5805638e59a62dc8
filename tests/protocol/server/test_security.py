from __future__ import annotations

import json

import pytest
import pytest_asyncio
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.fake_engine import FakeEngine
from tests.protocol.server.running import PROMPT, error, picture, running, say

KEY = "s3cret-k3y"
BEARER = {"Authorization": f"Bearer {KEY}"}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server():
    async with running(FakeEngine(), allowed_hosts=("box", "*.example.com")) as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def keyed():
    async with running(FakeEngine(), api_key=KEY, allowed_origins=("https://app.example",)) as server:
        yield server


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer wrong"}, {"Authorization": KEY}, {"Authorization": f"Basic {KEY}"},
     {"Authorization": f"Bearer {KEY}x"}, {"Authorization": b"Bearer \xe9"}, {"X-API-Key": KEY}],
)  # fmt: skip
async def test_without_the_key_nothing_but_health_is_answered(keyed, headers):
    for method, path in [
        ("GET", "/v1/models"), ("GET", "/v1/metadata"), ("GET", "/v1/metrics"), ("GET", "/openapi.json"),
        ("GET", "/v1/streaming/config"), ("POST", "/v1/streaming/sessions"), ("GET", "/nowhere"),
        ("POST", "/v1/streaming/sessions/x/frame"), ("DELETE", "/v1/streaming/sessions/x"),
        ("GET", "/v1/health/ready/../../models"),
    ]:  # fmt: skip
        answer = await keyed.client.request(method, path, headers=headers)
        said = error(answer, 401)
        assert KEY not in said
        assert answer.headers["www-authenticate"] == "Bearer"
    for path in ("/health", "/v1/health/live", "/v1/health/ready"):
        assert (await keyed.client.get(path, headers=headers)).status_code == 200


async def test_with_the_key_everything_is_answered(keyed):
    assert (await keyed.client.get("/v1/models", headers=BEARER)).status_code == 200
    lower = {"authorization": f"bearer  {KEY}"}
    assert (await keyed.client.get("/v1/models", headers=lower)).status_code == 200


async def test_a_websocket_needs_the_key_too(keyed):
    with pytest.raises(InvalidStatus) as refused:
        await keyed.websocket()
    assert refused.value.response.status_code == 401
    assert json.loads(refused.value.response.body)["error"]["code"] == 401
    async with keyed.websocket(additional_headers=BEARER) as client:
        assert (await say(client, **PROMPT))["op"] == "created"


async def test_a_large_body_is_not_read_before_the_key_is_checked(keyed):
    error(await keyed.send("x", picture()), 401)
    assert keyed.count("stream_received_bytes_total", transport="rest") == 0


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8000", "[::1]:8000", "10.1.2.3", "localhost:1", "a.localhost", "BOX:80",
             "a.b.example.com"],
)  # fmt: skip
async def test_names_that_no_foreign_page_can_have_are_fine(server, host):
    assert (await server.client.get("/v1/models", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "example.com", "box.evil.example", "127.0.0.1.evil.example"]
)
async def test_a_name_that_was_made_to_resolve_here_is_refused(server, host):
    assert "--allow-host" in error(await server.client.get("/v1/models", headers={"Host": host}), 403)
    with pytest.raises(InvalidStatus) as refused:
        await connect(f"ws://{host}/v1/streaming/ws", host="127.0.0.1", port=server.port, proxy=None)
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://["])
async def test_a_page_of_another_site_is_refused(server, origin):
    headers = {"Origin": origin}
    said = error(await server.client.post("/v1/streaming/sessions", json=PROMPT, headers=headers), 403)
    assert "--allow-origin" in said
    with pytest.raises(InvalidStatus) as refused:
        await server.websocket(additional_headers=headers)
    assert refused.value.response.status_code == 403
    assert "access-control-allow-origin" not in refused.value.response.headers


async def test_a_page_of_the_servers_own_is_fine(server):
    assert (await server.client.get("/v1/models", headers={"Origin": server.url})).status_code == 200


async def test_an_origin_that_is_allowed_gets_cors(keyed):
    origin = {"Origin": "https://app.example"}
    asked = {
        **origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,x-stainless-lang",
    }
    preflight = await keyed.client.options("/v1/streaming/sessions", headers=asked)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == "https://app.example"
    assert "x-stainless-lang" in preflight.headers["access-control-allow-headers"]
    refused = await keyed.client.get("/v1/models", headers=origin)
    assert refused.headers["access-control-allow-origin"] == "https://app.example"
    error(refused, 401)
    async with keyed.websocket(additional_headers={**BEARER, **origin}) as client:
        assert (await say(client, **PROMPT))["op"] == "created"
    error(await keyed.client.get("/v1/models", headers={**BEARER, "Origin": "https://evil.example"}), 403)


async def test_without_an_allowed_origin_there_is_no_cors(server):
    asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    answer = await server.client.options("/v1/streaming/sessions", headers=asked)
    error(answer, 403)
    assert not [name for name in answer.headers if name.startswith("access-control")]
