"""Why a server cannot be spoken to, in one line each."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

import httpx

from protocol.errors import EngineError, EngineFailure, SessionError, StreamError, Unavailable
from protocol.redaction import mask_credentials

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol.client.address import ServerAddress
    from protocol.client.answer import Answer

KEY_HINT = "give a key with --api-key or STREAM_API_KEY"


def unreachable(
    address: ServerAddress, error: BaseException, *, timeout_s: float
) -> EngineError | Unavailable:
    """What `error`, of a socket, of TLS or of the library on top, means to a person."""
    causes = list(_causes(error))

    def first(*kinds: type[BaseException]) -> BaseException | None:
        return next((cause for cause in causes if isinstance(cause, kinds)), None)

    if isinstance(untrusted := first(ssl.SSLCertVerificationError), ssl.SSLCertVerificationError):
        return EngineError(
            f"{address}: its certificate is not trusted: {untrusted.verify_message.rstrip('.')}",
            hint="--ca-cert FILE trusts whoever signed it, --insecure takes any",
        )
    if isinstance(broken := first(ssl.SSLError), ssl.SSLError):
        reason = (broken.reason or str(broken)).replace("_", " ").lower()
        return EngineError(f"{address}: TLS failed: {reason}", hint="if it speaks plain HTTP, write http://")
    if first(socket.gaierror):
        return Unavailable(f"{address}: no host of that name is known", hint="check the name")
    if first(httpx.ProxyError):
        return Unavailable(f"{address}: the proxy refuses: {error}", hint="NO_PROXY lists hosts without one")
    if first(ConnectionRefusedError):
        return Unavailable(
            f"{address}: nothing listens there (connection refused)",
            hint="start the server, or check host and port",
        )
    if first(TimeoutError, httpx.TimeoutException):
        return Unavailable(
            f"{address}: cannot be reached within {timeout_s:g} s", hint="check host, port and network"
        )
    tls_hint = "" if address.secure else "if it speaks TLS, write https://"
    if first(httpx.RemoteProtocolError):
        if "disconnected" in str(error):
            return Unavailable(f"{address}: hung up without an answer", hint=tls_hint)
        return EngineError(f"{address}: does not speak HTTP", hint=tls_hint)
    if first(httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError):
        return EngineError(f"{address}: not a URL that can be reached: {error}")
    reason = next((cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror), "")
    return Unavailable(f"{address}: the connection broke{f': {reason.lower()}' if reason else ''}")


def refused(
    address: ServerAddress, path: str, answer: Answer, *, key_hint: str = KEY_HINT
) -> EngineError | Unavailable:
    """What an HTTP answer that grants nothing means to a person, whatever was asked at `path`."""
    status, reason = answer.status, answer.reason
    said = f"{status}: {reason}"
    if status in (401, 403):
        return EngineError(f"{address}: refuses access ({said})", hint=key_hint)
    if 300 <= status < 400:
        where = f" to {mask_credentials(answer.location)}" if answer.location else ""
        return EngineError(f"{address}: redirects{where}", hint="give the address it redirects to")
    if status in (502, 503, 504):
        return Unavailable(f"{address}: not ready ({said})", hint="wait until its model is loaded")
    if status == 429:
        return Unavailable(f"{address}: asked too often ({said})", hint="try again later")
    return EngineError(f"{address}: answers {path} with {said}", hint="check the URL")


def not_admitted(address: ServerAddress, error: SessionError) -> StreamError:
    """A session was refused by `error`: the same, with the server named; a failing server is one broken."""
    if isinstance(error, EngineFailure):
        return EngineError(f"{address}: created no session ({error.code}): {error.message}")
    hint = "wait, or close other sessions" if isinstance(error, Unavailable) else ""
    return type(error)(f"{address}: {error.message}", hint=hint)


def out_of_order(address: ServerAddress, index: int, last: int) -> EngineError:
    """A frame was answered with an index that does not follow the one before."""
    return EngineError(
        f"{address}: answered frame {index} after frame {last}: answers are not of the frames they follow"
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """`error` and what led to it, groups opened."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        cause = waiting.pop(0)
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            waiting += cause.exceptions
        waiting += [each for each in (cause.__cause__, cause.__context__) if each is not None]
