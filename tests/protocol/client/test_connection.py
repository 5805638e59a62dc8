"""Requests, and every way in which there is no answer."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from protocol.client import connection as connection_module
from protocol.errors import EngineError, Unavailable, UsageError
from tests.protocol.client.servers import connection_to, http_server


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    seen = {"path": scope["path"], "method": request.method, "body": (await request.body()).decode()}
    seen["authorization"] = request.headers.get("authorization", "")
    await JSONResponse(seen)(scope, receive, send)


async def ask(url: str, path: str = "/v1/models", **options: object) -> dict[str, object]:
    connection = connection_to(url, **options)
    try:
        return (await connection.request("GET", path)).json_object() or {}
    finally:
        await connection.close()


@asynccontextmanager
async def talker(said: bytes | None) -> AsyncIterator[str]:
    """A TCP server that says `said` to whatever it hears and hangs up; None: says nothing and stays."""
    stay = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if said is None:
            await stay.wait()
        else:
            writer.write(said)
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        stay.set()
        server.close()
        await server.wait_closed()


async def test_a_request_and_its_answer() -> None:
    async with http_server(echo) as url:
        connection = connection_to(f"{url}/prefix/")
        answer = await connection.request("POST", "/v1/x", body=b"{}")
        await connection.close()
    assert answer.ok
    assert answer.content_type == "application/json"
    assert answer.elapsed_s > 0
    assert answer.json_object() == {
        "path": "/prefix/v1/x",
        "method": "POST",
        "body": "{}",
        "authorization": "",
    }


async def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    async with http_server(echo) as url:
        assert (await ask(url))["method"] == "GET"
        assert (await ask(url.replace("127.0.0.1", "localhost")))["method"] == "GET"
    with pytest.raises(Unavailable, match="refused"):  # by the proxy
        await ask("http://server.invalid")


async def test_a_key_is_a_bearer_token_and_wins_over_a_password_in_the_url() -> None:
    async with http_server(echo) as url:
        with_password = url.replace("//", "//me:secret@")
        assert (await ask(with_password))["authorization"] == "Basic bWU6c2VjcmV0"
        assert (await ask(with_password, api_key="k"))["authorization"] == "Bearer k"


async def test_redirects_are_not_followed() -> None:
    async with http_server(RedirectResponse("http://127.0.0.1:1/elsewhere")) as url:
        connection = connection_to(url)
        answer = await connection.request("GET", "/")
        await connection.close()
    assert (answer.status, answer.location) == (307, "http://127.0.0.1:1/elsewhere")


async def test_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(
            Unavailable, match=rf"^http://127.0.0.1:{port}: nothing listens there.*; start the server"
        ):
            await ask(f"http://127.0.0.1:{port}")


async def test_no_such_host() -> None:
    with pytest.raises(Unavailable, match=r"^http://no-such-host.invalid: no host of that name is known"):
        await ask("http://no-such-host.invalid")


async def test_no_answer_in_time() -> None:
    async with talker(None) as url:
        with pytest.raises(Unavailable, match=r"no answer within 0.05 s"):
            await ask(url, control_timeout_s=0.05)


async def test_the_connection_breaks() -> None:
    async with talker(b"") as url:
        with pytest.raises(Unavailable, match="hung up without an answer; if it speaks TLS, write https://"):
            await ask(url)


async def test_something_else_than_http() -> None:
    async with talker(b"SSH-2.0-OpenSSH_9.6\r\n\r\n") as url:
        with pytest.raises(EngineError, match="does not speak HTTP; if it speaks TLS, write https://"):
            await ask(url)


async def test_an_answer_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "MAX_ANSWER_BYTES", 1000)

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b" " * 100
            await asyncio.sleep(0)  # or the server would do nothing else

    async with http_server(StreamingResponse(endless())) as url:
        with pytest.raises(EngineError, match="the answer to /v1/models has no end"):
            await ask(url)


class Authority:
    """A certificate authority and a server's certificate by it, in files."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self.path = folder / "ca.pem"
        self.server = folder / "server.pem"
        authority.cert_pem.write_to_path(self.path)
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(self.server)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def test_tls_is_trusted_when_told_to(authority: Authority) -> None:
    async with http_server(
        echo, ssl_certfile=str(authority.server), ssl_keyfile=str(authority.server)
    ) as url:
        with pytest.raises(EngineError, match=r"certificate is not trusted: .*; --ca-cert FILE trusts"):
            await ask(url)
        assert (await ask(url, ca_cert=authority.path))["method"] == "GET"
        assert (await ask(url, insecure=True))["method"] == "GET"
        with pytest.raises((EngineError, Unavailable), match="if it speaks TLS, write https://"):
            await ask(url.replace("https:", "http:"))


async def test_tls_where_there_is_none() -> None:
    async with http_server(echo) as url:
        with pytest.raises(EngineError, match=r"TLS failed: .*; if it speaks plain HTTP, write http://"):
            await ask(url.replace("http:", "https:"))


def test_certificates_that_cannot_be_read(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing")
    with pytest.raises(UsageError, match=r"--ca-cert .*empty\.pem: no PEM certificates in it"):
        connection_to("https://h", ca_cert=empty)
    with pytest.raises(UsageError, match=r"--ca-cert .*none\.pem: No such file"):
        connection_to("https://h", ca_cert=tmp_path / "none.pem")


def test_certificates_are_loaded_only_for_tls() -> None:
    assert connection_to("http://h").tls is None
    assert isinstance(connection_to("https://h").tls, ssl.SSLContext)
