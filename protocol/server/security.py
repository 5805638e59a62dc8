"""Who may use the server: the checks that come before any route."""

from __future__ import annotations

import hmac
import ipaddress
from typing import TYPE_CHECKING, Final

from protocol.server.answers import refusal
from protocol.server.settings import ANY

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from protocol.server.settings import ServerSettings

OPEN_PATHS: Final = frozenset({"/health", "/v1/health/live", "/v1/health/ready"})
"""What needs no key: load balancers and probes have none."""


class Gate:
    """ASGI middleware that refuses a request by its headers alone, its body unread.

    - A browser on a page of another site says so in ``Origin`` and is refused, unless that origin is allowed.
    - A page that had its own name resolve to this machine (DNS rebinding) gives itself away by the name in
      ``Host``. A server with a key needs no such check, since that page's browser has none; names may then
      be anything unless some are listed.
    - The key is compared in constant time.
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        """`app` gets what passes."""
        self._app = app
        self._key = settings.api_key.encode() if settings.api_key else None
        self._origins = frozenset(origin.lower().rstrip("/") for origin in settings.allowed_origins)
        self._hosts = tuple(host.lower() for host in settings.allowed_hosts)
        self._any_host = ANY in self._hosts or (self._key is not None and not self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers 401 or 403 itself, to a WebSocket too, or hands the request on."""
        if scope["type"] in ("http", "websocket"):
            headers = dict(scope["headers"])  # of a repeated header the last counts
            path = scope["path"]
            refused = self._refuse_host(headers) or self._refuse_origin(headers)
            if refused is not None:
                await refusal(403, refused, path)(scope, receive, send)
                return
            if self._key is not None and path not in OPEN_PATHS:
                refused = self._refuse_key(headers.get(b"authorization", b""), self._key)
                if refused is not None:
                    await refusal(401, refused, path, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
                    return
        await self._app(scope, receive, send)

    def _refuse_host(self, headers: dict[bytes, bytes]) -> str | None:
        host = _host_name(headers.get(b"host", b""))
        if self._any_host or _is_local_or_address(host) or any(_matches(host, name) for name in self._hosts):
            return None
        return f"this server does not go by the name {host!r}; --allow-host gives it that name"

    def _refuse_origin(self, headers: dict[bytes, bytes]) -> str | None:
        given = headers.get(b"origin")
        if given is None or ANY in self._origins:
            return None
        origin = given.decode("latin-1").lower()
        own = headers.get(b"host", b"").decode("latin-1").lower()
        if origin in self._origins or origin in (f"http://{own}", f"https://{own}"):
            return None
        return f"pages of {origin!r} may not use this server; --allow-origin lets them"

    @staticmethod
    def _refuse_key(authorization: bytes, key: bytes) -> str | None:
        scheme, _, token = authorization.partition(b" ")
        if scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), key):
            return None
        asked = "the API key is wrong" if authorization else "an API key is needed"
        return f"{asked}: send it as 'Authorization: Bearer KEY'"


def _host_name(header: bytes) -> str:
    """The name in a Host header, without its port, in lower case."""
    text = header.decode("latin-1").strip().lower()
    if text.startswith("["):  # an IPv6 address
        return text[1:].partition("]")[0]
    return text.partition(":")[0]


def _is_local_or_address(host: str) -> bool:
    """Names that no foreign web page can have: an address is not resolved, and localhost is this machine.

    HTTP/1.0 knows no Host; no browser speaks it.
    """
    if host in ("", "localhost") or host.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _matches(host: str, allowed: str) -> bool:
    return host == allowed or (allowed.startswith("*.") and host.endswith(allowed[1:]))
