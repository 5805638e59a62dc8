"""Telling whether a file is still the one it was."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from cli.video.inputs import STDIN, is_url
from protocol.redaction import mask_url

if TYPE_CHECKING:
    from cli.video.inputs import Input

_BLOCK = 64 * 1024
_BLOCKS = 64
"""So many blocks, evenly spread, are looked at: a file of up to 4 MiB as a whole."""


class Fingerprint(BaseModel):
    """Size, time of change, and a digest of the beginning, the end and what lies between."""

    model_config = ConfigDict(frozen=True)

    size: int
    mtime_ns: int
    sha256: str

    @classmethod
    def of(cls, given: Input) -> Fingerprint | None:
        """Of the file `given`; None for what is no regular file, or cannot be read."""
        if given == STDIN or is_url(given):
            return None
        try:
            found = os.stat(given)  # noqa: PTH116 - a path may hold what pathlib refuses
            if not stat.S_ISREG(found.st_mode):
                return None
            return cls(size=found.st_size, mtime_ns=found.st_mtime_ns, sha256=_digest(given, found.st_size))
        except (OSError, ValueError):
            return None

    def difference(self, given: Input) -> str | None:
        """What is not the same about the file `given` now; None if nothing is, or it cannot be told."""
        try:
            found = os.stat(given)  # noqa: PTH116
        except (OSError, ValueError):  # opening it will tell
            return None
        if not stat.S_ISREG(found.st_mode):
            return "it is no file any more"
        if found.st_size != self.size:
            return f"it has {found.st_size} bytes, and had {self.size}"
        if found.st_mtime_ns == self.mtime_ns:
            return None
        now = Fingerprint.of(given)
        return "its content has changed" if now is not None and now.sha256 != self.sha256 else None


def readable_again(given: Input) -> bool:
    """Whether `given` can be read a second time, as far as its kind tells: a pipe cannot."""
    if is_url(given):
        return True
    if given == STDIN:
        return False
    try:
        return stat.S_ISREG(os.stat(given).st_mode)  # noqa: PTH116
    except (OSError, ValueError):  # not there: opening it will tell
        return True


def source_name(given: Input) -> str:
    """What `given` is called in records: credentials in a URL are masked."""
    return mask_url(given) if is_url(given) else given


def _digest(path: str, size: int) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:  # noqa: PTH123
        if size <= _BLOCK * _BLOCKS:
            digest.update(file.read(_BLOCK * _BLOCKS))
        else:
            for block in range(_BLOCKS):
                file.seek((size - _BLOCK) * block // (_BLOCKS - 1))
                digest.update(file.read(_BLOCK))
    return digest.hexdigest()
