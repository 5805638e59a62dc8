"""Base URLs as people give them."""

import pytest

from protocol.client.address import ServerAddress
from protocol.errors import UsageError


@pytest.mark.parametrize(
    ("given", "url", "websocket"),
    [
        ("http://localhost:8000", "http://localhost:8000", "ws://localhost:8000"),
        ("http://localhost:8000/", "http://localhost:8000", "ws://localhost:8000"),
        ("https://host/nim//", "https://host/nim", "wss://host/nim"),
        ("ws://host:1/a/b", "http://host:1/a/b", "ws://host:1/a/b"),
        ("WSS://Host", "https://Host", "wss://Host"),
        ("http://[::1]:8000", "http://[::1]:8000", "ws://[::1]:8000"),
    ],
)
def test_what_is_taken(given: str, url: str, websocket: str) -> None:
    address = ServerAddress.parse(given)
    assert (address.url, str(address), address.websocket_url) == (url, url, websocket)
    assert address.secure == url.startswith("https")
    assert address.authorization is None


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://localhost:8000", True), ("https://127.0.0.2", True), ("http://[::1]:1", True),
        ("http://a.localhost", True), ("http://localhost.example.com", False), ("http://10.0.0.1", False),
    ],
)  # fmt: skip
def test_which_is_this_machine(url: str, loopback: bool) -> None:
    assert ServerAddress.parse(url).loopback is loopback


def test_credentials_become_a_header_and_are_shown_nowhere() -> None:
    address = ServerAddress.parse("https://me:p%40ss@host/nim")
    assert address.url == "https://host/nim"
    assert address.authorization == "Basic bWU6cEBzcw=="  # me:p@ss
    assert "bWU6" not in repr(address)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("localhost:8000", "--nim-url localhost:8000: a URL begins with .*; write http://localhost:8000"),
        ("me:secret@host:8000", r"--nim-url \*\*\*@host:8000: .*; write http://host:8000"),
        ("", "a URL begins with http"),
        ("ftp://host", "by http:// or https://"),
        ("http://", "names no host"),
        ("http://host:0", "names no host and port"),
        ("http://host:99999", "not a URL"),
        ("http://[::1", "not a URL"),
        ("http://ho st", "not a URL"),
        ("http://me:secret@host/?key=secret", r"http://\*\*\*@host/\?key=\*\*\*: the base URL has no \?"),
    ],
)
def test_what_is_refused_and_how_it_is_written(given: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        ServerAddress.parse(given)
    assert "secret" not in str(caught.value)


def test_an_error_names_what_gave_the_url() -> None:
    with pytest.raises(UsageError, match=r"^NIM_URL host: "):
        ServerAddress.parse("host", given_as="NIM_URL")
