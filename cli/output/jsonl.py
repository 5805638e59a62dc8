"""JSONL: one record a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.clean import escape_controls
from cli.output.writer import Writer

if TYPE_CHECKING:
    from cli.output.record import CaptionRecord, ErrorRecord, GapRecord


def json_line(record: CaptionRecord | ErrorRecord | GapRecord) -> str:
    """`record` as one line of JSON, its end included."""
    return escape_controls(record.model_dump_json()) + "\n"


class JsonlWriter(Writer):
    """One JSON object a line, UTF-8, every field present; see `stream schema`."""

    def write(self, record: CaptionRecord) -> None:
        self._line(record)

    def event(self, record: ErrorRecord | GapRecord) -> None:
        self._line(record)

    def _line(self, record: CaptionRecord | ErrorRecord | GapRecord) -> None:
        self._put(json_line(record))
