"""Keeping a chatty library, and the processes it starts, off the terminal and out of the captions."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import warnings
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEPT_BYTES = 65_536


class Log:
    """A file that takes what was written to the terminal, to be quoted if something goes wrong."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None

    @contextlib.contextmanager
    def taking_output(self) -> Iterator[None]:
        """Sends file descriptors 1 and 2 here: what C code and child processes write, then and later.

        Children keep what they inherit, so that all they ever say comes here. `sys.stderr` goes on writing to
        the terminal, for progress.
        """
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="stream-vllm-")  # noqa: SIM115 - closed by close
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        stdout, stderr = os.dup(1), os.dup(2)
        shown = sys.stderr
        try:
            with os.fdopen(os.dup(stderr), "w", encoding="utf-8", errors="replace", buffering=1) as terminal:
                os.dup2(self._file.fileno(), 1)
                os.dup2(self._file.fileno(), 2)
                sys.stderr = terminal
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        yield
                finally:
                    sys.stderr = shown
                    os.dup2(stdout, 1)
                    os.dup2(stderr, 2)
        finally:
            os.close(stdout)
            os.close(stderr)

    def last_error(self) -> str:
        """The last line here that reads like an error's, or nothing."""
        if self._file is None:
            return ""
        size = os.fstat(self._file.fileno()).st_size
        kept = os.pread(self._file.fileno(), _KEPT_BYTES, max(0, size - _KEPT_BYTES))
        lines = [line.strip() for line in kept.decode(errors="replace").splitlines()]
        errors = [line for line in lines if "Error: " in line and "See root cause" not in line]
        return errors[-1][errors[-1].rfind(" ", 0, errors[-1].index("Error: ")) + 1 :] if errors else ""

    def close(self) -> None:
        """Lets go of the file."""
        if self._file is not None:
            self._file.close()
