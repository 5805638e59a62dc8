"""Fetching pictures by their URLs, from the public internet only."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Final

import httpx

from protocol.errors import FrameTooLarge, InvalidRequest
from protocol.limits import IMAGE_FETCH_TIMEOUT_S, MAX_FRAME_BYTES
from protocol.picture import check_bytes
from protocol.redaction import mask_url
from protocol.server.public_address import is_public
from protocol.wire import one_line

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

_HEADERS: Final = {"Accept": "image/jpeg, image/png", "Accept-Encoding": "identity", "User-Agent": "stream"}


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of `host`, in the system's order.

    Raises:
        OSError: it has none.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class PictureFetcher:
    """Gets the bytes of a picture at an http(s) URL, and nothing that is not the whole world's to get.

    A client names the URL and this machine opens the connection, so the guard is the address: it is looked up
    once, it must be a public one, and the connection goes to that very address. A name that changes its
    mind between check and connection (DNS rebinding) is not asked again. Redirects are not followed, proxies
    of the environment not used (they would look the name up themselves), and cookies not kept.
    """

    def __init__(
        self,
        *,
        timeout_s: float = IMAGE_FETCH_TIMEOUT_S,
        allowed: Callable[[str], bool] = is_public,
        look_up: Callable[[str, int], Awaitable[list[str]]] = resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Connects to nothing yet.

        Args:
            timeout_s: the longest one picture may take.
            allowed: says of an address whether it may be connected to.
            look_up: gives the addresses of a host.
            tls: checks the certificates of https; by the usual authorities if it is not given.
        """
        self._timeout_s = timeout_s
        self._allowed = allowed
        self._look_up = look_up
        self._tls = tls

    async def fetch(self, url: str) -> bytes:
        """The bytes at `url`, at most 8 MiB of them; whether they are a picture is not looked at.

        Raises:
            InvalidRequest: there is no such URL, it is not a public one, or it does not give a file in time.
            FrameTooLarge: it gives more.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._fetch(httpx.URL(url))
        except TimeoutError:
            raise _unfetched(url, f"nothing whole came within {self._timeout_s:g} s") from None
        except (httpx.InvalidURL, UnicodeError) as error:
            raise _unfetched(url, f"not a URL: {error}") from error
        except httpx.HTTPError as error:
            raise _unfetched(url, str(error) or type(error).__name__) from error
        except OSError as error:
            raise _unfetched(url, error.strerror or str(error)) from error

    async def _fetch(self, url: httpx.URL) -> bytes:
        if url.scheme not in ("http", "https") or not url.host:
            raise _unfetched(str(url), "not an http or https URL")
        address = await self._address(url)
        request = httpx.Request(
            "GET",
            url.copy_with(host=address),
            headers={**_HEADERS, "Host": url.netloc.decode("ascii")},
            extensions={
                "sni_hostname": url.raw_host.decode("ascii"),  # whose certificate is asked for, and checked
                "timeout": httpx.Timeout(self._timeout_s).as_dict(),
            },
        )
        tls = await self._context() if url.scheme == "https" else False
        # A client for each: a connection that was kept might be another name's with the same address.
        async with httpx.AsyncClient(verify=tls, trust_env=False, follow_redirects=False) as client:
            response = await client.send(request, stream=True)
            try:
                return await self._read(url, response)
            finally:
                await response.aclose()

    async def _address(self, url: httpx.URL) -> str:
        """The one address to connect to.

        Raises:
            InvalidRequest: none of the host's is public. Which it has is not told.
        """
        port = url.port or {"http": 80, "https": 443}[url.scheme]
        for address in await self._look_up(url.host, port):
            if self._allowed(address):
                return address
        raise _unfetched(str(url), "its host is not on the public internet")

    @staticmethod
    async def _read(url: httpx.URL, response: httpx.Response) -> bytes:
        if response.status_code != 200:
            moved = response.is_redirect
            hint = "redirects are not followed; give the picture's own URL" if moved else ""
            raise _unfetched(str(url), f"it answers {response.status_code}", hint)
        if response.headers.get("content-encoding", "identity") != "identity":
            raise _unfetched(str(url), "it is compressed, which was not asked for")
        declared = response.headers.get("content-length", "")
        if declared.isdecimal():
            check_bytes(int(declared))
        data = bytearray()
        async for chunk in response.aiter_raw():
            data += chunk
            if len(data) > MAX_FRAME_BYTES:
                raise FrameTooLarge(f"a picture of more than {MAX_FRAME_BYTES:,} bytes", hint="scale it down")
        return bytes(data)

    async def _context(self) -> ssl.SSLContext:
        if self._tls is None:  # made once: it reads all the authorities' certificates
            self._tls = await asyncio.to_thread(httpx.create_ssl_context, trust_env=False)
        return self._tls


def _unfetched(url: str, why: str, hint: str = "") -> InvalidRequest:
    return InvalidRequest(one_line(f"cannot fetch {mask_url(url)[:200]}: {why}"), hint=hint)
