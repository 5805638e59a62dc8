"""A file that has changed is told from one that was only touched."""

import os
from pathlib import Path

import pytest

from cli.fingerprint import Fingerprint, readable_again, source_name


def made(path: Path, content: bytes) -> Fingerprint:
    path.write_bytes(content)
    found = Fingerprint.of(str(path))
    assert found
    return found


def changed(path: Path, content: bytes) -> None:
    """Changes the content and, whatever the clock's resolution, the time of change."""
    before = path.stat().st_mtime_ns
    path.write_bytes(content)
    os.utime(path, ns=(before + 1, before + 1))


def test_a_file_that_was_only_touched_or_copied_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    fingerprint = made(path, b"video")
    assert fingerprint.difference(str(path)) is None
    os.utime(path, ns=(1, 1))
    assert fingerprint.difference(str(path)) is None
    (tmp_path / "b.mp4").write_bytes(b"video")
    assert fingerprint.difference(str(tmp_path / "b.mp4")) is None


def test_size_or_content_tell_another_file(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    fingerprint = made(path, b"video")
    changed(path, b"videos")
    assert fingerprint.difference(str(path)) == "it has 6 bytes, and had 5"
    changed(path, b"vidEo")
    assert fingerprint.difference(str(path)) == "its content has changed"


@pytest.mark.parametrize("place", [0, 1 << 20, (5 << 20) - 1])
def test_of_a_large_file_beginning_end_and_places_between_are_looked_at(place: int, tmp_path: Path) -> None:
    content = bytearray(5 << 20)
    path = tmp_path / "a.mp4"
    fingerprint = made(path, content)
    length = 100_000 if 0 < place < len(content) - 1 else 1
    content[place : place + length] = b"x" * length
    changed(path, content)
    assert fingerprint.difference(str(path)) == "its content has changed"


def test_what_is_no_file_has_no_fingerprint(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for given in (
        "-",
        "https://host/a.mp4",
        str(tmp_path),
        str(tmp_path / "pipe"),
        str(tmp_path / "gone"),
        "\0",
    ):
        assert Fingerprint.of(given) is None


def test_a_file_that_is_gone_or_no_file_any_more(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    fingerprint = made(path, b"video")
    path.unlink()
    assert fingerprint.difference(str(path)) is None  # opening it tells
    path.mkdir()
    assert fingerprint.difference(str(path)) == "it is no file any more"


def test_pipes_cannot_be_read_again(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    made(tmp_path / "a.mp4", b"video")
    assert not readable_again("-")
    assert not readable_again(str(tmp_path / "pipe"))
    for given in ("https://host/a.mp4", str(tmp_path / "a.mp4"), str(tmp_path / "gone")):
        assert readable_again(given)


def test_no_password_is_kept() -> None:
    assert source_name("https://me:secret@host/a.mp4") == "https://***@host/a.mp4"
    assert source_name("a.mp4") == "a.mp4"
