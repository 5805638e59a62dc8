"""An engine for tests of what surrounds engines: it says which frame it got, and fails when it is told to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from protocol.messages import SERVER_RETENTION, Closed, Created, FrameReply
from protocol.session import Engine, ServedModel, Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol.frame import Frame
    from protocol.messages import SessionConfig


class FakeSession(Session):
    """Replies ``frame <index> at <pts>``, or raises what `failures` holds for that index."""

    def __init__(self, created: Created, failures: Mapping[int, BaseException], delay_s: float) -> None:
        self.created = created
        self.closed = False
        self._failures = failures
        self._delay_s = delay_s
        self._index = 0

    async def caption(self, frame: Frame) -> FrameReply:
        assert not self.closed
        index = self._index
        self._index += 1
        await asyncio.sleep(self._delay_s)
        if index in self._failures:
            raise self._failures[index]
        text = f"frame {index} at {frame.pts_s}"
        return FrameReply(frame_index=index, text=text, token_count=len(text.split()))

    async def close(self) -> Closed:
        self.closed = True
        return Closed(session_id=self.created.session_id, frames=self._index)


class FakeEngine(Engine):
    """Opens `FakeSession`s and keeps them in `sessions`."""

    name = "fake"

    def __init__(self, *, failures: Mapping[int, BaseException] | None = None, delay_s: float = 0.0) -> None:
        self.sessions: list[FakeSession] = []
        self.configs: list[SessionConfig] = []
        self.closed = False
        self._failures = failures or {}
        self._delay_s = delay_s

    async def load(self) -> ServedModel:
        return ServedModel("fake-1")

    async def open(self, config: SessionConfig) -> FakeSession:
        created = Created(
            session_id=f"fake-{len(self.sessions)}",
            model="fake-1",
            fps=config.fps,
            retention=config.retention or SERVER_RETENTION,
        )
        session = FakeSession(created, self._failures, self._delay_s)
        self.sessions.append(session)
        self.configs.append(config)
        return session

    async def close(self) -> None:
        self.closed = True
