from __future__ import annotations

import asyncio
import base64
import contextlib
import json

import pytest
import pytest_asyncio
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory

from protocol.errors import EngineError, EngineFailure, InvalidRequest
from protocol.limits import MAX_FRAME_BYTES, MAX_QUEUED_BYTES, MAX_WEBSOCKET_MESSAGE_BYTES
from protocol.server.websocket import MAX_UNSENT
from tests.fake_engine import FakeEngine
from tests.protocol.server.running import PROMPT, deaf_websocket, hear, masked_text, picture, running, say

FRAME = picture()
FRAME_B64 = base64.b64encode(FRAME).decode()

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server():
    """One for all tests that leave nothing behind."""
    async with running(FakeEngine()) as server:
        yield server


async def closing(client):
    """Waits for the close, with what is said before it; gives that and the close code."""
    said = []
    with contextlib.suppress(ConnectionClosed):
        while True:
            said.append(await hear(client))
    return said, client.close_code


async def fatal(client, message, code, close_code):
    """`message` is answered with a fatal error of `code`, and the connection closed."""
    await client.send(message)
    said, closed = await closing(client)
    assert [(each["op"], each["code"], each["fatal"]) for each in said] == [("error", code, True)]
    assert closed == close_code
    return said[0]["message"]


async def recoverable(client, message, code):
    """`message` is answered with an error of `code`, and the session goes on."""
    await client.send(message)
    answer = await hear(client)
    assert (answer["op"], answer["code"], answer["fatal"]) == ("error", code, False)
    return answer["message"]


async def until_empty(server):
    while server.host.open_sessions or server.endpoint.connections or server.host.frames_in_flight:
        await asyncio.sleep(0.01)


async def test_a_session_of_binary_frames(server):
    async with server.websocket() as client:
        created = await say(client, op="create", frame_format="binary", fps=2.0, **PROMPT)
        assert list(created) == ["op", "session_id", "model", "fps", "retention", "frame_format"]
        assert (created["op"], created["model"], created["frame_format"]) == ("created", "fake-1", "binary")
        for index, image in enumerate([FRAME, picture(kind="PNG")]):
            await client.send(image)
            reply = await hear(client)
            assert (reply["op"], reply["frame_index"]) == ("frame", index)
            assert reply["text"] == f"frame {index} at None"
            assert reply["decode_ms"] > 0
            assert reply["inqueue_ms"] >= 0
        closed = {"op": "closed", "session_id": created["session_id"], "frames": 2, "closed": True}
        assert await say(client, op="delete") == closed
        assert await closing(client) == ([], 1000)
    await until_empty(server)


async def test_a_session_of_base64_frames_whose_create_has_no_op(server):
    async with server.websocket() as client:
        assert (await say(client, frame_format="base64", **PROMPT))["frame_format"] == "base64"
        assert (await say(client, op="frame", image_b64=FRAME_B64))["frame_index"] == 0
        assert (await say(client, op="delete"))["frames"] == 1


async def test_a_path_may_have_doubled_slashes(server):
    async with server.websocket("//v1//streaming/ws") as client:
        assert (await say(client, **PROMPT))["op"] == "created"


async def test_compression_is_declined(server):
    async with server.websocket(extensions=[ClientPerMessageDeflateFactory()]) as client:
        assert "Sec-WebSocket-Extensions" not in client.response.headers


@pytest.mark.parametrize(
    ("first", "code"),
    [
        ("{}", 400),
        ("{", 400),
        (FRAME, 400),
        (json.dumps({"op": "frame", "image_b64": FRAME_B64}), 400),
        (json.dumps({**PROMPT, "frame_format": "raw"}), 400),
        (json.dumps({**PROMPT, "model": "gpt"}), 404),
    ],
)
async def test_a_first_message_that_is_no_creation_is_fatal(server, first, code):
    async with server.websocket() as client:
        await fatal(client, first, code, 1008)


async def test_mistakes_in_a_session_are_not_fatal(server):
    async with server.websocket() as client:
        await say(client, **PROMPT)
        assert "'update'" in await recoverable(client, '{"op": "update"}', 400)
        await recoverable(client, json.dumps(PROMPT), 400)
        await recoverable(client, json.dumps({"op": "create", **PROMPT}), 400)
        await recoverable(client, json.dumps({"op": "frame", "image_b64": FRAME_B64}), 400)
        await recoverable(client, "]", 400)
        await recoverable(client, b"", 400)
        await recoverable(client, b"not a picture", 400)
        await recoverable(client, FRAME[:-40], 400)
        await recoverable(client, picture(2049, 2048), 413)
        await recoverable(client, FRAME + bytes(MAX_FRAME_BYTES + 1 - len(FRAME)), 413)
        await client.send(FRAME)
        assert (await hear(client))["frame_index"] == 0


async def test_a_base64_session_takes_no_binary(server):
    async with server.websocket() as client:
        await say(client, frame_format="base64", **PROMPT)
        await recoverable(client, FRAME, 400)
        prefixed = f"data:image/jpeg;base64,{FRAME_B64}"
        await recoverable(client, json.dumps({"op": "frame", "image_b64": prefixed}), 400)
        oversize = base64.b64encode(FRAME + bytes(MAX_FRAME_BYTES + 1 - len(FRAME))).decode()
        await recoverable(client, json.dumps({"op": "frame", "image_b64": oversize}), 413)
        largest = base64.b64encode(FRAME + bytes(MAX_FRAME_BYTES - len(FRAME))).decode()
        assert (await say(client, op="frame", image_b64=largest))["frame_index"] == 0


async def test_a_message_beyond_the_message_cap_ends_the_connection(server):
    async with server.websocket() as client:
        await say(client, **PROMPT)
        with contextlib.suppress(ConnectionClosed):  # it may be told before it has sent all
            await client.send(bytes(MAX_WEBSOCKET_MESSAGE_BYTES + 1))
        await client.wait_closed()
        assert client.close_code == 1009
    await until_empty(server)


async def test_text_that_is_not_utf8_ends_the_connection(server):
    async with server.websocket() as client:
        await say(client, **PROMPT)
        await client.send(b"\xff\xfe", text=True)
        assert await closing(client) == ([], 1007)
    await until_empty(server)


async def test_a_full_server_is_503(server):
    async with running(FakeEngine(), host={"max_sessions": 1}) as full:
        await full.create()
        async with full.websocket() as client:
            await fatal(client, json.dumps(PROMPT), 503, 1008)


async def test_a_loading_engine_is_503():
    async with running(FakeEngine(), ready=False) as server, server.websocket() as client:
        assert "loading" in await fatal(client, json.dumps(PROMPT), 503, 1008)


async def test_no_sessions_behind_the_route_is_501():
    async with running(FakeEngine(), hosted=False) as server:
        with pytest.raises(InvalidStatus) as refused:
            await server.websocket()
    assert refused.value.response.status_code == 501
    assert json.loads(refused.value.response.body)["error"]["code"] == 501


async def test_an_idle_session_expires():
    async with running(FakeEngine(), idle_timeout_s=0.1) as server:
        async with server.websocket() as client:
            await say(client, **PROMPT)
            said, code = await closing(client)
        assert [(each["code"], each["fatal"]) for each in said] == [(404, True)]
        assert code == 1008
        async with server.websocket() as silent:
            said, code = await closing(silent)
        assert [(each["code"], each["fatal"], code) for each in said] == [(400, True, 1008)]


async def test_a_frame_that_outlives_its_time_ends_the_session():
    engine = FakeEngine(gated=True)
    async with running(engine, host={"frame_timeout_s": 0.05}) as server, server.websocket() as client:
        await say(client, **PROMPT)
        await fatal(client, FRAME, 409, 1008)


@pytest.mark.parametrize("failure", [EngineFailure("out of memory"), ValueError("?"), EngineError("it died")])
async def test_an_engine_that_fails_is_a_fatal_500(failure):
    async with running(FakeEngine(failures={0: failure})) as server, server.websocket() as client:
        await say(client, **PROMPT)
        assert str(failure) in await fatal(client, FRAME, 500, 1011)


async def test_an_engine_that_refuses_a_frame_is_not_fatal():
    engine = FakeEngine(failures={0: InvalidRequest("an empty picture")})
    async with running(engine) as server, server.websocket() as client:
        await say(client, **PROMPT)
        assert await recoverable(client, FRAME, 400) == "an empty picture"
        await client.send(FRAME)
        assert (await hear(client))["op"] == "frame"


async def test_a_fault_in_the_server_is_a_fatal_500(monkeypatch, caplog):
    async with running(FakeEngine()) as server, server.websocket() as client:
        await say(client, **PROMPT)
        monkeypatch.setattr(server.host, "frame", lambda *_: 1 / 0)
        assert "division" not in await fatal(client, FRAME, 500, 1011)
        await until_empty(server)
        async with server.websocket() as other:
            await say(other, **PROMPT)
            with monkeypatch.context() as broken:
                broken.setattr(server.host, "close", lambda *_, **__: 1 / 0)
                await fatal(other, '{"op": "delete"}', 500, 1011)
    assert caplog.text.count("ZeroDivisionError") == 2


async def test_messages_sent_ahead_are_answered_in_order(server):
    async with server.websocket() as client:
        for message in (json.dumps(PROMPT), FRAME, '{"op": "x"}', FRAME, '{"op": "delete"}', FRAME):
            await client.send(message)
        said, code = await closing(client)
    assert [each["op"] for each in said] == ["created", "frame", "error", "frame", "closed"]
    assert code == 1000


async def test_reading_stops_when_too_much_was_sent_ahead_and_goes_on_later():
    engine = FakeEngine(gated=True)
    image = FRAME + bytes(1 << 20)
    ahead = 3 * MAX_QUEUED_BYTES // len(image)
    async with running(engine) as server, server.websocket() as client:
        await say(client, **PROMPT)
        sending = asyncio.create_task(send_all(client, [image] * ahead))
        await engine.reached.wait()
        [connection] = server.endpoint.connections
        while connection._room.is_set():
            await asyncio.sleep(0.01)
        read = server.count("stream_received_bytes_total", transport="websocket")
        assert MAX_QUEUED_BYTES <= read <= MAX_QUEUED_BYTES + 3 * len(image)
        assert not sending.done()
        engine.gate.set()
        indices = [(await hear(client))["frame_index"] for _ in range(ahead)]
        assert indices == list(range(ahead))
        await sending


async def send_all(client, messages):
    for message in messages:
        await client.send(message)


async def test_a_client_that_takes_no_replies_is_not_read_for_ever():
    async with running(FakeEngine()) as server:
        writer = await deaf_websocket(server.port)
        writer.write(masked_text(json.dumps(PROMPT)))
        message = masked_text(json.dumps({"op": "x" * 50}))
        [connection] = server.endpoint.connections
        while not server.host.open_sessions:
            await asyncio.sleep(0.01)
        unread = 0
        while unread < 300:  # rounds of the loop; the buffers in between take a few megabytes of replies
            writer.write(message * 200)
            await asyncio.sleep(0)
            unread = 0 if connection._room.is_set() else unread + 1
        assert len(connection._todo) <= MAX_UNSENT + 2
        writer.transport.abort()
        await until_empty(server)
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def test_pings_are_answered_while_a_frame_is_inferred():
    engine = FakeEngine(gated=True)
    async with running(engine) as server, server.websocket() as client:
        await say(client, **PROMPT)
        await client.send(FRAME)
        await engine.reached.wait()
        await client.send(FRAME)  # and one more waits unread by the session
        async with asyncio.timeout(5):
            await (await client.ping())
        engine.gate.set()
        assert [(await hear(client))["frame_index"] for _ in range(2)] == [0, 1]


@pytest.mark.parametrize("abrupt", [True, False])
async def test_leaving_in_the_middle_of_a_frame_cancels_it_and_releases_the_session(abrupt):
    engine = FakeEngine(gated=True)
    async with running(engine) as server:
        async with server.websocket() as client:
            await say(client, **PROMPT)
            await client.send(FRAME)
            await engine.reached.wait()
            if abrupt:
                client.transport.abort()
        await until_empty(server)
        assert engine.sessions[0].cancelled == 1
        assert engine.sessions[0].closed


class SlowToOpen(FakeEngine):
    """Opens a session once its gate is open."""

    async def open(self, config):
        self.reached.set()
        await self.gate.wait()
        return await super().open(config)


async def test_leaving_while_the_session_is_opened_leaves_none_behind():
    engine = SlowToOpen(gated=True)
    async with running(engine) as server:
        async with server.websocket() as client:
            await client.send(json.dumps(PROMPT))
            await engine.reached.wait()
        while server.endpoint.connections:
            await asyncio.sleep(0.01)
        engine.gate.set()
        assert await server.create()
        assert server.host.open_sessions == len(engine.sessions) == 1


async def test_a_connection_that_is_cancelled_releases_its_session():
    engine = FakeEngine(gated=True)
    async with running(engine) as server, server.websocket() as client:
        await say(client, **PROMPT)
        await client.send(FRAME)
        await engine.reached.wait()
        [task] = server.endpoint._tasks
        task.cancel()
        await server.endpoint.wait_closed(5)
        assert server.host.open_sessions == 0
        assert engine.sessions[0].cancelled == 1
        await client.wait_closed()


async def test_shutting_down_answers_the_frame_in_flight_and_closes_with_1001():
    engine = FakeEngine(gated=True)
    async with (
        running(engine) as server,
        server.websocket() as idle,
        server.websocket() as busy,
        server.websocket() as unborn,
    ):
        await say(idle, **PROMPT)
        await say(busy, **PROMPT)
        await busy.send(FRAME)
        await engine.reached.wait()
        await busy.send(FRAME)
        server.readiness.draining = True
        server.endpoint.shut_down()
        assert await closing(idle) == ([], 1001)
        assert await closing(unborn) == ([], 1001)
        engine.gate.set()
        said, code = await closing(busy)
        assert [each["frame_index"] for each in said] == [0]
        assert code == 1001
        with pytest.raises(InvalidStatus) as refused:
            await server.websocket()
        assert refused.value.response.status_code == 503


async def test_sessions_and_errors_are_counted(server):
    before = {code: server.count("stream_errors_total", code=code) for code in ("400", "404")}
    async with server.websocket() as client:
        await say(client, **PROMPT)
        await recoverable(client, "]", 400)
    async with server.websocket() as client:
        await fatal(client, json.dumps({**PROMPT, "model": "gpt"}), 404, 1008)
    await until_empty(server)
    assert server.count("stream_errors_total", code="400") == before["400"] + 1
    assert server.count("stream_errors_total", code="404") == before["404"] + 1
