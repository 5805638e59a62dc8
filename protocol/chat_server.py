"""A server of chat completions, as an engine sees it: it keeps nothing, and is sent the whole conversation.

Source: OpenAI's chat completions API, as vLLM, SGLang, llama.cpp, Ollama, LM Studio and hosted APIs speak it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from protocol.frame import Frame


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model in the server's list.

    Attributes:
        owner: `owned_by`, by which servers can be told apart: ``vllm``, ``sglang``, ``llamacpp``, …
        context_tokens: longest prompt and reply together, where the server tells (vLLM and SGLang do).
    """

    name: str
    owner: str = ""
    context_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What the server counted; any may be None."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a reply, as it streams.

    Attributes:
        thought: whether it holds words of the model's thinking, which are no part of the reply.
    """

    text: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    thought: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as it travels: a data URL, and its width and height."""

    url: str
    size: tuple[int, int]


class ChatServer(Protocol):
    """What an engine needs of such a server."""

    @property
    def name(self) -> str:
        """Its address, without what is secret in it."""
        ...

    async def models(self) -> list[ListedModel] | None:
        """The models it has; None if it keeps no list.

        Raises:
            Unavailable: it cannot be reached, or is not ready.
            EngineError: it is no such server, or refuses the key.
        """
        ...

    def picture(self, frame: Frame) -> Picture:
        """`frame` as it travels. Takes milliseconds: call it in a thread.

        Raises:
            InputError: the frame came encoded and is damaged.
        """
        ...

    def reply(self, body: bytes) -> AsyncGenerator[Chunk, None]:
        """The streamed answer to a request of that JSON.

        Raises:
            FrameRefused: the server does not take the request, or has no room for it; `code` is HTTP's.
            EngineFailure: it failed, fell silent, broke off, or answered with what makes no sense.
        """
        ...

    async def close(self) -> None:
        """Lets go of the connections."""
        ...
