"""A server as a process of its own, which a test can kill, hold and start again at the same address."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Self

import psutil
import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

LIFE_S = 120
"""Every server ends by itself after that, should nobody end it."""

_START_S = 60


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """A port of the loopback interface that nobody uses."""
    with socket.socket(type=kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def require_program(name: str) -> None:
    """Skips the test that asks where there is no such program."""
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")


class ServerProcess:
    """Runs `command` while in its context; it is there once it listens at `port`.

    Attributes:
        url: where it is.
        port: of the loopback interface; None for one that listens nowhere, since it sends.
    """

    def __init__(self, command: Sequence[str], url: str, port: int | None) -> None:
        self.url = url
        self.port = port
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it, as it was, and waits until it listens; one that ran is killed."""
        require_program(self._command[0])
        self.kill()
        # Whatever becomes of this process, that one ends too.
        life = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        self._process = subprocess.Popen(
            [*life, *self._command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        give_up = time.monotonic() + _START_S
        while self.port is not None and not self._listens():
            assert self._process.poll() is None, f"it ended at once: {self._command}"
            assert time.monotonic() < give_up, f"it does not listen: {self._command}"
            time.sleep(0.02)

    def kill(self) -> None:
        """Ends it in the middle of whatever it does; its connections break."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def hold(self) -> None:
        """It falls silent, and its connections stay open."""
        assert self._process
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """It goes on after `hold`."""
        assert self._process
        self._process.send_signal(signal.SIGCONT)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _listens(self) -> bool:
        """Asked without connecting, since some serve the first who does and nobody else.

        One that has been found meanwhile, and listens no more, did listen.
        """
        assert self._process
        try:
            sockets = psutil.Process(self._process.pid).net_connections("tcp")
        except psutil.NoSuchProcess:
            return False
        return any(each.laddr.port == self.port for each in sockets)
