"""Named pipes, by which a test and the commands that it runs wait for each other."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


class Fifo:
    """A named pipe that this process has open for both, so that nobody waits to open it and it never ends."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._lines: asyncio.StreamReader | None = None

    async def line(self) -> str:
        """The next line that somebody writes."""
        assert self._lines is not None, "it is for telling"
        return (await self._lines.readline()).decode().rstrip("\n")

    def send(self, line: str) -> None:
        """A line for somebody who reads, now or later."""
        os.write(self._descriptor, line.encode() + b"\n")


@contextlib.contextmanager
def telling(path: Path) -> Iterator[Fifo]:
    """A pipe at `path` that commands read lines from."""
    fifo = Fifo(path)
    try:
        yield fifo
    finally:
        os.close(fifo._descriptor)


@contextlib.asynccontextmanager
async def hearing(path: Path) -> AsyncIterator[Fifo]:
    """A pipe at `path` that commands write lines to."""
    with telling(path) as fifo:
        fifo._lines = lines = asyncio.StreamReader()  # bound to the loop that runs
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(os.dup(fifo._descriptor), "rb", 0)
        )
        try:
            yield fifo
        finally:
            transport.close()


class Lifeline:
    """A named pipe that processes hold open for as long as they live."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def ended(self) -> bool:
        """Whether somebody has held it and nobody does any more; those who are dying are waited for."""
        poll = select.poll()
        poll.register(self._descriptor, 0)
        try:
            return any(event & select.POLLHUP for _, event in poll.poll(10_000))
        finally:
            os.close(self._descriptor)
