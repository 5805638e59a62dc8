"""What every output format has in common."""

from __future__ import annotations

import contextlib
import os
import stat
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, TextIO

from protocol.errors import OutputError

if TYPE_CHECKING:
    from cli.output.record import CaptionRecord, ErrorRecord


class Writer(ABC):
    """Writes captions to a text stream, flushed so that what has been written is valid at any moment.

    `write` takes the captions of one input in the order of their times; `finish` says where that input ends.
    Formats that hold one video's timeline (subtitles) take one input, the others any number.
    """

    one_input: ClassVar[bool] = False

    def __init__(self, stream: TextIO, name: str) -> None:
        """`name` is what errors call the stream: a path, or ``standard output``."""
        self.name = name
        self._stream = stream
        self._valid_bytes = _size(stream)  # standard output may be a file that holds something already

    @abstractmethod
    def write(self, record: CaptionRecord) -> None:
        """Writes one caption.

        Raises:
            OutputError: the disk is full, or the file is gone.
            BrokenPipeError: whoever read the stream has left.
        """

    def refused(self, record: ErrorRecord) -> None:  # noqa: B027 - most formats have no place for it
        """A frame was not answered, at its time among the captions.

        Raises:
            OutputError, BrokenPipeError: see `write`.
        """

    def finish(self, end_s: float | None) -> None:  # noqa: B027 - most formats have nothing to finish
        """The input ended at `end_s`, or was broken off (None)."""

    def _put(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            self._take_back()
            raise OutputError(
                f"{self.name}: {error.strerror or error}", hint="what was written before is complete"
            ) from error
        self._valid_bytes += len(text.encode())

    def _take_back(self) -> None:
        """A full disk can take half of what was put: cuts a file back to the last whole record."""
        if _size(self._stream) > self._valid_bytes:
            with contextlib.suppress(OSError):  # the file is gone
                os.ftruncate(self._stream.fileno(), self._valid_bytes)


def _size(stream: TextIO) -> int:
    """Bytes in the file behind `stream`; 0 if it is none."""
    with contextlib.suppress(OSError, ValueError):
        found = os.fstat(stream.fileno())
        return found.st_size if stat.S_ISREG(found.st_mode) else 0
    return 0
