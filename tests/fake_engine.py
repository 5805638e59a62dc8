"""An engine for tests of what surrounds engines: it says which frame it got, and fails when it is told to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from protocol.context import Delta, Image
from protocol.errors import NotFound
from protocol.messages import SERVER_RETENTION, Closed, Created, FrameReply
from protocol.session import Engine, ServedModel, Session

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from protocol.context import Turn
    from protocol.frame import Frame
    from protocol.messages import Sampling, SessionConfig


class FakeSession(Session):
    """Replies ``frame <index> at <pts>``, or raises what `failures` holds for that index.

    With `texts` it says those in turn instead, the last of them for ever. With a `gate` each frame tells
    `reached` that it is there, and waits until the gate opens. `cancelled` counts frames that were given up
    meanwhile.
    """

    def __init__(
        self,
        created: Created,
        failures: Mapping[int, BaseException],
        delay_s: float,
        gate: asyncio.Event | None = None,
        reached: asyncio.Event | None = None,
        texts: Sequence[str] = (),
    ) -> None:
        self.created = created
        self.closed = False
        self.cancelled = 0
        self._failures = failures
        self._delay_s = delay_s
        self._gate = gate
        self._reached = reached
        self._texts = texts
        self._index = 0

    async def caption(self, frame: Frame) -> FrameReply:
        assert not self.closed
        index = self._index
        self._index += 1
        try:
            if self._reached is not None:
                self._reached.set()
            if self._gate is not None:
                await self._gate.wait()
            await asyncio.sleep(self._delay_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if index in self._failures:
            raise self._failures[index]
        said = self._texts[min(index, len(self._texts) - 1)] if self._texts else None
        text = said or f"frame {index} at {frame.pts_s}"
        return FrameReply(frame_index=index, text=text, token_count=len(text.split()))

    async def close(self) -> Closed:
        self.closed = True
        return Closed(session_id=self.created.session_id, frames=self._index)


class FakeEngine(Engine):
    """Opens `FakeSession`s and keeps them in `sessions`.

    With `gated`, frames wait until `gate` is set, and `reached` is set once one does.

    A conversation is answered with ``so many turns and pictures``, word by word, the last of them after the
    gate; `conversations` has what was asked. `failures` hold here for the words, and `given_up` counts
    answers that ended before their last one.
    """

    name = "fake"

    def __init__(
        self,
        *,
        failures: Mapping[int, BaseException] | None = None,
        delay_s: float = 0.0,
        gated: bool = False,
        texts: Sequence[str] = (),
    ) -> None:
        self.gate = asyncio.Event() if gated else None
        self.reached = asyncio.Event()
        self.sessions: list[FakeSession] = []
        self.configs: list[SessionConfig] = []
        self.conversations: list[tuple[Sequence[Turn], Sampling]] = []
        self.given_up = 0
        self.closed = False
        self._failures = failures or {}
        self._delay_s = delay_s
        self._texts = texts

    async def load(self) -> ServedModel:
        return ServedModel("fake-1")

    async def open(self, config: SessionConfig) -> FakeSession:
        if config.model not in (None, "fake-1"):
            raise NotFound(f"no model {config.model!r} here")
        created = Created(
            session_id=f"fake-{len(self.sessions)}",
            model="fake-1",
            fps=config.fps,
            retention=config.retention or SERVER_RETENTION,
        )
        session = FakeSession(created, self._failures, self._delay_s, self.gate, self.reached, self._texts)
        self.sessions.append(session)
        self.configs.append(config)
        return session

    async def complete(self, turns: Sequence[Turn], sampling: Sampling) -> AsyncGenerator[Delta, None]:
        self.conversations.append((turns, sampling))
        pictures = sum(isinstance(part, Image) for turn in turns for part in turn.parts)
        words = [str(len(turns)), " turns", " and", f" {pictures}", " pictures"]
        try:
            for index, word in enumerate(words):
                last = index == len(words) - 1
                if last:
                    self.reached.set()
                    if self.gate is not None:
                        await self.gate.wait()
                if index in self._failures:
                    raise self._failures[index]
                reason = "stop" if last else None
                yield Delta(word, index + 1, reason, prompt_tokens=10, cached_tokens=4)
        except (asyncio.CancelledError, GeneratorExit):
            self.given_up += 1
            raise

    async def close(self) -> None:
        self.closed = True
