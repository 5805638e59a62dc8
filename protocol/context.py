"""What a language model sees: the interface beneath the sessions of language-model engines.

Captioning sessions, video chat and stateless chat completions are policies over a `Context`. *What* is kept
is decided by a retention window that knows no engine; a `Context` only carries it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from protocol.frame import Frame
    from protocol.messages import Sampling

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Text:
    """Words of a turn."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a turn. `uuid` names it for the engine's caches, so that it goes in once."""

    frame: Frame
    uuid: str


Part = Text | Image


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the conversation, in the order it is shown to the model."""

    role: Role
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class TurnSize:
    """What a turn takes of the prompt, with what the model's template puts around it.

    Attributes:
        tokens: all of it.
        text_tokens: of those, words (and not pictures or markers).
    """

    tokens: int
    text_tokens: int


@dataclass(frozen=True, slots=True)
class Delta:
    """What generation added since the last delta. The last one of a reply has a `finish_reason`.

    Attributes:
        token_count: tokens generated so far in this reply.
        prompt_tokens: length of the prompt, from the first delta on.
        cached_tokens: how many of those needed no computing.
    """

    text: str
    token_count: int
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None


@runtime_checkable
class Context(Protocol):
    """An ordered list of turns held for one conversation.

    One call at a time, except `prepare` and `cancel`, which may be called while `generate` runs.
    """

    async def prepare(self, image: Image) -> None:
        """Does what can be done for a picture before the turn that holds it is appended; raises nothing."""
        ...

    async def append(self, turn: Turn) -> TurnSize:
        """Adds `turn` at the end; gives what it takes of the prompt.

        Raises:
            InvalidRequest: the model cannot take it; nothing was added.
        """
        ...

    def generate(self, sampling: Sampling) -> AsyncGenerator[Delta, None]:
        """Generates the assistant's next turn. It is *not* appended: the caller decides what is kept.

        Raises:
            EngineFailure: generation failed; the context is as it was.
            EngineError: the engine is gone.
        """
        ...

    def drop(self, start: int, stop: int | None) -> None:
        """Takes turns out, `start` and `stop` as in a slice over those present now."""
        ...

    async def cancel(self) -> None:
        """Ends a running `generate` early, within the engine too."""
        ...

    async def close(self) -> None:
        """Releases the turns and what the engine caches for them."""
        ...
