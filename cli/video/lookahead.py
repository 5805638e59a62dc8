"""Handing things from a reading thread to an event loop, a few ahead."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Exhausted(Exception):
    """The thread has given its last item."""


class Lookahead(Generic[T]):
    """A bounded queue: a thread puts, the event loop it was made in gets.

    Full, it makes the thread wait: nothing is dropped, and reading goes on when the consumer takes an item.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: deque[T] = deque()
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._room = threading.Condition()
        self._closed = False
        self._end: BaseException | None = None

    def put(self, item: T) -> bool:
        """Adds `item`, waiting for room; False if nobody wants it any more. Called by the thread."""
        with self._room:
            self._room.wait_for(lambda: self._closed or len(self._items) < self._size)
            if self._closed:
                return False
            self._items.append(item)
        return self._wake()

    def finish(self, error: BaseException | None = None) -> None:
        """No more items: `get` raises `error`, or `Exhausted`, after the last. Called by the thread."""
        with self._room:
            self._end = error or Exhausted()
        self._wake()

    async def get(self) -> T:
        """The next item. Called in the event loop, by one task at a time.

        Raises:
            Exhausted: there is none, and none will come.
            BaseException: what the thread ended with.
        """
        while True:
            with self._room:
                item = self._take()
                if item is not None:
                    self._room.notify()
                    return item
                self._raise_if_over()
                self._ready.clear()
            await self._ready.wait()

    async def finished(self, timeout_s: float) -> bool:
        """Waits until the thread called `finish`; False if it has not after `timeout_s`."""
        try:
            async with asyncio.timeout(timeout_s):
                while self._end is None:
                    self._ready.clear()
                    if self._end is None:
                        await self._ready.wait()
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Nothing is wanted any more: drops what is held and lets the thread go on, to its end."""
        with self._room:
            self._closed = True
            self._items.clear()
            self._room.notify_all()
        self._ready.set()

    @property
    def closed(self) -> bool:
        """Whether `close` was called; a thread with long work asks this now and then."""
        return self._closed

    def _take(self) -> T | None:
        """The next item, if there is one; called with the lock."""
        return self._items.popleft() if self._items else None

    def _raise_if_over(self) -> None:
        if self._closed:
            raise Exhausted
        if self._end is not None:
            raise self._end

    def _wake(self) -> bool:
        try:
            self._loop.call_soon_threadsafe(self._ready.set)
        except RuntimeError:  # the loop is gone, and the consumer with it
            return False
        return True
