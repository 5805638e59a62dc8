"""Processes that are started together with others of their own, and ended with them."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from cli.process_group import end_group, start_group
from tests.cli.output.fifo import Lifeline, hearing


async def test_a_group_is_out_of_reach_of_the_terminal() -> None:
    process = await start_group(["sh", "-c", "read line"], stdin=subprocess.PIPE)
    assert os.getsid(process.pid) == os.getpgid(process.pid) == process.pid
    await process.communicate(b"go\n")
    assert process.returncode == 0


async def test_what_cannot_be_started_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        await start_group(["/no/such/program"])


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
async def test_a_group_is_ended_with_all_that_is_in_it(tmp_path: Path, trap: str) -> None:
    lives = Lifeline(tmp_path / "lives")
    async with hearing(tmp_path / "here") as here:
        script = f"{trap}exec 3> {lives.path}; (echo > {here.path}; sleep 60; sleep 60) & wait"
        process = await start_group(["sh", "-c", script])
        await here.line()
        await end_group(process)
    assert process.returncode in {-15, -9}
    assert lives.ended()


async def test_one_that_is_given_up_while_it_starts_is_ended_with_all_that_is_in_it(tmp_path: Path) -> None:
    lives = Lifeline(tmp_path / "lives")
    os.mkfifo(tmp_path / "here")
    script = f"exec 3> {lives.path}; (echo > {tmp_path / 'here'}; sleep 60) & wait"
    starting = asyncio.create_task(start_group(["sh", "-c", script], stdin=subprocess.PIPE))
    for _ in range(2):
        await asyncio.sleep(0)  # it is started, and nobody knows of it yet
    (tmp_path / "here").read_bytes()  # by now it has children; the loop has gone no further
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert lives.ended()
