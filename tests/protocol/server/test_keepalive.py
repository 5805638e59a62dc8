from __future__ import annotations

import asyncio
import contextlib
import json

import pytest

from protocol.limits import MAX_QUEUED_BYTES, PING_INTERVAL_S, PING_TIMEOUT_S
from protocol.server.keepalive import PatientWebSocket
from tests.fake_engine import FakeEngine
from tests.protocol.server.running import PROMPT, deaf_websocket, hear, masked_text, picture, running, say

FRAME = picture()


@pytest.fixture
def impatient(monkeypatch):
    """Pings every 0.05 s, and a pong that is 0.1 s late means the peer is dead."""
    made = PatientWebSocket.__init__

    def init(self, *args, **options):
        made(self, *args, **options)
        assert (self.ping_interval, self.ping_timeout) == (PING_INTERVAL_S, PING_TIMEOUT_S)
        self.ping_interval, self.ping_timeout, self.close_timeout = 0.05, 0.1, 0.1

    monkeypatch.setattr(PatientWebSocket, "__init__", init)


async def released(server):
    while server.host.open_sessions or server.endpoint.connections or server.server.server_state.connections:
        await asyncio.sleep(0.01)


async def test_a_peer_that_says_nothing_more_is_given_up(impatient):
    async with running(FakeEngine()) as server:
        client = await server.websocket(ping_interval=None)
        await say(client, **PROMPT)
        client.transport.pause_reading()  # no pong from now on
        await released(server)
        client.transport.abort()
        await client.wait_closed()


async def test_a_peer_that_answers_pings_stays(impatient):
    engine = FakeEngine(gated=True)
    async with running(engine) as server, server.websocket(ping_interval=None) as client:
        await say(client, **PROMPT)
        [connection] = server.server.server_state.connections
        await client.send(FRAME)
        pinged = set()
        while len(pinged) < 6:
            pinged.add(connection.pending_ping_payload)
            await asyncio.sleep(0.005)
        engine.gate.set()
        assert (await hear(client))["frame_index"] == 0


async def test_a_peer_whose_pongs_wait_behind_what_it_sent_stays(impatient):
    engine = FakeEngine(gated=True)
    async with running(engine) as server, server.websocket(ping_interval=None) as client:
        await say(client, **PROMPT)
        [connection] = server.server.server_state.connections
        image = FRAME + bytes(1 << 20)
        ahead = 2 + MAX_QUEUED_BYTES // len(image)
        sending = asyncio.create_task(send_all(client, [image] * (ahead + 3)))
        await engine.reached.wait()
        while not connection.read_paused:
            await asyncio.sleep(0.01)
        pinged = set()
        while len(pinged) < 6:
            pinged.add(connection.pending_ping_payload)
            await asyncio.sleep(0.005)
        engine.gate.set()
        for index in range(ahead + 3):
            assert (await hear(client))["frame_index"] == index
        await sending


async def test_a_peer_that_sends_slowly_stays(impatient):
    async with running(FakeEngine()) as server, server.websocket(ping_interval=None) as client:
        await say(client, **PROMPT)
        [connection] = server.server.server_state.connections
        connection.ping_timeout = 0.5  # the machine may be busy too
        client.transport.pause_reading()  # it is too busy sending to answer pings
        size = 60_000
        client.transport.write(bytes([0x82, 0x80 | 126]) + size.to_bytes(2, "big") + bytes(4))
        pinged = set()
        while len(pinged - {None}) < 4:  # of the first three, no pong came in time
            assert connection in server.server.server_state.connections
            pinged.add(connection.pending_ping_payload)
            client.transport.write(b"\0")
            size -= 1
            await asyncio.sleep(0.005)
        client.transport.write(bytes(size))
        client.transport.resume_reading()
        assert (await hear(client))["code"] == 400


async def send_all(client, messages):
    for message in messages:
        await client.send(message)


async def test_a_peer_that_takes_nothing_is_cut_off(impatient, monkeypatch):
    monkeypatch.setattr("protocol.server.keepalive.SEND_TIMEOUT_S", 0.1)
    async with running(FakeEngine()) as server:
        writer = await deaf_websocket(server.port)
        writer.write(masked_text(json.dumps(PROMPT)))
        message = masked_text(json.dumps({"op": "x" * 50}))
        while server.server.server_state.connections:  # closing in order would wait for it for ever
            if writer.transport.get_write_buffer_size() < 1 << 20:
                writer.write(message * 200)
            await asyncio.sleep(0.001)
        await released(server)
        with contextlib.suppress(OSError):
            writer.close()
            await writer.wait_closed()
