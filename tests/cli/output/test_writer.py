"""A failed write is one clear error, and what was there stays whole."""

import errno
import os
import resource
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
    with Path("/dev/full").open("w", encoding="utf-8") as stream:
        writer = JsonlWriter(stream, "/dev/full")
        with pytest.raises(OutputError, match="/dev/full: No space left on device"):
            writer.write(record(0.0, "One."))
        writer.write(record(1.0, "Two."))  # told once


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


def test_what_a_full_disk_did_not_take_is_not_written_later(tmp_path: Path) -> None:
    """A buffered stream tries again when it is closed, and cutting the file back has made some room."""
    path = tmp_path / "out.jsonl"
    first = record(0.0, "One.")
    whole = first.model_dump_json() + "\n"
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with path.open("w", encoding="utf-8") as stream:
        writer = JsonlWriter(stream, str(path))
        writer.write(first)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 100, limit[1]))
        try:
            with pytest.raises(OutputError, match=r"out\.jsonl: File too large; what was written before"):
                writer.write(record(1.0, "Two."))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        writer.write(record(2.0, "Three."))
    assert path.read_text(encoding="utf-8") == whole


def test_a_file_that_is_removed_is_told(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        writer = JsonlWriter(stream, str(path))
        writer.write(record(0.0, "One."))
        path.unlink()
        with pytest.raises(OutputError, match=r"out\.jsonl: was removed while captions were written to it"):
            writer.write(record(1.0, "Two."))


def test_a_reader_that_leaves_is_told() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        os.close(reading)
        with pytest.raises(OutputError, match=r"^standard output: nobody reads it any more$"):
            JsonlWriter(stream, "standard output").write(record(0.0, "One."))
