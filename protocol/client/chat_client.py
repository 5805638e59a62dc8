"""The client of a server of chat completions: its models, and replies as they stream."""

from __future__ import annotations

import asyncio
import base64
import re
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from protocol.chat_server import Picture
from protocol.client.answer import Answer
from protocol.client.backoff import Backoff, retry_after_s
from protocol.client.chat_models import find_models
from protocol.client.chat_reply import DONE, read_event, read_whole
from protocol.client.event_stream import EventStream
from protocol.client.failures import refused
from protocol.client.frame_encoder import encode_frame
from protocol.errors import EngineError, EngineFailure, FrameRefused, StreamError, Unavailable
from protocol.redaction import mask_credentials

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from protocol.chat_server import Chunk, ListedModel
    from protocol.client.connection import Connection
    from protocol.client.event_stream import Event
    from protocol.frame import Frame

KEY_HINT = "give a key with --api-key or OPENAI_API_KEY"

MAX_REPLY_BYTES = 8 * 1024 * 1024
"""Longest stream that is read; a chunk of a few letters takes some 300 bytes."""

_REFUSING = (400, 413, 415, 422)
_LATER = (429, 503)
_LONG_S = 5.0
"""A person wonders what is going on after so much waiting."""
_LAST_WORDS_S = 0.25
"""So long the end of a response is waited for after the last event, so that its connection is used again."""


@dataclass(frozen=True, slots=True)
class _TryLater:
    """There is no answer yet, and nothing was begun: why, and when the server says to ask again."""

    error: StreamError
    after_s: float | None = None


class ChatClient:
    """See `protocol.chat_server.ChatServer`.

    The base URL may end with the version (``/v1``) or before it: without one, ``/v1`` is tried first and the
    URL as it stands then.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        backoff: Backoff | None = None,
        key_hint: str = KEY_HINT,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Contacts nothing yet.

        Args:
            key_hint: says how a key is given.
            warn: hears what is waited for, if it takes long.
        """
        self._connection = connection
        self._settings = connection.settings
        self._address = connection.address
        self._backoff = backoff or Backoff()
        self._key_hint = key_hint
        self._warn = warn
        self._roots = ("",) if re.search(r"/v\d[^/]*$", self._address.url) else ("/v1", "")
        self._root = self._roots[0]

    @property
    def name(self) -> str:
        """See `ChatServer.name`."""
        return str(self._address)

    async def models(self) -> list[ListedModel] | None:
        """See `ChatServer.models`. A server without a list is one if it has the route for chat.

        Raises:
            Unavailable: it cannot be reached, or is not ready.
            EngineError: it is no such server, or refuses the key.
        """
        self._root, listed = await find_models(self._connection, self._roots, self._refused)
        return listed

    def picture(self, frame: Frame) -> Picture:
        """See `ChatServer.picture`."""
        encoding = self._settings.frame_encoding
        data, size = encode_frame(frame, encoding)
        return Picture(f"data:image/{encoding};base64,{base64.b64encode(data).decode('ascii')}", size)

    async def reply(self, body: bytes) -> AsyncGenerator[Chunk, None]:
        """See `ChatServer.reply`.

        Sent again, after a pause, only while nothing was answered: when the connection fails before a
        response, and when the server has no room now (429 and 503).
        """
        deadline = asyncio.get_running_loop().time() + self._settings.frame_timeout_s
        pauses = self._backoff.pauses()
        waited_s = 0.0
        while True:
            async with AsyncExitStack() as held:
                begun = await self._begin(held, body, deadline)
                if isinstance(begun, httpx.Response):
                    async with aclosing(self._chunks(begun, deadline)) as chunks:
                        async for chunk in chunks:
                            yield chunk
                    return
            pause_s = self._pause_s(begun, next(pauses, None), deadline)
            if waited_s < _LONG_S <= waited_s + pause_s:
                self._warn(f"{begun.error.message}; it is waited for")
            waited_s += pause_s
            await asyncio.sleep(pause_s)

    async def close(self) -> None:
        """See `ChatServer.close`."""
        await self._connection.close()

    # Asking.

    async def _begin(self, held: AsyncExitStack, body: bytes, deadline: float) -> httpx.Response | _TryLater:
        """A response that grants the request, open until `held` is closed; or why there is none yet."""
        try:
            async with asyncio.timeout_at(deadline):
                post = self._connection.post(f"{self._root}/chat/completions", body)
                response = await held.enter_async_context(post)
                if response.status_code == 200:
                    return response
                return self._failed(response, await _read(response))
        except TimeoutError as error:
            raise self._silent() from error
        except Unavailable as error:
            lost = self._failure(error.message.removeprefix(f"{self._address}: "), error.hint)
            if isinstance(error.__cause__, httpx.TimeoutException):  # it has been waited for long enough
                raise lost from error
            return _TryLater(lost)
        except EngineError as error:
            raise EngineFailure(error.message, hint=error.hint) from error
        except (httpx.HTTPError, OSError) as error:
            raise self._failure("the answer broke off") from error

    def _failed(self, response: httpx.Response, body: bytes) -> _TryLater:
        """What a response that grants nothing comes to.

        Raises:
            FrameRefused: it is this request that is not taken.
            EngineFailure: it is any other failure.
        """
        status = response.status_code
        answer = Answer(status, body, _media_type(response), response.headers.get("location", ""))
        said = self._mask(answer.reason)
        if status in _REFUSING:
            raise FrameRefused(f"{self._address}: refuses the request ({status}): {said}", code=status)
        if status in _LATER:
            why = "asked too often" if status == 429 else "has no room now"
            busy = FrameRefused(f"{self._address}: {why} ({status}): {said}", code=status)
            return _TryLater(busy, retry_after_s(response.headers.get("retry-after")))
        if status in (401, 403) or 300 <= status < 400:
            error = self._refused(f"{self._root}/chat/completions", answer)
            raise EngineFailure(error.message, hint=error.hint)
        raise self._failure(f"did not answer ({status}): {said}")

    def _pause_s(self, later: _TryLater, pause_s: float | None, deadline: float) -> float:
        """How long to wait before the next try; `pause_s` is None when there is none.

        Raises:
            StreamError: it is of no use to wait any longer.
        """
        error, after_s = later.error, later.after_s or 0.0
        if after_s > self._backoff.patience_s:
            error.hint = f"it asks to be left alone for {after_s:.0f} s"
            raise error
        if pause_s is None:
            error.hint = error.hint or f"it was asked {self._backoff.tries} times"
            raise error
        pause_s = max(pause_s, after_s)
        if asyncio.get_running_loop().time() + pause_s >= deadline:
            raise error
        return pause_s

    # Reading.

    async def _chunks(self, response: httpx.Response, deadline: float) -> AsyncGenerator[Chunk, None]:
        kind = _media_type(response)
        if kind == "application/json":  # it does not stream
            yield await self._whole(response, deadline)
            return
        if kind not in ("text/event-stream", ""):
            found = "a web page" if kind == "text/html" else kind
            raise self._failure(f"answered with {found} and not with a stream of events")
        chosen = ended = False
        async with aclosing(self._events(response, deadline)) as events:
            async for event in events:
                if event.data.strip() == DONE:
                    ended = chosen
                    continue
                try:
                    chunk = read_event(event)
                except EngineFailure as error:
                    raise self._failure(error.message) from error
                if chunk is not None:
                    chosen = chosen or chunk.usage is None or chunk.finish_reason is not None
                    ended = ended or chunk.finish_reason is not None
                    yield chunk
        if not ended:
            raise self._failure("the answer broke off before its end")

    async def _events(self, response: httpx.Response, deadline: float) -> AsyncGenerator[Event, None]:
        """The events of a response, to its end."""
        received = response.aiter_bytes()
        stream = EventStream()
        length, done = 0, False
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    piece = await anext(received, None)
            except TimeoutError as error:
                if done:
                    return
                raise self._silent() from error
            except (httpx.HTTPError, OSError) as error:
                if done:
                    return
                raise self._failure("the answer broke off before its end") from error
            length += len(piece or b"")
            if length > MAX_REPLY_BYTES:
                raise self._failure("the answer has no end")
            for event in stream.end() if piece is None else stream.feed(piece):
                if done:
                    continue
                if event.data.strip() == DONE:
                    done = True
                    deadline = asyncio.get_running_loop().time() + _LAST_WORDS_S
                yield event
            if piece is None:
                return

    async def _whole(self, response: httpx.Response, deadline: float) -> Chunk:
        try:
            async with asyncio.timeout_at(deadline):
                body = await _read(response)
        except TimeoutError as error:
            raise self._silent() from error
        except (httpx.HTTPError, OSError) as error:
            raise self._failure("the answer broke off") from error
        try:
            return read_whole(body)
        except EngineFailure as error:
            raise self._failure(error.message) from error

    # Saying what went wrong.

    def _failure(self, reason: str, hint: str = "") -> EngineFailure:
        return EngineFailure(f"{self._address}: {self._mask(reason)}", hint=hint)

    def _silent(self) -> EngineFailure:
        return self._failure(
            f"no whole answer within {self._settings.frame_timeout_s:g} s", "--frame-timeout waits longer"
        )

    def _mask(self, said: str) -> str:
        """`said` without the key, should the server repeat it."""
        key = self._settings.api_key
        return mask_credentials(said.replace(key, "***") if key else said)

    def _refused(self, path: str, answer: Answer) -> EngineError | Unavailable:
        error = refused(self._address, path, answer, key_hint=self._key_hint)
        error.message = self._mask(error.message)
        return error


async def _read(response: httpx.Response) -> bytes:
    received = bytearray()
    async for piece in response.aiter_bytes():
        received += piece
        if len(received) > MAX_REPLY_BYTES:
            break
    return bytes(received)


def _media_type(response: httpx.Response) -> str:
    found: str = response.headers.get("content-type", "")
    return found.partition(";")[0].strip().lower()
