from __future__ import annotations

import asyncio
import logging

import pytest

from tests.fake_engine import FakeEngine
from tests.protocol.server.running import PROMPT, error, running, say


@pytest.fixture(autouse=True)
def lines(caplog):
    caplog.set_level(logging.INFO, logger="protocol.server")
    return caplog


async def raw(server, request):
    """The status line of the answer to `request`, as bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(request)
    line = await reader.readline()
    writer.close()
    await writer.wait_closed()
    return line


async def test_a_line_says_who_asked_for_what_and_how_it_went(lines):
    async with running(FakeEngine()) as server:
        await server.client.get("/v1/models")
        async with server.websocket() as client:
            await say(client, **PROMPT)
            assert '"WEBSOCKET /v1/streaming/ws" open' in lines.text
    assert '"GET /v1/models" 200 ' in lines.text
    assert '"WEBSOCKET /v1/streaming/ws" closed ' in lines.text


async def test_a_line_has_no_keys_and_no_controls(lines):
    async with running(FakeEngine(), api_key="s3cret") as server:
        request = (
            b"GET /v1/%1b[31m%0a%C2%9b/?key=s3cret HTTP/1.1\r\n"
            b"Host: localhost\r\nAuthorization: s3cret\r\n\r\n"
        )
        assert b"401" in await raw(server, request)
    assert "/v1/%1B%5B31m%0A%C2%9B" in lines.text
    assert "s3cret" not in lines.text
    assert "\x1b" not in lines.text


@pytest.mark.parametrize(("level", "traceback"), [(logging.INFO, False), (logging.DEBUG, True)])
async def test_what_a_route_raises_is_a_500_without_its_words(monkeypatch, lines, level, traceback):
    lines.set_level(level, logger="protocol.server")
    async with running(FakeEngine()) as server:
        monkeypatch.setattr(server.host, "close", lambda *_: 1 / 0)
        said = error(await server.client.delete("/v1/streaming/sessions/x"), 500)
        assert "division" not in said
        assert server.count("stream_errors_total", code="500") == 1
    assert "unexpected ZeroDivisionError: division by zero" in lines.text
    assert ("Traceback" in lines.text) is traceback
