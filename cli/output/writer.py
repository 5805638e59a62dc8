"""What every output format has in common."""

from __future__ import annotations

import contextlib
import os
import stat
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, TextIO

from protocol.errors import OutputError

if TYPE_CHECKING:
    from cli.output.record import CaptionRecord, ErrorRecord, GapRecord


class Writer(ABC):
    """Writes captions to a text stream, flushed so that what has been written is valid at any moment.

    After a write that failed nothing more is written: what is there stays as it is.

    `write` takes the captions of one input in the order of their times; `finish` says where that input ends.
    Formats that hold one video's timeline (subtitles) take one input, the others any number.
    """

    one_input: ClassVar[bool] = False

    def __init__(self, stream: TextIO, name: str) -> None:
        """`name` is what errors call the stream: a path, or ``standard output``."""
        self.name = name
        self._stream = stream
        self._failed = False
        self._valid_bytes = _size(stream)  # standard output may be a file that holds something already

    @abstractmethod
    def write(self, record: CaptionRecord) -> None:
        """Writes one caption.

        Raises:
            OutputError: the disk is full, the file is gone, or whoever read the stream has left.
        """

    def event(self, record: ErrorRecord | GapRecord) -> None:  # noqa: B027 - most formats have no place for it
        """Something else than a caption: a frame was not answered, or a live source was away.

        Raises:
            OutputError: see `write`.
        """

    def finish(self, end_s: float | None) -> None:  # noqa: B027 - most formats have nothing to finish
        """The input ended at `end_s`, or was broken off (None)."""

    def _put(self, text: str) -> None:
        if self._failed:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError as error:
            self._take_back()
            if isinstance(error, BrokenPipeError):
                raise OutputError(f"{self.name}: nobody reads it any more") from error
            raise OutputError(
                f"{self.name}: {error.strerror or error}", hint="what was written before is complete"
            ) from error
        if _is_removed(self._stream):
            self._failed = True
            raise OutputError(f"{self.name}: was removed while captions were written to it")
        self._valid_bytes += len(text.encode())

    def _take_back(self) -> None:
        """A full disk can take half of what was put: cuts a file back to the last whole record."""
        self._failed = True
        with contextlib.suppress(OSError, ValueError):  # the file is gone, or there is none
            descriptor = self._stream.fileno()
            if _size(self._stream) > self._valid_bytes:
                os.ftruncate(descriptor, self._valid_bytes)
            # What the stream still holds would be written once more when it is closed: let that go nowhere.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


def _size(stream: TextIO) -> int:
    """Bytes in the file behind `stream`; 0 if it is none."""
    with contextlib.suppress(OSError, ValueError):
        found = os.fstat(stream.fileno())
        return found.st_size if stat.S_ISREG(found.st_mode) else 0
    return 0


def _is_removed(stream: TextIO) -> bool:
    """Whether the file behind `stream` is in no folder any more, so that what is written to it is lost."""
    with contextlib.suppress(OSError, ValueError):
        found = os.fstat(stream.fileno())
        return stat.S_ISREG(found.st_mode) and found.st_nlink == 0
    return False
