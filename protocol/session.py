"""A session: the one idea the whole program stands on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from protocol.errors import InvalidRequest
from protocol.messages import SERVER_RETENTION

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from types import TracebackType

    from protocol.context import Delta, Turn
    from protocol.frame import Frame
    from protocol.messages import Closed, Created, FrameReply, Retention, Sampling, SessionConfig


class Session(ABC):
    """Takes one frame at a time, gives one complete reply for each, remembers a bounded history.

    Attributes:
        created: the session's id, model and the retention in effect.
        idle_timeout_s: so long a server keeps it without a frame; None where it is kept until it is closed.
    """

    created: Created
    idle_timeout_s: float | None = None

    @abstractmethod
    async def caption(self, frame: Frame) -> FrameReply:
        """The reply to `frame`. One call at a time; cancelling it aborts the engine's work on the frame.

        Raises:
            SessionError: the protocol's errors. After `Conflict`, `NotFound` or `EngineFailure` the session
                is of no further use; after the others the next frame may be sent.
            FrameRefused: a server did not answer this frame; the next may be sent.
            EngineError: the engine itself is gone.
        """

    def shown_size(self, frame: Frame) -> tuple[int, int]:
        """Width and height of the picture the model was shown of `frame`, once it is captioned."""
        return frame.size

    async def prepare(self, frame: Frame) -> None:  # noqa: B027 - not every session has something to do
        """Does what can be done for `frame` before its turn comes; may run while an earlier one is answered.

        Raises nothing: what fails here fails again in `caption`, and is reported there.
        """

    @abstractmethod
    async def close(self) -> Closed:
        """Releases what the session holds; a second call gives the same answer."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


@dataclass(frozen=True, slots=True)
class ServedModel:
    """What an engine answers with, once it is loaded.

    Attributes:
        model: the name a session may be opened with, and the one its `Created` carries.
        retention: the policy of a session that names none.
    """

    model: str
    retention: Retention = SERVER_RETENTION


class Engine(ABC):
    """Opens sessions: a model in this process, or a server elsewhere.

    Attributes:
        name: what `--engine` calls it, and what stands in every record.
        follows_instructions: whether a system prompt or question changes the replies.
    """

    name: str
    follows_instructions: bool = True

    async def check(self, config: SessionConfig) -> None:  # noqa: B027 - an engine in this process has nothing
        """Finds out, before any video is opened, whether such sessions could be opened.

        Raises:
            StreamError: they could not.
        """

    async def load(self) -> ServedModel:
        """Loads the model, unless that is done, so that the first session need not wait for it.

        Raises:
            EngineError: it cannot be loaded.
        """
        return ServedModel(self.name)

    @abstractmethod
    async def open(self, config: SessionConfig) -> Session:
        """Admits a session.

        Raises:
            InvalidRequest: the configuration asks for something this engine cannot do.
            NotFound: `config.model` is not the one served.
            Unavailable: no room for another session now.
            EngineError: the engine cannot be loaded.
        """

    async def complete(
        self,
        turns: Sequence[Turn],  # noqa: ARG002 - for those that chat
        sampling: Sampling,  # noqa: ARG002
    ) -> AsyncGenerator[Delta, None]:
        """The assistant's turn after `turns`, of a conversation that nothing is kept of.

        Raises:
            InvalidRequest: the model cannot take it, or the engine does not chat.
            Unavailable: no room for another conversation now.
            EngineFailure: generation failed.
            EngineError: the engine cannot be loaded, or is gone.
        """
        raise InvalidRequest(f"the {self.name} engine does not chat")
        yield  # makes this a generator, as those are that take its place

    @abstractmethod
    async def close(self) -> None:
        """Lets go of the model or connection; sessions still open end."""
