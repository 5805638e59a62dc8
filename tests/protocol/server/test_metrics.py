from __future__ import annotations

import asyncio

from protocol.errors import EngineFailure
from protocol.messages import FrameReply
from protocol.server.metrics import Metrics
from tests.fake_engine import FakeEngine
from tests.protocol.server.running import error, picture, running


async def test_a_session_over_rest_is_counted():
    engine = FakeEngine(failures={2: EngineFailure("no")})
    async with running(engine, rest_idle_timeout_s=30) as server:
        session = await server.create()
        assert server.count("stream_sessions_open") == 1
        assert server.count("stream_sessions_opened_total") == 1
        image = picture()
        before = server.count("stream_received_bytes_total", transport="rest")
        for _ in range(2):
            await server.send(session, image)
        assert server.count("stream_received_bytes_total", transport="rest") == before + 2 * len(image)
        assert server.count("stream_frames_total") == 2
        assert server.count("stream_frame_seconds_count", stage="decode") == 2
        error(await server.send(session, image), 500)
        error(await server.send(session, image), 409)
        assert server.count("stream_errors_total", code="500") == 1
        assert server.count("stream_errors_total", code="409") == 1
        assert server.count("stream_sessions_open") == 0
        assert server.count("stream_sessions_closed_total", reason="failed") == 1
        await server.client.delete(f"/v1/streaming/sessions/{await server.create()}")
        assert server.count("stream_sessions_closed_total", reason="closed") == 1


async def test_sessions_that_end_by_themselves_are_counted_by_their_reason():
    engine = FakeEngine(gated=True)
    async with running(engine, host={"frame_timeout_s": 0.05}, rest_idle_timeout_s=0.05) as server:
        await server.create()
        while server.count("stream_sessions_open"):
            await asyncio.sleep(0.01)
        assert server.count("stream_sessions_closed_total", reason="expired") == 1
        error(await server.send(await server.create(), picture()), 409)
        assert server.count("stream_sessions_closed_total", reason="timed_out") == 1


def test_stages_are_measured_in_seconds():
    metrics = Metrics()
    metrics.answered(
        FrameReply(
            frame_index=0, text="", token_count=0, ttft_s=0.5, latency_s=2, decode_ms=1, build_ms=20,
            engine_ms=300, inqueue_ms=4000,
        )
    )  # fmt: skip
    metrics.answered(FrameReply(frame_index=1, text="", token_count=0))
    text = metrics.exposition().decode()
    for stage, seconds in {
        "first_token": 0.5, "total": 2, "decode": 0.001, "build": 0.02, "engine": 0.3, "queue": 4,
    }.items():  # fmt: skip
        assert f'stream_frame_seconds_sum{{stage="{stage}"}} {float(seconds)}\n' in text
        assert f'stream_frame_seconds_count{{stage="{stage}"}} 1.0\n' in text


def test_two_servers_in_one_process_do_not_mix():
    first, second = Metrics(), Metrics()
    first.error(404)
    assert 'code="404"' not in second.exposition().decode()
