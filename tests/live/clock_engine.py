"""The whole `stream` command with an engine that reads the clock in the picture (see `picture`).

``python -m tests.live.clock_engine DELAY_S caption|serve ...``
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from cli import main
from cli.engines import EngineChoice
from protocol.frame import Frame
from protocol.messages import SERVER_RETENTION, Closed, Created, FrameReply
from protocol.session import Engine, ServedModel, Session
from tests.live.picture import shown_at

if TYPE_CHECKING:
    from protocol.messages import SessionConfig


class ClockSession(Session):
    """Says when the picture was made, in seconds since 1970, after `delay_s`."""

    def __init__(self, created: Created, delay_s: float) -> None:
        self.created = created
        self._delay_s = delay_s
        self._index = 0

    async def caption(self, frame: Frame) -> FrameReply:
        over = asyncio.create_task(asyncio.sleep(self._delay_s))
        pixels = await asyncio.to_thread(lambda: frame.pixels)
        await over
        self._index += 1
        return FrameReply(frame_index=self._index - 1, text=f"{shown_at(pixels):.2f}", token_count=1)

    async def close(self) -> Closed:
        return Closed(session_id=self.created.session_id, frames=self._index)


class ClockEngine(Engine):
    """Opens `ClockSession`s."""

    name = "clock"

    def __init__(self, delay_s: float = 0.0) -> None:
        self._delay_s = delay_s
        self._sessions = 0

    async def load(self) -> ServedModel:
        """Loads what decodes pictures, as a real engine would have."""
        blank = Frame(pixels=np.zeros((64, 64, 3), np.uint8))
        await asyncio.to_thread(lambda: Frame(encoded=blank.encoded()).pixels)
        return ServedModel("clock-1")

    async def open(self, config: SessionConfig) -> ClockSession:
        self._sessions += 1
        created = Created(
            session_id=f"clock-{self._sessions}",
            model="clock-1",
            fps=config.fps,
            retention=config.retention or SERVER_RETENTION,
        )
        return ClockSession(created, self._delay_s)

    async def close(self) -> None:
        pass


if __name__ == "__main__":
    delay_s = float(sys.argv.pop(1))

    def make(choice: EngineChoice, *report: Any) -> ClockEngine:
        return ClockEngine(delay_s)

    EngineChoice.make = make  # type: ignore[method-assign, assignment]
    main.main()
