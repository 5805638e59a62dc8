"""Killing a caption run again and again, and what must hold of its files whenever that happens."""

from __future__ import annotations

import csv
import io
import json
import random
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cli.output.record import CaptionRecord
from cli.output.subtitle import SrtWriter
from tests.cli.commands.stream import environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass
class KilledRun:
    """One run of `command` into `folder`, killed at random moments and gone on with.

    Attributes:
        expected: times of the frames that an unbroken run captions.
        lines: whole records after each kill.
        halves: kills after which the last line was cut, which a kill by itself hardly ever does.
    """

    command: Sequence[str]
    folder: Path
    expected: Sequence[float]
    seed: int = 0
    lines: list[int] = field(default_factory=list)
    halves: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._jsonl, self._srt, self._csv = (self.folder / f"out.{kind}" for kind in ("jsonl", "srt", "csv"))
        files = [part for path in (self._jsonl, self._srt, self._csv) for part in ("-o", str(path))]
        self._command = [*self.command, *files, "--resume"]
        self._start_s = 0.0

    def kill(self) -> bool:
        """Runs it until a random moment, in its start or a few captions on; False if it ended before that."""
        process = subprocess.Popen(
            self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()
        )
        try:
            if self._start_s and self._random.random() < 0.3:
                time.sleep(self._random.uniform(0, self._start_s))
            else:
                self._wait_for_growth(process, self._random.choice((1, 1, 2, 300, 800, 1500)))
                time.sleep(self._random.uniform(0, 0.02))
            ended = process.poll() is not None
        finally:
            process.kill()
            process.wait()
        if ended:
            return False
        self.lines.append(len(self.check()))
        if self._random.random() < 0.5:
            self._cut_last_line()
        return True

    def finish(self) -> subprocess.CompletedProcess[str]:
        """Runs it to its end."""
        return subprocess.run(
            self._command, capture_output=True, text=True, check=False, timeout=300, env=environment()
        )

    def check(self) -> list[dict[str, Any]]:
        """The records so far, those of an unbroken run up to somewhere; at most the last line is half one."""
        *whole, _ = self._jsonl.read_bytes().split(b"\n") if self._jsonl.exists() else [b""]
        records = [json.loads(line) for line in whole]
        assert [each["pts_s"] for each in records] == list(self.expected[: len(records)])
        assert [each["frame_index"] for each in records] == list(range(len(records)))
        return records

    def check_all(self) -> list[dict[str, Any]]:
        """The records in the end, none missing, and the same in every file."""
        records = self.check()
        assert len(records) == len(self.expected)
        assert self._jsonl.read_bytes().endswith(b"\n")
        rows = list(csv.DictReader(io.StringIO(self._csv.read_text(encoding="utf-8"))))
        assert [(float(row["pts_s"]), row["text"]) for row in rows] == [
            (each["pts_s"], each["text"]) for each in records
        ]
        subtitles = io.StringIO()
        writer = SrtWriter(subtitles, "srt")
        for each in records:
            writer.write(CaptionRecord(**each))
        writer.finish(None)
        written, made = self._srt.read_text(encoding="utf-8"), subtitles.getvalue()
        assert written.rpartition(" --> ")[0] == made.rpartition(" --> ")[0]  # but for the end of the video
        return records

    def _wait_for_growth(self, process: subprocess.Popen[bytes], size: int) -> None:
        started = time.monotonic()
        before = self._size()
        while self._size() < before + size and process.poll() is None:
            if not self._start_s and self._size() > before:
                self._start_s = time.monotonic() - started
            time.sleep(0.001)
        self._start_s = self._start_s or time.monotonic() - started

    def _cut_last_line(self) -> None:
        content = self._jsonl.read_bytes() if self._jsonl.exists() else b""
        if content.endswith(b"\n"):
            last = content[:-1].rfind(b"\n") + 1
            self._jsonl.write_bytes(content[: self._random.randrange(last, len(content))])
            self.halves += 1

    def _size(self) -> int:
        return self._jsonl.stat().st_size if self._jsonl.exists() else 0
