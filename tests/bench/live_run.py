"""A caption run over a live source, watched from outside: its records as they come, and its memory."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]
STREAM = (sys.executable, "-m", "cli.main")


def clock_stream(delay_s: float) -> tuple[str, ...]:
    """`stream` with the engine that answers after `delay_s` with the time that the picture shows."""
    return (sys.executable, "-m", "tests.live.clock_engine", str(delay_s))


@dataclass
class LiveRun:
    """Runs `command` while in its context.

    Attributes:
        records: what it wrote so far, each with `received`, when it was read here (seconds since 1970).
        memory: (seconds since the start, resident MB), once a second.
        errors: lines on standard error.
    """

    command: Sequence[str]
    records: list[dict[str, Any]] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
        self._came = threading.Condition()
        self._threads = [
            threading.Thread(target=each, daemon=True) for each in (self._read, self._hear, self._weigh)
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self.wait()

    @property
    def captions(self) -> list[dict[str, Any]]:
        """The captions so far."""
        return [each for each in self.records if each["type"] == "caption"]

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        for thread in self._threads:
            thread.join()
        return self._process.wait()

    def caption(self, *, since: float = 0.0, count: int = 1, timeout_s: float = 60) -> dict[str, Any]:
        """The `count`th caption of a picture that came after `since` (seconds since 1970), once there."""
        give_up = time.monotonic() + timeout_s
        with self._came:
            while True:
                later = [each for each in self.captions if captured_s(each) > since]
                if len(later) >= count:
                    return later[count - 1]
                if self._process.poll() is not None or time.monotonic() > give_up:
                    raise SystemExit(f"no caption came: {self.errors}")
                self._came.wait(1)

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            with self._came:
                self.records.append({**json.loads(line), "received": time.time()})
                self._came.notify_all()

    def _hear(self) -> None:
        assert self._process.stderr
        self.errors.extend(line.rstrip() for line in self._process.stderr)

    def _weigh(self) -> None:
        started = time.monotonic()
        status = Path(f"/proc/{self._process.pid}/status")
        while self._process.poll() is None:
            lines = [line for line in status.read_text().splitlines() if line.startswith("VmRSS")]
            if lines:
                self.memory.append((time.monotonic() - started, int(lines[0].split()[1]) / 1000))
            time.sleep(1)


def captured_s(record: dict[str, Any]) -> float:
    """When its picture arrived, in seconds since 1970."""
    return datetime.fromisoformat(record["captured_at"]).timestamp()


def late_s(record: dict[str, Any]) -> float:
    """How long after it was made its picture arrived, by the clock in the picture."""
    return captured_s(record) - float(record["text"])


def spread(values: Sequence[float]) -> str:
    """Median, 95th percentile and worst, in seconds."""
    ordered = sorted(values)
    p50, p95 = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
    return f"p50 {p50:.3f} s, p95 {p95:.3f} s, worst {ordered[-1]:.3f} s"
