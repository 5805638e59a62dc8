"""A folder of sampled pictures and their index: what a model will see."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from cli.clean import valid_unicode
from protocol.errors import OutputError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from protocol.frame import Encoding, Frame

INDEX_NAME = "index.jsonl"
_SUFFIXES = {"jpeg": "jpg", "png": "png"}


class FrameFolder:
    """Writes pictures as ``<stem>-<seconds>.jpg`` and a line for each to ``index.jsonl``, at once."""

    def __init__(self, folder: Path, *, encoding: Encoding = "jpeg", overwrite: bool = False) -> None:
        """Makes `folder` and begins its index.

        Raises:
            OutputError: it cannot be written, or has an index and `overwrite` is not set.
        """
        self._folder = folder
        self._encoding = encoding
        self._mode = "w" if overwrite else "x"
        self._newest = ""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Line by line, so that what is there can be used while the rest is made.
            self._index = (folder / INDEX_NAME).open(self._mode, encoding="utf-8", buffering=1)
        except OSError as error:
            raise _refused(folder / INDEX_NAME, error) from error

    def write(self, frame: Frame, *, source: str, stem: str) -> Path:
        """Writes one picture and its line in the index; gives the picture's path.

        Raises:
            OutputError: the disk is full, or the file is there and may not be replaced.
        """
        path = self._folder / self._name(frame, stem)
        try:
            file = path.open(f"{self._mode}b")
        except OSError as error:
            raise _refused(path, error) from error
        whole = self._index.tell()
        try:
            with file:
                file.write(frame.encoded(self._encoding))
            width, height = frame.encoded_size(self._encoding)
            line = {
                "file": path.name,
                "source": valid_unicode(source),
                "pts_s": None if frame.pts_s is None else round(frame.pts_s, 6),
                "width": width,
                "height": height,
            }
            self._index.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            with suppress(OSError):
                path.unlink()
            self._cut(whole)
            raise _refused(path, error) from error
        return path

    def close(self) -> None:
        """Closes the index; what of it could not be written was told by `write`."""
        with suppress(OSError):
            self._index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _cut(self, size: int) -> None:
        """Ends the index after `size` bytes, so that no line in it is half one."""
        self.close()  # with what its buffer holds
        path = self._folder / INDEX_NAME
        with suppress(OSError):
            os.truncate(path, size)
        with suppress(OSError):
            self._index = path.open("a", encoding="utf-8", buffering=1)

    def _name(self, frame: Frame, stem: str) -> str:
        """A name that sorts by time; two frames within a millisecond get the digits that tell them apart."""
        time_s, suffix = frame.pts_s or 0.0, _SUFFIXES[self._encoding]
        name = f"{stem}-{time_s:010.3f}.{suffix}"
        if name == self._newest:
            return f"{stem}-{time_s:013.6f}.{suffix}"
        self._newest = name
        return name


def _refused(path: Path, error: OSError) -> OutputError:
    if isinstance(error, FileExistsError):
        if not path.parent.is_dir():
            return OutputError(f"{path.parent}: not a folder")
        return OutputError(f"{path}: exists already", hint="use --overwrite to replace it")
    reason = error.strerror or str(error)
    return OutputError(f"{path}: {reason[:1].lower()}{reason[1:]}")
