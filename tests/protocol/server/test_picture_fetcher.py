"""The fetcher against real servers on this machine, which it is either let to or not."""

from __future__ import annotations

import asyncio
import contextlib
import ssl

import pytest
import trustme

from protocol.errors import FrameTooLarge, InvalidRequest
from protocol.limits import MAX_FRAME_BYTES
from protocol.server.picture_fetcher import PictureFetcher
from tests.protocol.server.running import picture

PICTURE = picture()


class Web:
    """A server that says `answer` to everything, then closes; None is silence. `requests` has what came."""

    def __init__(self, answer: bytes | None) -> None:
        self.answer = answer
        self.connections = 0
        self.requests: list[str] = []
        self.port = 0
        self.over = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
            if self.answer is None:
                await self.over.wait()
            else:
                writer.write(self.answer)
                await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()


def answer(body: bytes = PICTURE, status: str = "200 OK", *headers: str, length: int | None = None) -> bytes:
    declared = len(body) if length is None else length
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {declared}", "Connection: close", *headers])
    return f"{head}\r\n\r\n".encode() + body


@contextlib.asynccontextmanager
async def web(said: bytes | None = None, host: str = "127.0.0.1", **options):
    site = Web(said)
    server = await asyncio.start_server(site.serve, host, 0, **options)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        site.over.set()
        server.close()
        await server.wait_closed()


def trusting(*addresses: str, **options) -> PictureFetcher:
    """A fetcher that takes these addresses for public, and finds every host there."""

    async def look_up(host: str, port: int) -> list[str]:
        return list(addresses or ("127.0.0.1",))

    return PictureFetcher(**{"allowed": lambda address: True, "look_up": look_up, **options})


async def test_a_picture_is_fetched():
    async with web(answer()) as site:
        fetched = await trusting().fetch(f"http://pictures.example:{site.port}/a/b.jpg?size=2")
    assert fetched == PICTURE
    [request] = site.requests
    lines = request.lower().split("\r\n")
    assert lines[0] == "get /a/b.jpg?size=2 http/1.1"
    assert f"host: pictures.example:{site.port}" in lines
    assert "accept-encoding: identity" in lines
    assert not [line for line in lines if line.startswith(("cookie", "authorization", "referer"))]


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "LOCALHOST.", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "0.0.0.0",
        "0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "user:password@127.0.0.1",
        "1.1.1.1@127.0.0.1", "127.0.0.1.",
    ],
)  # fmt: skip
async def test_this_machine_is_not_reached_however_it_is_written(host):
    async with web(answer()) as site:
        with pytest.raises(InvalidRequest) as refused:
            await PictureFetcher().fetch(f"http://{host}:{site.port}/")
    assert site.connections == 0
    assert "password" not in str(refused.value)


async def test_the_address_that_was_checked_is_the_one_that_is_connected_to():
    asked: list[tuple[str, int]] = []
    async with web(answer()) as public, web(answer(b"secret"), "127.0.0.2") as private:

        async def look_up(host: str, port: int) -> list[str]:
            asked.append((host, port))  # whoever asked again would be sent to the other one
            return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

        fetcher = PictureFetcher(allowed=lambda address: address == "127.0.0.1", look_up=look_up)
        assert await fetcher.fetch(f"http://rebinding.example:{public.port}/") == PICTURE
        with pytest.raises(InvalidRequest, match="public"):
            await fetcher.fetch(f"http://rebinding.example:{private.port}/")
    assert asked == [("rebinding.example", public.port), ("rebinding.example", private.port)]
    assert (public.connections, private.connections) == (1, 0)


async def test_of_several_addresses_a_public_one_is_taken():
    async with web(answer()) as site:
        fetcher = trusting("127.0.0.2", "127.0.0.1", allowed=lambda address: address == "127.0.0.1")
        assert await fetcher.fetch(f"http://pictures.example:{site.port}/") == PICTURE


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "307 Temporary Redirect"])
async def test_redirects_are_not_followed(status):
    async with web(answer()) as elsewhere:
        location = f"Location: http://127.0.0.1:{elsewhere.port}/"
        async with web(answer(b"", status, location)) as site:
            with pytest.raises(InvalidRequest, match=r"redirects are not followed"):
                await trusting().fetch(f"http://pictures.example:{site.port}/")
    assert elsewhere.connections == 0


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (answer(b"", "404 Not Found"), "404"),
        (answer(b"", "500 Oops"), "500"),
        (answer(PICTURE, "200 OK", "Content-Encoding: gzip"), "compressed"),
        (answer(PICTURE, length=len(PICTURE) + 1), "cannot fetch"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "cannot fetch"),
        (b"", "cannot fetch"),
    ],
)
async def test_what_gives_no_file_is_an_error_of_the_request(said, why):
    async with web(said) as site:
        with pytest.raises(InvalidRequest, match=why):
            await trusting().fetch(f"http://pictures.example:{site.port}/")


async def test_a_file_that_is_declared_too_large_is_not_read():
    async with web(answer(b"", length=MAX_FRAME_BYTES + 1)) as site:
        with pytest.raises(FrameTooLarge):
            await trusting().fetch(f"http://pictures.example:{site.port}/")


async def test_a_file_that_goes_on_is_read_no_further():
    endless = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + bytes(MAX_FRAME_BYTES + 1)
    async with web(endless) as site:
        with pytest.raises(FrameTooLarge):
            await trusting().fetch(f"http://pictures.example:{site.port}/")
        site.answer = endless[:-1]
        assert len(await trusting().fetch(f"http://pictures.example:{site.port}/")) == MAX_FRAME_BYTES


async def test_a_server_that_says_nothing_is_given_up():
    async with web(None) as site:
        with pytest.raises(InvalidRequest, match=r"within 0\.2 s"):
            await trusting(timeout_s=0.2).fetch(f"http://pictures.example:{site.port}/")


async def test_nobody_there_is_an_error_of_the_request():
    async with web(None) as site:
        port = site.port
    with pytest.raises(InvalidRequest, match="cannot fetch"):
        await trusting().fetch(f"http://pictures.example:{port}/")


@pytest.mark.parametrize(
    "url", ["http://", "http:///a.jpg", "file:///etc/passwd", "http://[::1", "http://a b/"]
)
async def test_what_is_no_such_url_is_an_error_of_the_request(url):
    with pytest.raises(InvalidRequest):
        await trusting().fetch(url)


async def test_a_name_that_nobody_knows_is_an_error_of_the_request():
    async def unknown(host: str, port: int) -> list[str]:
        raise OSError("Name or service not known")

    with pytest.raises(InvalidRequest, match="not known"):
        await PictureFetcher(look_up=unknown).fetch("https://nowhere.invalid/")


async def test_a_certificate_must_be_that_of_the_name():
    authority = trustme.CA()
    served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("pictures.example").configure_cert(served)
    trusted = ssl.create_default_context()
    authority.configure_trust(trusted)
    async with web(answer(), ssl=served) as site:
        fetcher = trusting(tls=trusted)
        assert await fetcher.fetch(f"https://pictures.example:{site.port}/") == PICTURE
        with pytest.raises(InvalidRequest, match="certificate"):
            await fetcher.fetch(f"https://other.example:{site.port}/")
        with pytest.raises(InvalidRequest, match="certificate"):
            await trusting().fetch(f"https://pictures.example:{site.port}/")
