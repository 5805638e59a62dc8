"""A failed write is one clear error, and what was there stays whole."""

import errno
import os
from pathlib import Path

import pytest

from cli.output.jsonl import JsonlWriter
from protocol.errors import OutputError
from tests.cli.output.records import record


class FillingDisk:
    """A text stream on a real file whose disk fills up half-way through the second record."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._writes = 0

    def write(self, text: str) -> int:
        self._writes += 1
        if self._writes < 2:
            return self._file.write(text)
        self._file.write(text[: len(text) // 2])
        self._file.flush()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def flush(self) -> None:
        self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        self._file.close()


def test_half_a_record_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    disk = FillingDisk(path)
    writer = JsonlWriter(disk, str(path))  # type: ignore[arg-type]
    first = record(0.0, "Ünïcode.")
    writer.write(first)
    with pytest.raises(OutputError, match=r"out\.jsonl: No space left on device; what was written before"):
        writer.write(record(1.0, "Two."))
    disk.close()
    assert path.read_text(encoding="utf-8") == first.model_dump_json() + "\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device() -> None:
    stream = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115 - closing it fails, as it should
    with pytest.raises(OutputError, match="/dev/full: No space left on device"):
        JsonlWriter(stream, "/dev/full").write(record(0.0, "One."))
    with pytest.raises(OSError, match="No space left"):
        stream.close()
