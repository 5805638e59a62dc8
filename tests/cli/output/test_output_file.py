"""Opening what is written to: one run at a time, and never half a line behind it."""

import os
from pathlib import Path

import pytest

from cli.output.output_file import close_output, open_output, whole_lines
from protocol.errors import OutputError


def test_a_file_is_new_replaced_or_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with open_output(path, "new") as stream:
        stream.write("one\ntw")
    with pytest.raises(OutputError, match="exists already; use --overwrite"):
        open_output(path, "new")
    with open_output(path, "go on") as stream:
        stream.write("three\n")
    assert path.read_text() == "one\nthree\n"
    with open_output(path, "replace") as stream:
        stream.write("four")
    assert path.read_text() == "four"


def test_two_runs_never_write_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with open_output(path, "new") as stream:
        stream.write("one\n")
        stream.flush()
        for purpose in ("replace", "go on"):
            with pytest.raises(OutputError, match="another run is writing to it"):
                open_output(path, purpose)  # type: ignore[arg-type]
    assert path.read_text() == "one\n"
    close_output(open_output(path, "go on"))


@pytest.mark.parametrize("content", [b"", b"a", b"a\n", b"a\nb", b"a\nb\n", b"a\n" + b"b" * 200_000])
def test_whole_lines(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    assert whole_lines(path) == content.rfind(b"\n") + 1


def test_what_cannot_be_opened_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"gone/a\.jsonl: No such file or directory"):
        open_output(tmp_path / "gone" / "a.jsonl", "new")
    with pytest.raises(OutputError, match="No such file"):
        whole_lines(tmp_path / "a.jsonl")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="nobody reads this pipe"):
        open_output(tmp_path / "pipe", "new")


def test_a_device_is_written_to_as_it_is() -> None:
    for purpose in ("new", "replace"):
        with open_output(Path("/dev/null"), purpose) as stream:  # type: ignore[arg-type]
            stream.write("one\n")
