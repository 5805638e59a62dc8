"""Whatever clients send and however they leave: answers in order, and nothing stays behind."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed

from tests.fake_engine import FakeEngine
from tests.protocol.server.running import PROMPT, picture, running_in_thread

JPEG, PNG = picture(), picture(kind="PNG")
AT_ONCE = 5
EXAMPLES = 400  # of AT_ONCE sequences each

json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
creations = st.fixed_dictionaries(
    {},
    optional={
        "op": st.sampled_from(["create", "create", "create", "frame", "delete", ""]),
        "frame_format": st.sampled_from(["binary", "base64", "raw"]),
        "system_prompt": st.text(max_size=5),
        "model": st.sampled_from([None, "fake-1", "other"]),
        "retention": st.sampled_from([None, {}, {"max_video_segments": 2}, {"max_video_segments": 0}]),
        "sampling": st.sampled_from([{}, {"max_tokens": 0}, {"temperature": 0}]),
        "fps": json_values,
    },
).map(json.dumps)
good_creations = st.sampled_from(["binary", "base64"]).map(
    lambda kind: json.dumps({**PROMPT, "frame_format": kind})
)
pictures = st.sampled_from([JPEG, JPEG, PNG, JPEG[:-30], PNG[:40], b"", b"\xff\xd8\xff"]) | st.binary(
    max_size=40
)
base64_frames = pictures.map(
    lambda image: json.dumps({"op": "frame", "image_b64": base64.b64encode(image).decode()})
)
messages = st.one_of(
    good_creations,
    creations,
    pictures,
    pictures,
    base64_frames,
    base64_frames,
    st.just('{"op": "delete"}'),
    json_values.map(json.dumps),
    st.text(max_size=20),
)
steps = messages | st.sampled_from(["read", "read", "ping", "pause"]).map(lambda what: (what,))
sequences = st.tuples(
    st.none() | good_creations,
    st.lists(steps, max_size=8),
    st.sampled_from(["read", "close", "abort", "delete"]),
)


@pytest.fixture(scope="module")
def server():
    engine = FakeEngine(delay_s=0.001)
    with running_in_thread(engine, host={"max_sessions": 3}) as (server, loop):
        yield server, loop, engine


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(sequences, min_size=AT_ONCE, max_size=AT_ONCE))
def test_any_clients_at_once(server, played):
    running, loop, engine = server
    asyncio.run_coroutine_threadsafe(all_at_once(running, played), loop).result(timeout=60)
    assert all(session.closed for session in engine.sessions)
    engine.sessions.clear()
    engine.configs.clear()


async def all_at_once(server, played):
    before = asyncio.all_tasks()
    async with asyncio.timeout(20):
        await asyncio.gather(*(play(server, *each) for each in played))
        while (
            server.host.open_sessions
            or server.host.frames_in_flight
            or server.endpoint.connections
            or asyncio.all_tasks() - before
        ):
            await asyncio.sleep(0.001)


async def play(server, creation, steps, ending):
    """Plays one client."""
    client = await server.websocket(ping_interval=None)
    sent, answers = 0, []
    try:
        for step in [creation] * (creation is not None) + steps:
            match step:
                case ("read",):
                    with contextlib.suppress(TimeoutError):  # there may be nothing to read
                        async with asyncio.timeout(0.003):
                            answers.append(json.loads(await client.recv()))
                case ("ping",):
                    await (await client.ping())
                case ("pause",):
                    await asyncio.sleep(0)
                case message:
                    await client.send(message)
                    sent += 1
        if ending == "delete":
            await client.send('{"op": "delete"}')
            sent += 1
        if ending in ("delete", "read"):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    while True:
                        answers.append(json.loads(await client.recv()))
    except ConnectionClosed:
        with contextlib.suppress(ConnectionClosed):  # what came before the end
            while True:
                answers.append(json.loads(await client.recv()))
    if ending == "abort":
        client.transport.abort()
    await client.close()
    check(answers, sent)


def check(answers, sent):
    """One answer a message at most, in the protocol's words, the last of them fatal or final if any is."""
    assert len(answers) <= sent
    assert {each["op"] for each in answers} <= {"created", "frame", "error", "closed"}
    assert not [each for each in answers if each.get("code") == 500]
    assert [each["frame_index"] for each in answers if each["op"] == "frame"] == list(
        range(sum(each["op"] == "frame" for each in answers))
    )
    assert [each["op"] for each in answers].count("created") <= 1
    for each in answers[:-1]:
        assert each["op"] != "closed"
        assert not each.get("fatal")
