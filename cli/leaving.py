"""Ending a process that cannot wait for what it has begun."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
from time import monotonic
from typing import NoReturn

from psutil import NoSuchProcess, Process, wait_procs

PATIENCE_S = 3.0
"""How long a process that was started from here may take to end when it is told to."""


def leave_at_once(code: int) -> NoReturn:
    """Ends without waiting for threads that still load or decode; the outputs are closed already.

    Processes that were started from here, to run a model for one, are ended first: nobody else would.
    """
    _end_children()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _end_children() -> None:
    until = monotonic() + PATIENCE_S
    theirs: set[Process] = set()  # found while their parents live: one that is killed cannot end its own
    while children := multiprocessing.active_children():  # a thread may still be starting some
        for child in children:
            with contextlib.suppress(NoSuchProcess):
                theirs.update(Process(child.pid).children(recursive=True))
            if monotonic() < until:
                child.terminate()
            else:
                child.kill()
        children[0].join(0.2)
    _, left = wait_procs(theirs, timeout=max(0.0, until - monotonic()))
    for process in left:
        with contextlib.suppress(NoSuchProcess):
            process.kill()
    wait_procs(left, timeout=PATIENCE_S)
