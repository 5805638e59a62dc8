"""Captions on their way to the command that is run for them."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import TYPE_CHECKING

from cli.output.text import clock

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from cli.output.command import Command
    from cli.output.record import CaptionRecord

CAPACITY = 16
"""Captions that wait while the command runs. When it is full the oldest makes room: an alarm is about now."""

_NOTE_AFTER_S = 1.0


class CommandQueue:
    """Runs a command for the captions that it wants, one at a time and in order, beside what makes them.

    `put` returns at once, so that captions never wait for the command. Where nothing is lost by waiting, as
    with a file, `wait_and_put` leaves none out. Failures are told once for each kind and counted in the end;
    none of them stops anything.

    Used as a context: at its end what waits is still run, each within the command's time limit, up to the
    first that exceeds it. Cancelled, or ended by the program's end, what runs is ended and what waits is left
    out. The same queue serves all sources of a run.

    Attributes:
        ran: commands that were run, or could not be.
        failures: how many of them failed, by what went wrong.
        left_out: captions that were not waited for, since others came while the command was busy.
        unrun: captions that still waited when all was over.
    """

    def __init__(
        self,
        command: Command,
        warn: Callable[[str], None],
        note: Callable[[str], None],
        *,
        capacity: int = CAPACITY,
    ) -> None:
        """`warn` is told what goes wrong, in one line each; `note`, that there is something to wait for."""
        self.ran = 0
        self.failures: Counter[str] = Counter()
        self.left_out = 0
        self.unrun = 0
        self._command = command
        self._warn = warn
        self._note = note
        self._capacity = capacity
        self._waiting: deque[CaptionRecord] = deque()
        self._taken = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None
        self._ending = False

    def put(self, record: CaptionRecord) -> None:
        """Has the command run for `record` when its turn comes, if it wants it."""
        if self._command.wants(record):
            if len(self._waiting) >= self._capacity:
                self._leave_out_oldest()
            self._add(record)

    async def wait_and_put(self, record: CaptionRecord) -> None:
        """The same, once none must be left out for it."""
        if self._command.wants(record):
            while len(self._waiting) >= self._capacity:
                self._taken.clear()
                await self._taken.wait()
            self._add(record)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None or issubclass(kind, Exception):  # what was seen before a failure is an alarm too
                await self._run_rest()
        finally:
            if self._worker is not None:
                self._worker.cancel()
                await asyncio.wait({self._worker})
            self.unrun = len(self._waiting)
            self._waiting.clear()
            self._summarise()

    def _add(self, record: CaptionRecord) -> None:
        self._waiting.append(record)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())

    def _leave_out_oldest(self) -> None:
        self._waiting.popleft()
        self.left_out += 1
        if self.left_out == 1:
            self._warn(
                f"--exec {self._command.name} is slower than the captions: {self._capacity} wait for it, "
                "and the oldest are left out"
            )

    async def _run_rest(self) -> None:
        self._ending = True
        if self._worker is None:
            return
        _, running = await asyncio.wait({self._worker}, timeout=_NOTE_AFTER_S)
        if running:
            more = f", with {_captions(len(self._waiting))} to come" if self._waiting else ""
            self._note(f"waiting for --exec {self._command.name}{more}")
            await asyncio.wait(running)

    async def _work(self) -> None:
        while self._waiting:
            record = self._waiting.popleft()
            self._taken.set()
            self.ran += 1
            problem = await self._command.run(record)
            if problem is not None:
                self._failed(problem, record)
            if self._ending and problem == self._command.overrun:
                break

    def _failed(self, problem: str, record: CaptionRecord) -> None:
        self.failures[problem] += 1
        if self.failures[problem] == 1:
            where = f"{record.source}: caption at {clock(record.pts_s)}"
            self._warn(f"{where}: --exec {self._command.name} {problem}; going on")

    def _summarise(self) -> None:
        told = []
        if (failed := self.failures.total()) > 1:
            kinds = ", ".join(f"{count} {problem}" for problem, count in self.failures.most_common())
            told.append(f"{failed} of {self.ran} runs failed ({kinds})")
        if self.left_out:
            told.append(f"{_captions(self.left_out)} left out while it was busy")
        if self.unrun:
            told.append(f"{_captions(self.unrun)} still waiting at the end, and left out")
        if told:
            self._warn(f"--exec {self._command.name}: {'; '.join(told)}")


def _captions(count: int) -> str:
    return f"{count} caption" if count == 1 else f"{count} captions"
