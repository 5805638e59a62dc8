"""A real `stream serve` for the tests of its clients."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx

from tests.cli.commands.stream import environment, start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass
class LiteServer:
    """A running process; `lines` is what it wrote to stderr so far."""

    process: subprocess.Popen[str]
    url: str = ""
    lines: list[str] = field(default_factory=list)

    @property
    def port(self) -> str:
        return self.url.rpartition(":")[2]

    def open_sessions(self) -> float:
        metrics = httpx.get(f"{self.url}/v1/metrics", timeout=20).text
        found = re.search(r"^stream_sessions_open (\S+)$", metrics, re.MULTILINE)
        assert found, metrics
        return float(found[1])


@contextlib.contextmanager
def lite_server(*options: str, port: str = "0") -> Iterator[LiteServer]:
    """A server with the lite engine, once it is ready."""
    process = start("serve", "--port", port, "--engine", "lite", *options, env=environment())
    server = LiteServer(process)
    ready = threading.Event()

    def read() -> None:
        assert process.stderr
        for line in process.stderr:
            server.lines.append(line)
            if found := re.match(r"ready at (\S+) with lite-1$", line):
                server.url = found[1]
                ready.set()
        ready.set()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        ready.wait(90)
        assert server.url, server.lines
        yield server
    finally:
        process.kill()
        process.wait()
        reader.join()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


@contextlib.contextmanager
def serving(*options: str, **variables: str) -> Iterator[str]:
    """The base URL of a server that is ready, told to stop in the end."""
    with start("serve", "--port", "0", "--quiet", *options, env=environment(**variables)) as process:
        try:
            assert process.stderr is not None
            ready = next(line for line in process.stderr if line.startswith("ready at "))
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield ready.split()[2]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)
    assert process.returncode == 0


def certificate(folder: Path) -> tuple[Path, Path]:
    """The files of an authority's certificate, and of a server's with its key."""
    import trustme

    authority = trustme.CA()
    ca_path, server_path = folder / "ca.pem", folder / "server.pem"
    authority.cert_pem.write_to_path(ca_path)
    authority.issue_cert("127.0.0.1", "localhost").private_key_and_cert_chain_pem.write_to_path(server_path)
    return ca_path, server_path
