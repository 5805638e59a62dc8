"""Where a server is."""

from __future__ import annotations

import ipaddress
from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from protocol.errors import UsageError
from protocol.redaction import mask_url

_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The base URL of a server, without what is secret in it.

    Attributes:
        url: ``http(s)://host[:port][/prefix]``, no slash at its end.
        authorization: the `Authorization` header that a user name and password in the URL stand for.
    """

    url: str
    authorization: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, text: str, *, given_as: str = "--nim-url") -> ServerAddress:
        """The address `text` gives: a trailing slash, a path prefix and ``ws://`` or ``wss://`` will do.

        Raises:
            UsageError: it is no such URL; `given_as` is what the error calls it.
        """
        shown = f"{given_as} {_masked(text)}"
        if "://" not in text:
            bare = text.rpartition("@")[2].lstrip("/")
            raise UsageError(f"{shown}: a URL begins with http:// or https://", hint=f"write http://{bare}")
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise UsageError(f"{shown}: not a URL: {_masked(str(error))}") from error
        scheme = _SCHEMES.get(parts.scheme.lower())
        if scheme is None:
            raise UsageError(f"{shown}: a server is reached by http:// or https://")
        if not host or port == 0 or any(letter.isspace() for letter in text):
            raise UsageError(f"{shown}: not a URL: it names no host and port to connect to")
        if parts.query or parts.fragment:
            raise UsageError(f"{shown}: the base URL has no ? or # in it", hint="give host, port and prefix")
        user = parts.netloc.rpartition("@")[0]
        path = parts.path.rstrip("/")
        return cls(
            f"{scheme}://{parts.netloc.rpartition('@')[2]}{path}",
            "Basic " + b64encode(unquote(user).encode()).decode() if user else None,
        )

    @property
    def secure(self) -> bool:
        """Whether TLS is spoken."""
        return self.url.startswith("https:")

    @property
    def loopback(self) -> bool:
        """Whether it is this machine itself, which no proxy can lead to."""
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")

    @property
    def websocket_url(self) -> str:
        """The base URL for a WebSocket."""
        return "ws" + self.url.removeprefix("http")

    def __str__(self) -> str:
        return self.url


def _masked(text: str) -> str:
    """`text` without a password in it, also where it is no URL."""
    masked = mask_url(text)
    return f"***@{masked.rpartition('@')[2]}" if "@" in masked and "://" not in masked else masked
