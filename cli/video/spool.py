"""What cannot be seeked goes to a temporary file first: camera MP4s have their index at the end."""

from __future__ import annotations

import os
import stat
import tempfile
from typing import TYPE_CHECKING, BinaryIO

from protocol.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CHUNK = 1 << 20
_TIMEOUT_S = 30.0


def spool(descriptor: int, name: str, stopped: Callable[[], bool]) -> BinaryIO:
    """A file object with all that `descriptor` gives, at its beginning; the file goes away when it is closed.

    A regular file behind `descriptor` (``stream - < clip.mp4``) is used as it stands. Reads the descriptor
    itself, since a thread left waiting inside ``sys.stdin`` makes the interpreter's exit fail.

    Raises:
        InputError: it gives nothing, or the temporary folder is full.
    """
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return open(os.dup(descriptor), "rb")  # noqa: PTH123  # the caller closes it
    if os.isatty(descriptor):
        raise InputError(f"{name}: standard input is a terminal", hint="pipe a video into it")
    return _keep(iter(lambda: os.read(descriptor, _CHUNK), b""), name, stopped)


def download(url: str, name: str, stopped: Callable[[], bool]) -> BinaryIO | None:
    """As `spool`, for a web server that cannot send ranges of a file.

    None if that would help nothing: it can send ranges, tells no length (and so might never end), or fails.

    Raises:
        InputError: it sends nothing, or the temporary folder is full.
    """
    import httpx

    try:
        with httpx.stream("GET", url, follow_redirects=True, timeout=_TIMEOUT_S) as response:
            headers = response.headers
            if (
                response.is_error
                or "content-length" not in headers
                or headers.get("accept-ranges") == "bytes"
            ):
                return None
            return _keep(response.iter_bytes(_CHUNK), name, stopped)
    except (httpx.HTTPError, httpx.InvalidURL):
        return None


def _keep(chunks: Iterator[bytes], name: str, stopped: Callable[[], bool]) -> BinaryIO:
    spooled: BinaryIO = tempfile.TemporaryFile(prefix="stream-")  # noqa: SIM115  # the caller closes it
    try:
        for chunk in chunks:
            spooled.write(chunk)
            if stopped():
                break
        spooled.flush()
        if spooled.tell() == 0:
            raise InputError(f"{name}: nothing came in")
    except OSError as error:
        spooled.close()
        raise InputError(
            f"{name}: cannot be kept in {tempfile.gettempdir()}: {error.strerror or error}",
            hint="free some space or point TMPDIR elsewhere",
        ) from error
    except BaseException:
        spooled.close()
        raise
    spooled.seek(0)
    return spooled
