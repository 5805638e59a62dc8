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


def test_what_was_in_the_file_before_is_not_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("before\n", encoding="utf-8")

    class Appending(FillingDisk):
        def __init__(self, path: Path) -> None:
            self._file = path.open("a", encoding="utf-8")
            self._writes = 0

    disk = Appending(path)
    writer = JsonlWriter(disk, "standard output")  # type: ignore[arg-type]
    first = record(0.0, "One.")
    writer.write(first)
    with pytest.raises(OutputError, match="standard output: No space left"):
        writer.write(record(1.0, "Two."))
    disk.close()
    assert path.read_text(encoding="utf-8") == "before\n" + first.model_dump_json() + "\n"
