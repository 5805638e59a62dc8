"""Opening the files that captions are written to."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING, Literal, TextIO, cast

from protocol.errors import OutputError

if TYPE_CHECKING:
    from pathlib import Path


def open_output(path: Path, purpose: Literal["new", "replace", "go on"]) -> TextIO:
    """Opens `path` for writing text; a regular file is locked, so that two runs never write to one.

    Args:
        path: FIFOs and devices are written to as they are, whatever the purpose.
        purpose: a file that exists is an error (``new``), is emptied, or is written to after its last whole
            line (``go on``).

    Raises:
        OutputError: it exists, is being written to, or cannot be opened.
    """
    special = os.path.exists(path) and not os.path.isfile(path)
    # "x": another run may have made the file since it was looked for.
    mode = "x" if purpose == "new" and not special else "a" if purpose == "go on" else "w"
    try:
        stream = cast(
            "TextIO",
            open(path, mode, encoding="utf-8", newline="\n", opener=_open_at_once),  # noqa: SIM115
        )
    except FileExistsError:
        raise OutputError(f"{path}: exists already", hint="use --overwrite to replace it") from None
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OutputError(f"{path}: nobody reads this pipe", hint="start its reader first") from None
        raise OutputError(f"{path}: {error.strerror}") from error
    try:
        if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            _lock(stream, path)
            os.ftruncate(stream.fileno(), whole_lines(path) if purpose == "go on" else 0)
    except BaseException:
        stream.close()
        raise
    return stream


def close_output(stream: TextIO) -> None:
    """Closes `stream`; what failed to be written has been reported when it was written."""
    with contextlib.suppress(OSError):
        stream.close()


def whole_lines(path: Path) -> int:
    """How many bytes of a file there are up to the end of its last whole line.

    Raises:
        OutputError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            while end > 0:
                begin = max(0, end - 64 * 1024)
                file.seek(begin)
                found = file.read(end - begin).rfind(b"\n")
                if found >= 0:
                    return begin + found + 1
                end = begin
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from error
    return 0


def _open_at_once(path: str, flags: int) -> int:
    """Opens a FIFO without waiting for a reader, which nothing could interrupt, and a file as it is."""
    descriptor = os.open(path, flags & ~os.O_TRUNC | getattr(os, "O_NONBLOCK", 0), 0o666)
    if hasattr(os, "set_blocking"):
        os.set_blocking(descriptor, True)
    return descriptor


def _lock(stream: TextIO, path: Path) -> None:
    """The system lets go of the lock with the process, however that ends."""
    try:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError(f"{path}: another run is writing to it") from None
    except (ImportError, OSError):  # Windows, or a file system without locks
        return
