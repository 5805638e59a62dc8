from __future__ import annotations

import asyncio
import base64
import json

import pytest
import pytest_asyncio

from protocol.errors import EngineError, EngineFailure, InvalidRequest
from protocol.limits import MAX_CONFIG_BYTES, MAX_FRAME_BYTES, MAX_JSON_BODY_BYTES
from tests.fake_engine import FakeEngine
from tests.protocol.server.running import PROMPT, error, picture, running

FRAME = picture()
FRAME_B64 = base64.b64encode(FRAME).decode()
SESSIONS = "/v1/streaming/sessions"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server():
    """One for all tests that leave nothing behind."""
    async with running(FakeEngine()) as server:
        yield server


async def test_a_session_from_its_creation_to_its_end(server):
    made = await server.client.post(SESSIONS, json={**PROMPT, "fps": 2, "model": "fake-1"})
    assert made.status_code == 201
    created = made.json()
    assert list(created) == ["session_id", "model", "fps", "retention"]
    assert (created["model"], created["fps"]) == ("fake-1", 2.0)
    assert created["retention"]["max_video_segments"] == 8
    path = f"{SESSIONS}/{created['session_id']}"
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


async def test_config_tells_what_a_session_inherits(server):
    config = (await server.client.get("/v1/streaming/config")).json()
    assert list(config) == ["model", "retention", "sampling"]
    assert config["model"] == "fake-1"
    assert config["retention"]["max_video_segments"] == 8
    assert config["sampling"]["max_tokens"] == 24


async def test_the_servers_own_retention_is_for_sessions_that_name_none():
    engine = FakeEngine()
    async with running(engine) as server:
        usual = server.readiness.require().retention
        server.readiness.retention = usual.model_copy(update={"max_video_segments": 5})
        config = (await server.client.get("/v1/streaming/config")).json()
        await server.create()
        await server.create(retention={})
    assert config["retention"]["max_video_segments"] == 5
    assert [each.retention.max_video_segments for each in engine.configs if each.retention] == [5, 30]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "system_prompt"),
        ({**PROMPT, "fps": 0}, "fps"),
        ({**PROMPT, "retention": {"max_session_tokens": 1023}}, "max_session_tokens"),
        ({**PROMPT, "retention": {"max_session_tokens": None}}, "max_session_tokens"),
        ({**PROMPT, "retention": {"max_video_segments": 0}}, "max_video_segments"),
        ({**PROMPT, "retention": {"max_text_tokens": 7001}}, "max_text_tokens"),
        ({**PROMPT, "retention": {"eviction_policy": "newest"}}, "eviction_policy"),
        ({**PROMPT, "retention": {"reprefill_threshold": 1}}, "reprefill_threshold"),
        ({**PROMPT, "sampling": {"guided_regex": "a", "guided_choice": ["a"]}}, "at most one"),
        ([], "object"),
    ],
)
async def test_an_invalid_configuration_is_400(server, fields, said):
    assert said in error(await server.client.post(SESSIONS, json=fields), 400)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b'{"system_prompt": NaN}', b"[" * 100_000, b'{"system_prompt": "\\ud800"}'],
)
async def test_a_body_that_is_not_json_is_400(server, body):
    answer = await server.client.post(SESSIONS, content=body, headers={"Content-Type": "application/json"})
    error(answer, 400)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("image/jpeg", b""),
        ("image/jpeg", b"not a picture"),
        ("image/jpeg", FRAME[: len(FRAME) // 2]),
        ("application/json", b"{}"),
        ("application/json", b'{"image_b64": 5}'),
        ("application/json", b'{"image_b64": "not base64!"}'),
        ("application/json", json.dumps({"image_b64": "data:image/jpeg;base64," + FRAME_B64}).encode()),
    ],
)
async def test_a_frame_without_a_whole_picture_is_400_and_the_session_goes_on(server, kind, body):
    session = await server.create()
    error(await server.send(session, body, kind), 400)
    assert (await server.send(session, FRAME)).json()["frame_index"] == 0


async def test_a_picture_is_taken_for_what_it_is_whatever_it_is_called(server):
    session = await server.create()
    assert (await server.send(session, picture(kind="PNG"), "image/jpeg; q=1")).status_code == 200


async def test_an_unknown_model_is_404(server):
    assert "gpt" in error(await server.client.post(SESSIONS, json={**PROMPT, "model": "gpt"}), 404)


async def test_a_second_frame_in_flight_is_409_and_the_first_is_answered():
    engine = FakeEngine(gated=True)
    async with running(engine) as server:
        session = await server.create()
        first = asyncio.create_task(server.send(session, FRAME))
        await engine.reached.wait()
        error(await server.send(session, FRAME), 409)
        engine.gate.set()
        assert (await first).json()["frame_index"] == 0
        assert (await server.send(session, FRAME)).json()["frame_index"] == 1


async def test_a_frame_that_outlives_its_time_ends_the_session_for_good():
    engine = FakeEngine(gated=True)
    async with running(engine, host={"frame_timeout_s": 0.1}) as server:
        session = await server.create()
        error(await server.send(session, FRAME), 409)
        error(await server.send(session, FRAME), 409)
        assert engine.sessions[0].cancelled == 1


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_over_the_limit_is_413_before_the_session_is_looked_up(server, declared):
    async def chunks():
        for _ in range(9):
            yield bytes(1 << 20)

    body = bytes(MAX_FRAME_BYTES + 1) if declared else chunks()
    said = error(await server.send("nobody", body), 413)
    assert f"{MAX_FRAME_BYTES:,}" in said


async def test_the_rest_of_a_body_that_is_too_large_is_not_waited_for(server):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(
        b"POST /v1/streaming/sessions/x/frame HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\n"
        b"Content-Length: 99999999999\r\n\r\n"
    )
    assert b"413" in await reader.readline()
    writer.close()
    await writer.wait_closed()


async def test_a_body_that_stops_arriving_is_given_up(server, monkeypatch):
    monkeypatch.setattr("protocol.server.body.STALL_TIMEOUT_S", 0.05)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(
        b"POST /v1/streaming/sessions/x/frame HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\n"
        b"Content-Length: 100\r\n\r\nhalf"
    )
    assert b"400" in await reader.readline()
    writer.close()
    await writer.wait_closed()


async def test_json_over_its_limit_is_413(server):
    error(await server.send("nobody", b" " * (MAX_JSON_BODY_BYTES + 1), "application/json"), 413)
    large = {**PROMPT, "question": "x" * MAX_CONFIG_BYTES}
    assert "picture" not in error(await server.client.post(SESSIONS, json=large), 413)


@pytest.mark.parametrize("as_json", [True, False])
async def test_a_picture_of_exactly_the_limit_passes_and_one_byte_more_does_not(server, as_json):
    def body(size):
        padded = FRAME + bytes(size - len(FRAME))  # what follows the end of a JPEG is no part of the picture
        return json.dumps({"image_b64": base64.b64encode(padded).decode()}).encode() if as_json else padded

    kind = "application/json" if as_json else "image/jpeg"
    session = await server.create()
    assert (await server.send(session, body(MAX_FRAME_BYTES), kind)).status_code == 200
    error(await server.send(session, body(MAX_FRAME_BYTES + 1), kind), 413)


async def test_too_many_pixels_are_413_and_the_session_goes_on(server):
    session = await server.create()
    error(await server.send(session, picture(2049, 2048)), 413)
    assert (await server.send(session, picture(2048, 2048))).status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", "image/gif", ""])
async def test_another_media_type_is_415(server, kind):
    session = await server.create()
    error(await server.send(session, FRAME, kind), 415)
    answer = await server.client.post(SESSIONS, content=b"{}", headers={"Content-Type": kind})
    error(answer, 415)


async def test_an_engine_that_fails_is_500_and_then_409():
    async with running(FakeEngine(failures={1: EngineFailure("out of memory"), 2: RuntimeError()})) as server:
        session = await server.create()
        assert (await server.send(session, FRAME)).status_code == 200
        assert "out of memory" in error(await server.send(session, FRAME), 500)
        error(await server.send(session, FRAME), 409)


async def test_an_engine_that_refuses_a_frame_says_why_and_the_session_goes_on():
    async with running(FakeEngine(failures={0: InvalidRequest("an empty picture")})) as server:
        session = await server.create()
        assert error(await server.send(session, FRAME), 400) == "an empty picture"
        assert (await server.send(session, FRAME)).status_code == 200


async def test_a_server_without_sessions_answers_501():
    async with running(FakeEngine(), hosted=False) as server:
        error(await server.client.get("/v1/streaming/config"), 501)
        error(await server.client.post(SESSIONS, json=PROMPT), 501)
        error(await server.send("x", FRAME), 501)
        error(await server.client.delete(f"{SESSIONS}/x"), 501)


async def test_a_full_server_answers_503_until_a_session_is_closed():
    async with running(FakeEngine(), host={"max_sessions": 1}) as server:
        session = await server.create()
        error(await server.client.post(SESSIONS, json=PROMPT), 503)
        await server.client.delete(f"{SESSIONS}/{session}")
        await server.create()


async def test_a_full_server_admits_once_a_session_has_expired():
    async with running(FakeEngine(), host={"max_sessions": 1}, rest_idle_timeout_s=0.05) as server:
        expired = await server.create()
        while (await server.client.post(SESSIONS, json=PROMPT)).status_code == 503:
            await asyncio.sleep(0.01)
        error(await server.send(expired, FRAME), 404)


async def test_while_the_engine_loads_everything_about_sessions_is_503():
    async with running(FakeEngine(), ready=False) as server:
        error(await server.client.post(SESSIONS, json=PROMPT), 503)
        error(await server.client.get("/v1/streaming/config"), 503)


async def test_a_server_that_is_told_to_stop_answers_503():
    async with running(FakeEngine()) as server:
        server.readiness.draining = True
        error(await server.client.post(SESSIONS, json=PROMPT), 503)


async def test_a_lost_engine_is_503():
    async with running(FakeEngine(failures={0: EngineError("the engine's process died")})) as server:
        session = await server.create()
        assert "died" in error(await server.send(session, FRAME), 500)
        assert "died" in error(await server.client.post(SESSIONS, json=PROMPT), 503)


async def test_a_dropped_request_leaves_its_frame_running():
    engine = FakeEngine(gated=True)
    async with running(engine) as server:
        session = await server.create()
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(
            f"POST {SESSIONS}/{session}/frame HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/jpeg\r\n"
            f"Content-Length: {len(FRAME)}\r\n\r\n".encode()
            + FRAME
        )
        await engine.reached.wait()
        writer.close()
        await writer.wait_closed()
        error(await server.send(session, FRAME), 409)
        engine.gate.set()
        while (answer := await server.send(session, FRAME)).status_code == 409:
            await asyncio.sleep(0.01)
        assert answer.json()["frame_index"] == 1
        assert engine.sessions[0].cancelled == 0


async def test_a_client_that_leaves_in_the_middle_of_a_body_is_no_error(server, caplog):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(
        b"POST /v1/streaming/sessions/x/frame HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\n"
        b"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    )
    assert b"100" in await reader.readline()
    writer.write(b"half")
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    while server.server.server_state.tasks:
        await asyncio.sleep(0.01)
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
