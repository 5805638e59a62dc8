"""Processes that are started together with others of their own, and ended with them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Sequence

GRACE_S = 0.3
"""How long processes may take to end once they are told to; then they are killed."""
_POLL_S = 0.02


async def start_group(arguments: Sequence[str], **options: Any) -> Process:
    """Starts a program in a group of its own: a terminal's Ctrl-C is for us, and does not reach it.

    Raises:
        OSError: it cannot be started.
    """
    if sys.platform == "win32":
        options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
    else:
        options["start_new_session"] = True
    starting = asyncio.create_task(asyncio.create_subprocess_exec(*arguments, **options))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # asyncio would kill the program only, and not what that may have started by now.
        with suppress(OSError, ValueError):
            await end_group(await starting)
        raise


async def end_group(process: Process) -> None:
    """Ends `process`, which still runs, and those that it has started, in 2 x `GRACE_S` at most.

    They are told to, so that they can clear up, and killed if that takes them longer than `GRACE_S`; on
    Windows they are killed at once. Those that have left the group, as daemons do, go on.
    """
    try:
        await _ask(process)
    finally:  # also when we are told to hurry
        _kill(process)
        if process.stdin is not None and not process.stdin.is_closing():
            process.stdin.transport.abort()  # what nobody has read would keep it open
        with suppress(TimeoutError):  # one that the kernel holds ends when it comes back
            async with asyncio.timeout(GRACE_S):
                await process.wait()


async def _ask(process: Process) -> None:
    if sys.platform == "win32":
        return
    until = monotonic() + GRACE_S
    lives = _signal(process, signal.SIGTERM)
    while lives and monotonic() < until:
        await asyncio.sleep(_POLL_S)
        lives = _signal(process, 0)


def _kill(process: Process) -> None:
    if sys.platform != "win32":
        _signal(process, signal.SIGKILL)
        return
    import psutil

    with suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.Error):
                child.kill()
    with suppress(OSError):
        process.kill()


def _signal(process: Process, number: int) -> bool:
    """Whether there is anyone in the group to get it."""
    if sys.platform == "win32":
        return False
    try:
        os.killpg(process.pid, number)
    except (
        ProcessLookupError,
        PermissionError,
    ):  # the second: macOS, all have ended
        return False
    return True
