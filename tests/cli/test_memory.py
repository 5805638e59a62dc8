from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from cli.memory import keep_freed_memory
from tests.cli.commands.stream import environment

FAULTS = """
import resource, sys
from cli.memory import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
def pictures(number):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(number):
        [bytes([1]) * size for _ in range(4)]  # the picture's bytes, its planes, its pixels
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
size = 4 << 20
pictures(5)
print(pictures(50))
"""


def faults(how):
    done = subprocess.run(
        [sys.executable, "-c", FAULTS, how],
        capture_output=True, text=True, check=True, env=environment(),
    )  # fmt: skip
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's affair")
def test_memory_of_a_picture_is_there_for_the_next():
    assert 10 * faults("kept") < faults("given back")


def test_another_library_is_left_alone(monkeypatch):
    monkeypatch.setattr("ctypes.CDLL", lambda _: object())
    keep_freed_memory()
