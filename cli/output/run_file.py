"""What is kept beside a JSONL file, for a later run to go on from it."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

from cli.fingerprint import Fingerprint  # noqa: TC001 - pydantic reads the annotations
from protocol.errors import OutputError

if TYPE_CHECKING:
    from pathlib import Path


class InputState(BaseModel):
    """How far one input has come.

    Attributes:
        source: its name in the records.
        fingerprint: of the file, when it was begun.
        damaged: something of it could not be read.
        incomplete: it is done, with something missing.
        end_s: when it is done: where it ends, and how long the JSONL file was then.
    """

    source: str
    fingerprint: Fingerprint | None = None
    damaged: bool = False
    incomplete: bool = False
    end_s: float | None = None
    end_offset: int | None = None


class Part(BaseModel):
    """From byte `offset` on, up to the next part, the records are those of input number `input`."""

    input: int
    offset: int


class RunState(BaseModel):
    """A run: what it was told, and how far it has come."""

    version: Literal[1] = 1
    options: dict[str, Any]
    inputs: list[InputState]
    parts: list[Part] = Field(default_factory=list)


class RunFile:
    """The file ``.<name>.run`` beside a JSONL file of that name.

    A file of its own, so that the JSONL file holds records and nothing else, from its first line on. It is
    replaced as a whole whenever an input begins or ends.
    """

    def __init__(self, jsonl: Path) -> None:
        self.path = jsonl.with_name(f".{jsonl.name}.run")

    def load(self) -> RunState | None:
        """What it holds; None if it is not there, or is none of ours."""
        try:
            return RunState.model_validate_json(self.path.read_bytes())
        except (OSError, ValueError):
            return None

    def save(self, state: RunState) -> None:
        """Replaces it, whole or not at all.

        Raises:
            OutputError: the disk is full, or the folder is gone or may not be written to.
        """
        unfinished = self.path.with_name(self.path.name + ".new")
        try:
            unfinished.write_text(state.model_dump_json(indent=1) + "\n", encoding="utf-8")
            unfinished.replace(self.path)
        except OSError as error:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            raise OutputError(f"{self.path}: {error.strerror or error}") from error

    def exists(self) -> bool:
        """Whether there is one."""
        return os.path.lexists(self.path)
