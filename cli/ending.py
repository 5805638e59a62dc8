"""How a server that runs in this process comes to its end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING

from protocol.errors import EngineError, StreamError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Ending:
    """Why and when a run ends.

    Attributes:
        error: what it ends with; None where it was told to stop.
    """

    def __init__(self) -> None:
        """Not yet."""
        self.error: Exception | None = None
        self._event = asyncio.Event()

    async def wait(self) -> None:
        """Waits for the end."""
        await self._event.wait()

    def fail(self, error: Exception) -> None:
        """The run ends because of `error`."""
        self.error = self.error or error
        self._event.set()

    def engine_lost(self, reason: str) -> None:
        """The run ends because the engine is gone."""
        self.fail(EngineError(f"the engine is gone: {reason}"))

    def server_ended(self, serving: asyncio.Task[None]) -> None:
        """The run ends because uvicorn did, which it should not by itself."""
        if not serving.cancelled() and (error := serving.exception()) is not None:
            self.fail(error if isinstance(error, Exception) else StreamError(f"the server ended: {error!r}"))
        self._event.set()

    @contextlib.contextmanager
    def hearing_signals(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM end the run; the second one cancels it wherever it is."""
        task = asyncio.current_task()
        loop = asyncio.get_running_loop()

        def told() -> None:
            if self._event.is_set() and task is not None:
                task.cancel()
            self._event.set()

        for each in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # Windows has no such handlers
                loop.add_signal_handler(each, told)
        try:
            yield
        finally:
            for each in (signal.SIGINT, signal.SIGTERM):
                with contextlib.suppress(NotImplementedError):
                    loop.remove_signal_handler(each)
