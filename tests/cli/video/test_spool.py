import os
import tempfile
import threading
from pathlib import Path

import pytest

from cli.video.spool import spool
from protocol.errors import InputError


def never() -> bool:
    return False


def pipe_with(data: bytes) -> int:
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb") as file:
            file.write(data)

    threading.Thread(target=write, daemon=True).start()
    return reading


def test_a_pipe_is_copied_and_can_be_seeked() -> None:
    data = os.urandom(3 << 20)
    descriptor = pipe_with(data)
    with spool(descriptor, "-", never) as file:
        assert file.read() == data
        file.seek(5)
        assert file.read(1) == data[5:6]
    os.close(descriptor)


def test_a_file_is_used_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    with path.open("rb") as given, spool(given.fileno(), "-", never) as file:
        assert os.fstat(file.fileno()).st_ino == path.stat().st_ino
        assert file.read() == b"content"


def test_nothing_is_an_error() -> None:
    descriptor = pipe_with(b"")
    with pytest.raises(InputError, match="-: nothing came in"):
        spool(descriptor, "-", never)
    os.close(descriptor)


def test_a_terminal_is_no_video() -> None:
    master, terminal = os.openpty()
    with pytest.raises(InputError, match="terminal"):
        spool(terminal, "-", never)
    os.close(master)
    os.close(terminal)


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, _: bytes) -> int:
            raise OSError(28, "No space left on device")

        def close(self) -> None: ...

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    descriptor = pipe_with(b"x")
    with pytest.raises(InputError, match="No space left") as error:
        spool(descriptor, "-", never)
    assert "TMPDIR" in error.value.hint
    os.close(descriptor)


def test_stops_when_told() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x")
    with spool(reading, "-", lambda: True) as file:
        assert file.read() == b"x"
    os.close(reading)
    os.close(writing)
