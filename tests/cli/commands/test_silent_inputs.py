"""Inputs that fall silent: `stream` gives up in one line, and ends at once when it is told to."""

from __future__ import annotations

import contextlib
import http.server
import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from tests.cli.commands.stream import start, stream
from tests.clips import make_clip, steady

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIMITS = ("--open-timeout", "0.4", "--read-timeout", "0.5")


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A transport stream, which can be read as it comes."""
    path = tmp_path_factory.mktemp("clip") / "clip.ts"
    return make_clip(path, steady(200)).read_bytes()


@pytest.fixture(scope="module")
def stalling(clip: bytes) -> Iterator[tuple[str, threading.Event]]:
    """A server that sends nothing, only its headers, or half a clip, and then waits; when it was asked."""
    leave, asked = threading.Event(), threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.set()
            if self.path != "/nothing":
                self.send_response(200)
                self.send_header("Content-Length", str(len(clip)))
                self.end_headers()
            if self.path == "/half":
                with contextlib.suppress(OSError):
                    self.wfile.write(clip[: len(clip) // 2])
                    self.wfile.flush()
            leave.wait(60)

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    leave.set()
    server.shutdown()
    thread.join()
    server.server_close()


@contextlib.contextmanager
def written(fifo: Path, data: bytes) -> Iterator[None]:
    """`data` comes out of `fifo`, and then nothing, without an end."""
    leave = threading.Event()

    def write() -> None:
        with contextlib.suppress(OSError), fifo.open("wb", buffering=0) as file:
            file.write(data)
            leave.wait(60)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        leave.set()
        thread.join(10)


@pytest.mark.parametrize(
    "command", [("probe",), ("frames", "-o", "none"), ("caption", "--engine", "lite", "-f", "jsonl")]
)
def test_a_pipe_nobody_writes_to(fifo: Path, command: tuple[str, ...]) -> None:
    done = stream(*command, str(fifo), *LIMITS)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == (
        f"error: {fifo}: nothing came in within 0.4 s; --open-timeout waits longer, 0 without end"
    )


def test_a_pipe_that_stops_half_way(fifo: Path, clip: bytes) -> None:
    with written(fifo, clip[: len(clip) // 2]):
        done = stream("frames", "-o", "none", str(fifo), *LIMITS)
    assert (done.returncode, done.stderr) == (
        1,
        f"error: {fifo}: nothing more came in for 0.5 s; --read-timeout waits longer, 0 without end\n",
    )


@pytest.mark.parametrize("path", ["nothing", "headers"])
def test_a_server_that_sends_nothing(stalling: tuple[str, threading.Event], path: str) -> None:
    done = stream("probe", f"{stalling[0]}/{path}", *LIMITS)
    assert done.returncode == 1
    assert "nothing came in within 0.4 s; --open-timeout waits longer" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_server_that_stops_half_way(stalling: tuple[str, threading.Event]) -> None:
    """Either limit may hold, since FFmpeg reads far ahead as it opens."""
    done = stream("frames", "-o", "none", f"{stalling[0]}/half", *LIMITS)
    assert done.returncode == 1
    assert "-timeout waits longer, 0 without end" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_other_inputs_go_on(fifo: Path, clip: bytes, tmp_path: Path) -> None:
    (tmp_path / "clip.ts").write_bytes(clip)
    done = stream("frames", "-o", "none", str(fifo), str(tmp_path / "clip.ts"), *LIMITS)
    assert done.returncode == 3
    assert "nothing came in" in done.stderr
    assert "8 frames" in done.stderr


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/random", "/dev/null", "/dev/tty"])
def test_devices_are_refused(path: str) -> None:
    done = stream("probe", path)
    assert (done.returncode, done.stderr) == (1, f"error: {path}: a device, not a video file\n")


def test_no_limit(fifo: Path, clip: bytes) -> None:
    process = start("probe", str(fifo), "--open-timeout", "0", "--read-timeout", "0")
    with fifo.open("wb") as file:
        file.write(clip)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "h264, 128x64" in out


def test_a_negative_limit_is_no_limit_anyone_means(fifo: Path) -> None:
    done = stream("probe", str(fifo), "--open-timeout", "-1")
    assert done.returncode == 2
    assert "--open-timeout" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_a_pipe_is_opened(fifo: Path, number: signal.Signals) -> None:
    process = start("frames", "-o", "none", str(fifo))
    with fifo.open("wb"):  # it has come to opening it once this can be opened
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
    assert process.returncode == (130 if number == signal.SIGINT else 143)
    assert err == ""


def test_an_interrupt_while_a_server_is_silent(stalling: tuple[str, threading.Event]) -> None:
    address, asked = stalling
    asked.clear()
    process = start("frames", "-o", "none", f"{address}/half")
    assert asked.wait(30)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "")
