from __future__ import annotations

import base64

import pytest

from protocol.errors import EngineFailure, Unavailable
from protocol.limits import MAX_FRAME_BYTES
from tests.fake_engine import FakeEngine
from tests.protocol.server.running import PROMPT, error, picture, running

FRAME = picture()
FRAME_B64 = base64.b64encode(FRAME).decode()


async def test_a_session_from_its_creation_to_its_end():
    async with running(FakeEngine()) as server:
        made = await server.client.post(
            "/v1/streaming/sessions", json={**PROMPT, "fps": 2, "model": "fake-1"}
        )
        assert made.status_code == 201
        created = made.json()
        assert list(created) == ["session_id", "model", "fps", "retention"]
        assert (created["model"], created["fps"]) == ("fake-1", 2.0)
        assert created["retention"]["max_video_segments"] == 8
        path = f"/v1/streaming/sessions/{created['session_id']}"
        first = await server.client.post(f"{path}/frame", json={"image_b64": FRAME_B64})
        second = await server.send(created["session_id"], FRAME)
        third = await server.send(created["session_id"], picture(kind="PNG"), "image/png")
        assert [each.status_code for each in (first, second, third)] == [200, 200, 200]
        assert [each.json()["frame_index"] for each in (first, second, third)] == [0, 1, 2]
        assert set(first.json()) == {
            "frame_index", "text", "finish_reason", "token_count", "ttft_s", "latency_s", "decode_ms",
            "build_ms", "engine_ms", "inqueue_ms",
        }  # fmt: skip
        gone = await server.client.request("DELETE", path, headers={"Content-Type": "application/json"})
        assert gone.status_code == 200
        assert gone.json() == {"session_id": created["session_id"], "frames": 3, "closed": True}
        error(await server.client.delete(path), 404)
        error(await server.send(created["session_id"], FRAME), 404)


async def test_config_tells_what_a_session_inherits():
    async with running(FakeEngine()) as server:
        config = (await server.client.get("/v1/streaming/config")).json()
    assert list(config) == ["model", "retention", "sampling"]
    assert config["model"] == "fake-1"
    assert config["retention"]["max_video_segments"] == 8
    assert config["sampling"]["max_tokens"] == 24
