"""One chat completion on its way, between the engine that makes it and the client that takes it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from protocol.context import Delta
from protocol.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import TracebackType
    from typing import Self

    from protocol.errors import SessionError


class ChatFlight:
    """Holds what was generated and not taken yet, as one delta, so that a slow client holds nobody up.

    There is no queue: what comes meanwhile is added to what waits, which is at most a whole answer.

    Leaving its block before the end aborts the work, within the engine too.

    Attributes:
        work: what generates. It may outlast the end a little, until the engine notices an abort.
    """

    work: asyncio.Task[None]

    def __init__(self) -> None:
        """Use `start`."""
        self._waiting: Delta | None = None
        self._ended = False
        self._error: SessionError | None = None
        self._news = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def start(
        self, work: Coroutine[None, None, None], timeout_s: float, late: Callable[[], SessionError]
    ) -> None:
        """Starts `work`, which calls `add` and then `end`. Too late, it fails with what `late` gives."""
        self.work = asyncio.create_task(work)
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(timeout_s, lambda: self.abort(late()))

    def add(self, delta: Delta) -> None:
        """Takes what the engine added."""
        before = self._waiting
        if before is not None:
            delta = Delta(
                before.text + delta.text,
                delta.token_count,
                delta.finish_reason or before.finish_reason,
                before.prompt_tokens if delta.prompt_tokens is None else delta.prompt_tokens,
                before.cached_tokens if delta.cached_tokens is None else delta.cached_tokens,
            )
        self._waiting = delta
        self._news.set()

    def end(self, error: SessionError | None = None) -> bool:
        """Nothing more comes, because of `error` if there is one. False if it had ended already."""
        if self._ended:
            return False
        self._ended, self._error = True, error
        if self._timer is not None:
            self._timer.cancel()
        self._news.set()
        return True

    def abort(self, error: SessionError) -> None:
        """Ends it, and stops the work where it is."""
        if self.end(error):
            self.work.cancel()

    async def next(self) -> Delta | None:
        """What was generated since the last call, once there is something; None at the end.

        Raises:
            SessionError: it failed. What came before that was given first.
        """
        while self._waiting is None and not self._ended:
            self._news.clear()
            await self._news.wait()
        delta, self._waiting = self._waiting, None
        if delta is None and self._error is not None:
            raise self._error
        return delta

    def give_up(self) -> None:
        """Nobody waits for it any more."""
        self.abort(Unavailable("nobody waits for the answer any more"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_up()
