"""TCP servers that do what FFmpeg's own does not: several parts over one connection, or nothing at all."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from tests.live.ffmpeg_server import MPEGTS, QUIET, h264, live_input
from tests.live.server_process import LIFE_S, require_program

if TYPE_CHECKING:
    from collections.abc import Sequence


class SilentServer:
    """Takes connections and never says a word.

    Attributes:
        url: where it is.
    """

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"tcp://127.0.0.1:{self._listening.getsockname()[1]}"

    def accept(self, timeout_s: float = 60) -> socket.socket:
        """The next connection, once somebody connects; without that the kernel keeps it, open and silent."""
        self._listening.settimeout(timeout_s)
        return self._listening.accept()[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()


@dataclass(frozen=True)
class Part:
    """So many seconds of pictures with a clock in them (see `picture`), as a stream of its own."""

    seconds: float
    width: int
    height: int
    fps: int = 30


class PartsServer:
    """Gives each who connects the parts one after the other, each with times of its own, and then closes.

    Attributes:
        url: where it is.
        connections: how many there were so far.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        require_program("ffmpeg")
        self._parts = parts
        self._closed = False
        self._process: subprocess.Popen[bytes] | None = None
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.url = f"tcp://127.0.0.1:{self._listening.getsockname()[1]}"
        self.connections = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes accept()
        self._listening.close()
        if self._process is not None:
            self._process.kill()
        self._thread.join()

    def _serve(self) -> None:
        while not self._closed:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            with connection:
                for part in self._parts:
                    self._send(part, connection)

    def _send(self, part: Part, connection: socket.socket) -> None:
        source = live_input(part.width, part.height, part.fps, min(part.seconds, LIFE_S))
        self._process = subprocess.Popen(
            [*QUIET, *source, *h264(part.fps), *MPEGTS, "pipe:1"],
            stdin=subprocess.DEVNULL,
            stdout=connection.fileno(),
            stderr=subprocess.DEVNULL,
        )
        if self._closed:
            self._process.kill()
        self._process.wait()
