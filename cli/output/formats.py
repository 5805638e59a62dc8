"""The output formats by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from cli.output.jsonl import JsonlWriter
from cli.output.subtitle import SrtWriter, SubtitleWriter, VttWriter
from cli.output.table import CsvWriter, TsvWriter
from cli.output.text import TextWriter
from protocol.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from cli.output.writer import Writer

WRITERS: dict[str, type[Writer]] = {
    "text": TextWriter,
    "jsonl": JsonlWriter,
    "srt": SrtWriter,
    "vtt": VttWriter,
    "csv": CsvWriter,
    "tsv": TsvWriter,
}
_SUFFIX_OF = {"text": "txt"}
_FORMAT_OF = {"txt": "text", "ndjson": "jsonl"}


def format_named(name: str) -> str:
    """The format that ``--format`` names; a suffix will do.

    Raises:
        UsageError: no format goes by that name.
    """
    found = _FORMAT_OF.get(name, name)
    if found not in WRITERS:
        raise UsageError(f"--format {name}: no such format", hint=f"choose from {', '.join(WRITERS)}")
    return found


def format_of(path: Path) -> str:
    """The format a file's suffix asks for.

    Raises:
        UsageError: no format goes by that suffix.
    """
    suffix = path.suffix.lower().removeprefix(".")
    name = _FORMAT_OF.get(suffix, suffix)
    if name not in WRITERS or suffix == "text":
        known = ", ".join(f".{_SUFFIX_OF.get(name, name)}" for name in WRITERS)
        raise UsageError(f"-o {path}: no caption format has that suffix", hint=f"use one of {known}")
    return name


def suffix_of(name: str) -> str:
    """The suffix, with its dot, of the files of format `name`."""
    return "." + _SUFFIX_OF.get(name, name)


def make_writer(name: str, stream: TextIO, label: str, *, several_inputs: bool, period_s: float) -> Writer:
    """The writer of format `name`; `period_s` is the sampling period, for a cue that nothing ends."""
    kind = WRITERS[name]
    if issubclass(kind, TextWriter):
        return kind(stream, label, several_inputs=several_inputs)
    if issubclass(kind, SubtitleWriter):
        return kind(stream, label, nominal_s=period_s)
    return kind(stream, label)
