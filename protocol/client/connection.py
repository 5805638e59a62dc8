"""The way to one server: its address, its TLS, its key, and HTTP requests to it."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from time import perf_counter
from typing import TYPE_CHECKING

import httpx

from protocol.client.answer import Answer
from protocol.client.failures import unreachable
from protocol.errors import EngineError, Unavailable, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from protocol.client.settings import ClientSettings

MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""Longest answer that is read; the protocol's own are some hundred bytes."""

_KEEPALIVE_S = 2.0
"""An idle connection is used again for so long. Servers drop theirs after 5 s, and a request that meets a
connection being dropped is lost: frames are not sent twice."""


class Connection:
    """Everything that is asked of one server goes through this; redirects are refused, not followed.

    Attributes:
        headers: sent with every request and WebSocket.
        tls: for ``https`` and ``wss``; None without.
    """

    def __init__(self, settings: ClientSettings) -> None:
        """Connects to nothing yet.

        Raises:
            UsageError: the file of certificates cannot be read.
        """
        self.address = settings.address
        self.settings = settings
        self.headers: dict[str, str] = {}
        if settings.api_key:
            self.headers["Authorization"] = f"Bearer {settings.api_key}"
        elif settings.address.authorization:
            self.headers["Authorization"] = settings.address.authorization
        self.tls = _tls(settings) if settings.address.secure else None
        self._client: httpx.AsyncClient | None = None

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        timeout_s: float | None = None,
    ) -> Answer:
        """Sends `body` (JSON) and reads the answer, whatever its status.

        Args:
            path: from the base URL on, ``/v1/models`` for one.
            timeout_s: for all of it; None is the settings' for everything but frames.

        Raises:
            Unavailable: there is no answer: nothing listens, it took too long, the connection broke.
            EngineError: it is no HTTP answer, or TLS failed.
        """
        limit_s = self.settings.control_timeout_s if timeout_s is None else timeout_s
        headers = {"Content-Type": "application/json"} if body is not None else {}
        started = perf_counter()
        try:
            async with (
                asyncio.timeout(limit_s),
                self._http().stream(
                    method, self.address.url + path, content=body, headers=headers
                ) as response,
            ):
                received = bytearray()
                async for chunk in response.aiter_bytes():
                    received += chunk
                    if len(received) > MAX_ANSWER_BYTES:
                        raise EngineError(f"{self.address}: the answer to {path} has no end")
        except TimeoutError as error:
            raise Unavailable(f"{self.address}: no answer within {limit_s:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            raise unreachable(self.address, error, timeout_s=self.settings.control_timeout_s) from error
        return Answer(
            status=response.status_code,
            body=bytes(received),
            content_type=response.headers.get("content-type", "").partition(";")[0].strip().lower(),
            location=response.headers.get("location", ""),
            elapsed_s=perf_counter() - started,
        )

    @asynccontextmanager
    async def post(self, path: str, body: bytes) -> AsyncGenerator[httpx.Response, None]:
        """Sends `body` (JSON) and gives the response once its head is there, whatever its status, to be read.

        The caller sets a limit of time. What goes wrong while the response is read is the caller's, too.

        Raises:
            Unavailable: there is no response: nothing listens, or the connection broke.
            EngineError: it is no HTTP response, or TLS failed.
        """
        request = self._http().build_request(
            "POST", self.address.url + path, content=body, headers={"Content-Type": "application/json"}
        )
        try:
            response = await self._http().send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            raise unreachable(self.address, error, timeout_s=self.settings.control_timeout_s) from error
        try:
            yield response
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Lets go of the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _http(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(
                headers=self.headers,
                verify=self.tls if self.tls is not None else False,  # False: loads no certificates
                timeout=httpx.Timeout(None, connect=self.settings.control_timeout_s),
                limits=httpx.Limits(keepalive_expiry=_KEEPALIVE_S),
                follow_redirects=False,
                trust_env=not self.address.loopback,  # the environment's proxies
            )
        return self._client


def _tls(settings: ClientSettings) -> ssl.SSLContext:
    context = httpx.create_ssl_context(verify=not settings.insecure)
    if settings.ca_cert is not None:
        try:
            context.load_verify_locations(settings.ca_cert)
        except OSError as error:  # an SSLError is one too
            reason = "no PEM certificates in it" if isinstance(error, ssl.SSLError) else error.strerror
            raise UsageError(f"--ca-cert {settings.ca_cert}: {reason}") from error
    return context
