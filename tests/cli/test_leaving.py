"""Ending with threads and processes still at work."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from tests.cli.commands.stream import ROOT

SCRIPT = """
import multiprocessing, signal, subprocess, sys, threading
from cli import leaving

def child(deaf, pipe):
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    grandchild = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL)
    pipe.send(grandchild.pid)
    threading.Event().wait(60)

if __name__ == "__main__":
    leaving.PATIENCE_S = 0.3
    here, there = multiprocessing.Pipe()
    started = multiprocessing.get_context("fork").Process(target=child, args=(sys.argv[1] == "deaf", there))
    started.start()
    grandchild = here.recv()
    threading.Thread(target=threading.Event().wait, args=(60,)).start()
    print(started.pid, grandchild, end="")
    leaving.leave_at_once(7)
"""


@pytest.mark.parametrize("kind", ["obedient", "deaf"])
def test_neither_threads_nor_processes_keep_it(kind):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stderr) == (7, "")
    for process in done.stdout.split():
        assert not _runs(int(process))


def _runs(process: int) -> bool:
    """Whether it is there and has not ended: nobody may be there to take note that an orphan did."""
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
