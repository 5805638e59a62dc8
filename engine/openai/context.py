"""A conversation held here, and sent as a whole to a server that holds none."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.openai.sizes import TURN_TOKENS
from protocol.context import Delta, Image, Text, Turn, TurnSize
from protocol.errors import (
    EngineFailure,
    FrameRefused,
    FrameTooLarge,
    InputError,
    InvalidRequest,
    SessionError,
    Unavailable,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from engine.openai.guide import Guide
    from engine.openai.requests import ChatRequests
    from engine.openai.sizes import PromptSizes
    from protocol.chat_server import ChatServer, Chunk, Picture, Usage
    from protocol.messages import Sampling

MOST_REFUSED = 3
"""A server that refuses so many frames in a row would refuse the next as well."""

_PREPARED = 2
"""Prepared pictures that are kept: the one whose turn has come and the next."""
_TOO_LONG = re.compile(
    r"context.?(?:length|size|window)|too many tokens|prompt is too long"
    r"|exceeds?\b.{0,60}\b(?:context|tokens)",
    re.IGNORECASE,
)
_OF_PICTURES = re.compile(r"\b(?:image|picture|multimodal|multi-modal)s?\b|image\(s\)", re.IGNORECASE)
_FEWER = "a lower --max-video-segments sends it fewer pictures at a time"
_REFUSALS: dict[int | None, type[SessionError]] = {413: FrameTooLarge, 429: Unavailable, 503: Unavailable}


@dataclass(frozen=True, slots=True)
class _Held:
    """A turn as it is sent, each picture encoded once, and what it takes of the prompt."""

    message: bytes
    other_tokens: int
    tiles: int


class OpenAIContext:
    """See `protocol.context.Context`.

    Attributes:
        shown_size: width and height of the picture that came last, as it is sent.
    """

    def __init__(
        self,
        server: ChatServer,
        requests: ChatRequests,
        sizes: PromptSizes,
        *,
        detail: str | None = None,
        goes_on: bool = False,
        warn: Callable[[str, str], None] = lambda _key, _message: None,
    ) -> None:
        """Starts empty.

        Args:
            detail: see `OpenAIOptions.image_detail`.
            goes_on: see `OpenAIOptions.goes_on`.
            warn: hears what a person should know; takes a key first, so that each is said once.
        """
        self.shown_size: tuple[int, int] | None = None
        self._server = server
        self._requests = requests
        self._sizes = sizes
        self._detail = detail
        self._goes_on = goes_on
        self._warn = warn
        self._turns: list[_Held] = []
        self._prepared: dict[str, Picture] = {}
        self._replied: tuple[str, int] = ("", 0)
        self._refused = 0
        self._cancelled = False

    async def prepare(self, image: Image) -> None:
        """See `Context.prepare`: encodes the picture."""
        try:
            picture = await asyncio.to_thread(self._server.picture, image.frame)
        except InputError:  # it fails again when its turn comes
            return
        while len(self._prepared) >= _PREPARED:  # prepared for a turn that never came
            self._prepared.pop(next(iter(self._prepared)))
        self._prepared[image.uuid] = picture

    async def append(self, turn: Turn) -> TurnSize:
        """See `Context.append`; the size is a guess, see `PromptSizes`.

        Raises:
            InvalidRequest: a picture is damaged.
        """
        content: list[dict[str, Any]] = []
        words = pictures = tiles = 0
        for part in turn.parts:
            if isinstance(part, Text):
                content.append({"type": "text", "text": part.text})
                words += self._sizes.text(part.text)
                continue
            picture = await self._picture(part)
            detail = {"detail": self._detail} if self._detail else {}
            content.append({"type": "image_url", "image_url": {"url": picture.url, **detail}})
            pictures += self._sizes.picture(picture.size)
            tiles += self._sizes.tiles(picture.size)
            self.shown_size = picture.size
        if turn.role == "assistant" and [part["text"] for part in content if "text" in part] == [
            self._replied[0]
        ]:
            words = self._replied[1]  # as the server counted it
        # Not every server takes parts where there is only text.
        plain = content[0]["text"] if len(content) == 1 and "text" in content[0] else content
        message = {"role": turn.role, "content": plain}
        # In ASCII, so that half a surrogate pair, which a model may say, does no harm.
        encoded = await asyncio.to_thread(lambda: json.dumps(message).encode())
        self._turns.append(_Held(encoded, words + TURN_TOKENS, tiles))
        return TurnSize(words + pictures + TURN_TOKENS, words)

    async def generate(self, sampling: Sampling) -> AsyncGenerator[Delta, None]:
        """See `Context.generate`.

        Raises:
            InvalidRequest: the server refuses the request, and may take another; FrameTooLarge is the same.
            Unavailable: it has no room now, and may have later.
            FrameRefused: anything else, where it is to go on, until `MOST_REFUSED` in a row.
            EngineFailure: anything else.
        """
        self._cancelled = False
        said, deltas, finish, thought = "", 0, "stop", False
        usage: Usage | None = None
        guide = self._requests.guide(sampling)
        async with aclosing(self._chunks(sampling)) as chunks:
            async for chunk in chunks:
                if not said:  # a guide may have been refused meanwhile
                    guide = self._requests.guide(sampling)
                usage = chunk.usage or usage
                finish = chunk.finish_reason or finish
                thought = thought or chunk.thought
                if chunk.text:
                    deltas += 1
                    said += chunk.text
                    if not guide.wrapped:
                        yield Delta(chunk.text, deltas)
                if self._cancelled:
                    finish = "abort"
                    break
        reply = guide.unwrapped(said)
        self._look_at(reply, finish, guide, thought=thought)
        count = self._counted(usage, deltas)
        self._replied = (reply.strip(), count)
        yield Delta(
            reply if guide.wrapped else "",
            count,
            finish,
            prompt_tokens=usage.prompt_tokens if usage else None,
            cached_tokens=usage.cached_tokens if usage else None,
        )

    def drop(self, start: int, stop: int | None) -> None:
        """See `Context.drop`."""
        del self._turns[start:stop]

    async def cancel(self) -> None:
        """See `Context.cancel`: with the next piece of the reply the request ends."""
        self._cancelled = True

    async def close(self) -> None:
        """See `Context.close`."""
        await self.cancel()
        self._turns.clear()
        self._prepared.clear()

    async def _picture(self, image: Image) -> Picture:
        prepared = self._prepared.pop(image.uuid, None)
        if prepared is not None:
            return prepared
        try:
            return await asyncio.to_thread(self._server.picture, image.frame)
        except InputError as error:
            raise InvalidRequest(error.message, hint=error.hint) from error

    async def _chunks(self, sampling: Sampling) -> AsyncGenerator[Chunk, None]:
        """The reply of the server; what it does not take is left out, as far as that can be."""
        while True:
            revision = self._requests.revision
            body = self._requests.body([held.message for held in self._turns], sampling)
            try:
                async with aclosing(self._server.reply(body)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            except FrameRefused as error:  # nothing has come yet
                if self._requests.give_way(error, sampling) or self._requests.revision != revision:
                    continue
                raise self._refusal(error) from error
            except EngineFailure as error:
                self._refused += 1
                if not self._goes_on or self._refused >= MOST_REFUSED:
                    raise
                raise FrameRefused(error.message, code=error.code, hint=error.hint) from error
            self._refused = 0
            return

    def _refusal(self, error: FrameRefused) -> SessionError:
        if error.code in (400, 413, 422) and _TOO_LONG.search(error.message):
            return EngineFailure(
                error.message, hint="lower --max-session-tokens, --max-video-segments or --max-tokens"
            )
        self._refused += 1
        too_many = error.code == 413 or (error.code == 400 and _OF_PICTURES.search(error.message))
        hint = error.hint or (_FEWER if too_many else "")
        if self._refused >= MOST_REFUSED:
            return EngineFailure(f"{self._refused} frames in a row: {error.message}", hint=hint)
        return _REFUSALS.get(error.code, InvalidRequest)(error.message, hint=hint)

    def _counted(self, usage: Usage | None, deltas: int) -> int:
        """Tokens of the reply; what the server counted of the prompt is learned from."""
        if usage is None:
            self._warn("usage", "the server counts no tokens: pieces of the reply are counted instead")
            return deltas
        if usage.prompt_tokens:
            other = sum(held.other_tokens for held in self._turns)
            tiles = sum(held.tiles for held in self._turns)
            self._sizes.learn(usage.prompt_tokens, other_tokens=other, tiles=tiles)
        return usage.completion_tokens if usage.completion_tokens is not None else deltas

    def _look_at(self, reply: str, finish: str, guide: Guide, *, thought: bool) -> None:
        """Reports, once, what is odd about a reply."""
        if thought and not reply.strip():
            self._warn(
                "thought",
                "the model thought and said nothing; raise --max-tokens, or turn thinking off, on many "
                """servers by --extra-body '{"chat_template_kwargs": {"enable_thinking": false}}'""",
            )
            return
        fault = guide.fault(reply)
        if fault is None:
            return
        field = f"--{guide.sampling.guide}".replace("_", "-")
        if finish == "length":
            self._warn("cut", f"a reply {fault}: it was cut short, and --max-tokens allows more ({field})")
        else:
            self._warn("guide", f"a reply {fault}: the server does not obey {field}, or not always")
