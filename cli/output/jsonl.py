"""JSONL: one record a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.output.writer import Writer

if TYPE_CHECKING:
    from cli.output.record import CaptionRecord


class JsonlWriter(Writer):
    """One JSON object a line, UTF-8, every field present; see `stream schema`."""

    def write(self, record: CaptionRecord) -> None:
        self._put(record.model_dump_json() + "\n")
