"""CSV and TSV: the records as rows under a header."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, ClassVar, TextIO

from cli.clean import clean, one_line
from cli.output.record import FIELDS
from cli.output.writer import Writer

if TYPE_CHECKING:
    from cli.output.record import CaptionRecord


class CsvWriter(Writer):
    """Comma-separated rows with a header (RFC 4180 quoting, ``\\n`` line ends); null is an empty cell."""

    delimiter: ClassVar[str] = ","

    def __init__(self, stream: TextIO, name: str) -> None:
        super().__init__(stream, name)
        self._header_due = True

    def write(self, record: CaptionRecord) -> None:
        row = io.StringIO()
        writer = csv.writer(row, delimiter=self.delimiter, lineterminator="\n")
        if self._header_due:
            writer.writerow(FIELDS)
            self._header_due = False
        writer.writerow([self._cell(value) for value in record.as_row().values()])
        self._put(row.getvalue())

    def _cell(self, value: object) -> object:
        if isinstance(value, bool):
            return "true" if value else "false"
        return clean(value) if isinstance(value, str) else value


class TsvWriter(CsvWriter):
    """Tab-separated rows with a header; tabs and line breaks in a text become spaces, so a line is a row."""

    delimiter = "\t"

    def _cell(self, value: object) -> object:
        return one_line(value).replace('"', "'") if isinstance(value, str) else super()._cell(value)
