from __future__ import annotations

import pytest
import pytest_asyncio
import yaml

from protocol.session import ServedModel
from tests.fake_engine import FakeEngine
from tests.protocol.server.running import error, running

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server():
    async with running(FakeEngine(), version="1.2.3", license_text="Do as you like.\n") as server:
        yield server


async def test_health_of_a_ready_server(server):
    live = await server.client.get("/v1/health/live")
    ready = await server.client.get("/v1/health/ready")
    assert (live.status_code, ready.status_code) == (200, 200)
    assert live.json() == {"object": "health.response", "message": "Service is live", "status": "live"}
    assert ready.json() == {"object": "health.response", "message": "Service is ready", "status": "ready"}


async def test_health_in_the_form_of_dynamos_frontend(server):
    health = (await server.client.get("/health")).json()
    assert (health["status"], bool(health["message"])) == ("healthy", True)
    assert health["endpoints"] == ["dyn://stream.engine.generate"]
    [instance] = health["instances"]
    assert instance["endpoint"] == "generate"
    assert set(instance) == {"namespace", "component", "endpoint", "instance_id", "transport"}


@pytest.mark.parametrize("stopping", [True, False])
async def test_health_of_a_server_that_is_loading_or_stopping(stopping):
    async with running(FakeEngine(), ready=stopping) as server:
        server.readiness.draining = stopping
        assert (await server.client.get("/v1/health/live")).status_code == 200
        ready = await server.client.get("/v1/health/ready")
        assert (ready.status_code, ready.json()["status"]) == (503, "not_ready")
        health = await server.client.get("/health")
        assert (health.status_code, health.json()["instances"]) == (503, [])
        error(await server.client.get("/v1/metadata"), 503)
        error(await server.client.get("/v1/manifest"), 503)


async def test_a_probe_may_leave_the_body_out(server):
    answer = await server.client.head("/v1/health/ready")
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) == len((await server.client.get("/v1/health/ready")).content)
    async with running(FakeEngine(), ready=False) as loading:
        assert (await loading.client.head("/v1/health/ready")).status_code == 503


async def test_the_model_is_listed_once_it_is_loaded(server):
    listed = (await server.client.get("/v1/models")).json()
    assert (listed["object"], [each["id"] for each in listed["data"]]) == ("list", ["fake-1"])
    async with running(FakeEngine(), ready=False) as loading:
        assert (await loading.client.get("/v1/models")).json()["data"] == []


async def test_metadata_and_manifest_name_the_same_profile(server):
    metadata = (await server.client.get("/v1/metadata")).json()
    assert metadata["model_type"] == "reasoner"
    assert metadata["inference_endpoint"] == "/v1/chat/completions"
    assert metadata["version"] == "1.2.3"
    assert {"assetInfo", "licenseInfo", "modelInfo", "repository_override"} <= set(metadata)
    manifest = yaml.safe_load((await server.client.get("/v1/manifest")).json()["manifest_file"])
    profiles = [each["id"] for each in manifest["profiles"]]
    assert profiles == [metadata["selectedModelProfileId"]]
    assert profiles[0]
    assert manifest["profiles"][0]["tags"]["model"] == "fake-1"


async def test_version_and_license(server):
    assert (await server.client.get("/v1/version")).json()["release"] == "1.2.3"
    license_ = (await server.client.get("/v1/license")).json()
    assert (license_["content"], license_["size"]) == ("Do as you like.\n", 16)


async def test_metrics_are_prometheus_text(server):
    answer = await server.client.get("/v1/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "\nstream_sessions_open 0.0\n" in answer.text


async def test_models_are_listed_and_found_as_openais_clients_expect():
    async with running(FakeEngine()) as server:
        [listed] = (await server.client.get("/v1/models")).json()["data"]
        assert set(listed) == {"id", "object", "created", "owned_by"}
        assert (listed["object"], listed["owned_by"]) == ("model", "stream")
        assert listed["created"] > 1_700_000_000
        assert (await server.client.get("/v1/models/fake-1")).json() == listed
        assert "fake-1" in error(await server.client.get("/v1/models/org%2Fother"), 404)
        server.readiness.served = ServedModel("org/model")
        assert (await server.client.get("/v1/models/org%2Fmodel")).json()["id"] == "org/model"
