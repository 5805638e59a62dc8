"""Captions on their way to a command: in order, one at a time, and never waited for by what makes them."""

import asyncio
import os
import shlex
import signal
from pathlib import Path

import pytest

from cli.output import command_queue
from cli.output.command import Command
from cli.output.command_queue import CommandQueue
from cli.output.record import CaptionRecord
from cli.signals import run_until_signalled
from protocol.errors import EngineError
from tests.cli.output.fifo import Lifeline, hearing, telling
from tests.cli.output.records import record


class Told:
    """What a queue has told, line by line."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.notes: list[str] = []

    def queue(
        self, script: str, *, when: str | None = None, timeout_s: float = 60.0, capacity: int = 16
    ) -> CommandQueue:
        """One that runs `script`, by a shell that messages call ``sh``."""
        command = Command.of(shlex.join(["sh", "-c", script]), when, timeout_s)
        assert command is not None
        return CommandQueue(command, self.warnings.append, self.notes.append, capacity=capacity)


def caption(number: int, text: str = "a sign") -> CaptionRecord:
    return record(float(number), text, frame_index=number)


def logged(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


async def test_commands_run_one_at_a_time_and_in_order(tmp_path: Path) -> None:
    log, told = tmp_path / "log", Told()
    script = f"echo begin$STREAM_FRAME_INDEX >> {log}; sleep 0.02; echo end$STREAM_FRAME_INDEX >> {log}"
    async with told.queue(script) as queue:
        for number in range(5):
            queue.put(caption(number))
    assert logged(log) == [f"{what}{number}" for number in range(5) for what in ("begin", "end")]
    assert (queue.ran, queue.left_out, queue.unrun) == (5, 0, 0)
    assert not told.warnings


async def test_only_the_captions_that_match_are_run_for(tmp_path: Path) -> None:
    log, told = tmp_path / "log", Told()
    async with told.queue(f"echo $STREAM_FRAME_INDEX >> {log}", when="hazard") as queue:
        for number, text in enumerate(["clear", "hazard", "clear", "a hazard, ahead"]):
            queue.put(caption(number, text))
            await queue.wait_and_put(caption(number + 10, text))
    assert logged(log) == ["1", "11", "3", "13"]


async def test_a_queue_that_is_never_used_runs_nothing() -> None:
    told = Told()
    async with told.queue("exit 1", when="hazard") as queue:
        queue.put(caption(0, "clear"))
    assert queue.ran == 0
    assert not told.warnings


async def test_a_slow_command_leaves_out_the_oldest_that_wait(tmp_path: Path) -> None:
    log, told = tmp_path / "log", Told()
    async with hearing(tmp_path / "here") as here:
        with telling(tmp_path / "go") as go:
            script = f"echo $STREAM_FRAME_INDEX > {here.path}; read line < {go.path}; echo $line >> {log}"
            async with told.queue(script, capacity=2) as queue:
                queue.put(caption(0))
                assert await here.line() == "0"
                for number in range(1, 6):
                    queue.put(caption(number))  # returns, though nothing is done yet
                assert told.warnings == [
                    "--exec sh is slower than the captions: 2 wait for it, and the oldest are left out"
                ]
                for expected in ("4", "5", None):
                    go.send("done")
                    assert expected is None or await here.line() == expected
    assert logged(log) == ["done"] * 3
    assert queue.left_out == 3
    assert told.warnings[1:] == ["--exec sh: 3 captions left out while it was busy"]


async def test_none_is_left_out_where_there_is_time_to_wait(tmp_path: Path) -> None:
    log, told = tmp_path / "log", Told()
    async with told.queue(f"echo $STREAM_FRAME_INDEX >> {log}", capacity=1) as queue:
        for number in range(6):
            await queue.wait_and_put(caption(number))
    assert logged(log) == [str(number) for number in range(6)]
    assert not told.warnings


async def test_failures_are_told_once_for_each_kind_and_stop_nothing(tmp_path: Path) -> None:
    log, told = tmp_path / "log", Told()
    async with told.queue(f"echo $STREAM_FRAME_INDEX >> {log}; exit $STREAM_TEXT") as queue:
        for number, status in enumerate("3035"):
            queue.put(caption(number, status))
    assert logged(log) == ["0", "1", "2", "3"]
    assert queue.failures == {"ended with status 3": 2, "ended with status 5": 1}
    assert told.warnings == [
        "clip.mp4: caption at 00:00.000: --exec sh ended with status 3; going on",
        "clip.mp4: caption at 00:03.000: --exec sh ended with status 5; going on",
        "--exec sh: 3 of 4 runs failed (2 ended with status 3, 1 ended with status 5)",
    ]


async def test_a_single_failure_is_told_once() -> None:
    told = Told()
    async with told.queue("exit 1") as queue:
        queue.put(caption(0))
    assert told.warnings == ["clip.mp4: caption at 00:00.000: --exec sh ended with status 1; going on"]


async def test_what_waits_is_run_when_the_captions_break_off(tmp_path: Path) -> None:
    log, told = tmp_path / "log", Told()

    async def break_off() -> None:
        async with told.queue(f"echo $STREAM_FRAME_INDEX >> {log}") as queue:
            queue.put(caption(0))
            queue.put(caption(1))
            raise EngineError("the engine is gone")

    with pytest.raises(EngineError):
        await break_off()
    assert logged(log) == ["0", "1"]


async def test_one_that_hangs_at_the_end_is_the_last() -> None:
    told = Told()
    async with told.queue("sleep 60", timeout_s=0.2) as queue:
        for number in range(3):
            queue.put(caption(number))
    assert (queue.ran, queue.unrun) == (1, 2)
    assert told.warnings == [
        "clip.mp4: caption at 00:00.000: --exec sh took over 0.2 s; going on",
        "--exec sh: 2 captions still waiting at the end, and left out",
    ]


async def test_it_is_told_what_the_end_waits_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_queue, "_NOTE_AFTER_S", 0.0)
    told = Told()
    with telling(tmp_path / "go") as go:
        async with told.queue(f"read line < {go.path}") as queue:
            for number in range(3):
                queue.put(caption(number))
                go.send("go")
    assert told.notes == ["waiting for --exec sh, with 2 captions to come"]
    assert queue.ran == 3


@pytest.mark.parametrize("at_the_end", [False, True])
@pytest.mark.parametrize(
    ("number", "ends"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_what_runs_is_ended_and_what_waits_left_out_when_the_run_is_stopped(
    tmp_path: Path, at_the_end: bool, number: signal.Signals, ends: type[BaseException]
) -> None:
    told, lives = Told(), Lifeline(tmp_path / "lives")
    queues: list[CommandQueue] = []

    async def run() -> None:
        async with hearing(tmp_path / "here") as here:
            script = f"exec 3> {lives.path}; echo > {here.path}; sleep 60 & wait"
            async with told.queue(script) as queue:
                queues.append(queue)
                queue.put(caption(0))
                queue.put(caption(1))
                await here.line()
                if at_the_end:
                    asyncio.get_running_loop().call_later(0.0, os.kill, os.getpid(), number)
                else:
                    os.kill(os.getpid(), number)
                    await asyncio.Event().wait()

    with pytest.raises(ends):
        run_until_signalled(run())
    assert lives.ended()
    assert (queues[0].ran, queues[0].unrun) == (1, 1)
    assert told.warnings == ["--exec sh: 1 caption still waiting at the end, and left out"]
