"""Reading a request's body within its limit."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from protocol.errors import FrameTooLarge, InvalidRequest

if TYPE_CHECKING:
    from starlette.requests import Request

STALL_TIMEOUT_S: Final = 60.0
"""Longest pause within a body, so that a client that stops half-way does not hold its memory for ever."""


async def read_body(request: Request, max_bytes: int, what: str, *, hint: str = "") -> bytes:
    """The whole body, of at most `max_bytes`.

    One that is declared to be longer is refused before any of it is read; one of no declared length at the
    first byte too many. What still comes after that is read by nobody and kept nowhere.

    Args:
        what: what the body is, for the message of its error; `hint` says what to do about its length.

    Raises:
        FrameTooLarge: it is longer.
        InvalidRequest: it stopped arriving.
        ClientDisconnect: the client is gone.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > max_bytes:
        raise _too_large(what, max_bytes, f"{int(declared):,} bytes", hint)
    body = bytearray()
    chunks = request.stream()
    while True:
        try:
            async with asyncio.timeout(STALL_TIMEOUT_S):
                chunk = await anext(chunks, None)
        except TimeoutError:
            raise InvalidRequest(f"{what} stopped arriving after {len(body):,} bytes") from None
        if chunk is None:
            return bytes(body)
        if len(body) + len(chunk) > max_bytes:
            raise _too_large(what, max_bytes, "more", hint)
        body += chunk


def media_type(request: Request) -> str:
    """The type its Content-Type names, without parameters; empty where it names none."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _too_large(what: str, max_bytes: int, got: str, hint: str) -> FrameTooLarge:
    return FrameTooLarge(f"{what} may have {max_bytes:,} bytes, and has {got}", hint=hint)
