"""A terminal to show things on, made of strings, and sources to show."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Screen:
    """Standard output and standard error as one wide terminal each, read without colours."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, columns: int = 80) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("FORCE_COLOR", "1")
        self._out, self._err = io.StringIO(), io.StringIO()
        monkeypatch.setattr("sys.stdout", self._out)
        monkeypatch.setattr("sys.stderr", self._err)

    @property
    def out(self) -> list[str]:
        """The lines of standard output."""
        return _lines(self._out.getvalue())

    @property
    def err(self) -> list[str]:
        """The lines of standard error, every one that was ever drawn."""
        return _lines(self._err.getvalue())

    @property
    def colours(self) -> str:
        """Standard output with the colours."""
        return self._out.getvalue()

    @property
    def hidden_cursor(self) -> bool:
        """Whether the cursor of standard error was hidden and not given back."""
        text = self._err.getvalue()
        return text.rfind("\x1b[?25l") > text.rfind("\x1b[?25h")


def _lines(text: str) -> list[str]:
    lines = _ESCAPE.sub("", text).replace("\r", "\n").splitlines()
    return [line.rstrip() for line in lines if line.strip()]


def clip(name: str = "clip.mp4", **changes: Any) -> Any:
    """A file of an hour that gives a frame a second."""
    return SimpleNamespace(
        **{"name": name, "live": False, "duration_s": 3600.0, "expected_frames": 3600, **changes}
    )


def camera(name: str) -> Any:
    """A live source."""
    return SimpleNamespace(name=name, live=True, duration_s=None, expected_frames=None)
