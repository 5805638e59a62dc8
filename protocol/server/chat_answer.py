"""How a chat completion is answered: whole, or as a stream of server-sent events."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field
from pydantic_core import to_json

from protocol.context import Delta

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from protocol.server.chat_flight import ChatFlight


class PromptTokensDetails(BaseModel):
    """Of the prompt's tokens."""

    cached_tokens: int
    """Those that needed no computing."""


class Usage(BaseModel):
    """What the answer took. An engine that counts no prompt (lite) says 0."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails | None = None


class AnswerMessage(BaseModel):
    """The assistant's turn."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class Choice(BaseModel):
    """The one there is."""

    index: int = 0
    message: AnswerMessage
    logprobs: None = None
    finish_reason: str
    """`stop`, or `length` when `max_tokens` or the model's context cut the answer."""


class ChatCompletion(BaseModel):
    """A whole answer."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    """Unix time, in seconds."""
    model: str
    choices: list[Choice]
    usage: Usage


class ChunkDelta(BaseModel):
    """What a chunk adds; a field that adds nothing is left out."""

    role: Literal["assistant"] | None = None
    content: str | None = None


class ChunkChoice(BaseModel):
    """The one there is."""

    index: int = 0
    delta: ChunkDelta = ChunkDelta()
    logprobs: None = None
    finish_reason: str | None = None


class ChatChunk(BaseModel):
    """A part of an answer."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChunkChoice] = Field(max_length=1)
    usage: Usage | None = None


class ChatAnswer:
    """Gives one completion its id, time and form."""

    def __init__(self, model: str) -> None:
        """`model` is the name that clients know it by."""
        self._id = f"chatcmpl-{secrets.token_hex(16)}"
        self._created = int(time.time())
        self._model = model

    async def whole(self, flight: ChatFlight) -> ChatCompletion:
        """All of it.

        Raises:
            SessionError: it failed.
        """
        text = ""
        last = Delta("", 0)
        while (delta := await flight.next()) is not None:
            text += delta.text
            last = delta
        choice = Choice(
            message=AnswerMessage(content=_unicode(text)), finish_reason=last.finish_reason or "stop"
        )
        return ChatCompletion(
            id=self._id, created=self._created, model=self._model, choices=[choice], usage=_usage(last)
        )

    async def events(
        self, flight: ChatFlight, first: Delta | None, *, include_usage: bool
    ) -> AsyncGenerator[str, None]:
        """The events of a stream, from the role to the end; `first` is the delta that was there already.

        Raises:
            SessionError: it failed; what came before was given.
        """
        yield self._chunk(
            ChunkChoice(delta=ChunkDelta(role="assistant", content="")), usage_due=include_usage
        )
        last = first or Delta("", 0)
        delta = first
        while delta is not None:
            last = delta
            if delta.text:
                part = ChunkChoice(delta=ChunkDelta(content=_unicode(delta.text)))
                yield self._chunk(part, usage_due=include_usage)
            delta = await flight.next()
        yield self._chunk(ChunkChoice(finish_reason=last.finish_reason or "stop"), usage_due=include_usage)
        if include_usage:
            yield self._chunk(usage=_usage(last))
        yield "data: [DONE]\n\n"

    def _chunk(
        self, choice: ChunkChoice | None = None, *, usage: Usage | None = None, usage_due: bool = False
    ) -> str:
        """An event. `usage_due`: the count follows, so that it is null here and not left out."""
        chunk = ChatChunk(
            id=self._id,
            created=self._created,
            model=self._model,
            choices=[choice] if choice else [],
            usage=usage,
        )
        body = chunk.model_dump(mode="json", exclude={} if usage or usage_due else {"usage"})
        for each in body["choices"]:
            each["delta"] = {name: value for name, value in each["delta"].items() if value is not None}
        return event(body)


def event(body: dict[str, Any]) -> str:
    """A server-sent event with JSON as its data."""
    return f"data: {to_json(body).decode()}\n\n"


def _unicode(text: str) -> str:
    """A lone surrogate has no place in UTF-8, and a model's text may hold anything."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _usage(last: Delta) -> Usage:
    prompt = last.prompt_tokens or 0
    cached = last.cached_tokens
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=last.token_count,
        total_tokens=prompt + last.token_count,
        prompt_tokens_details=None if cached is None else PromptTokensDetails(cached_tokens=cached),
    )
