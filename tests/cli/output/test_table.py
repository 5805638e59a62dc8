"""CSV and TSV open in any spreadsheet and come back as they were."""

import csv
import io

from cli.output.record import FIELDS
from cli.output.table import CsvWriter, TsvWriter
from tests.cli.output.records import record

AWKWARD = 'A "sign", with, commas\nand\ta tab'


def test_csv_comes_back_as_it_was() -> None:
    stream = io.StringIO(newline="")
    writer = CsvWriter(stream, "x")
    writer.write(record(0.5, AWKWARD))
    writer.write(record(1.5, "Plain."))
    rows = list(csv.DictReader(io.StringIO(stream.getvalue(), newline="")))
    assert tuple(rows[0]) == FIELDS
    assert [row["text"] for row in rows] == [AWKWARD, "Plain."]
    assert rows[0]["pts_s"] == "0.5"
    assert rows[0]["decode_ms"] == ""
    assert rows[0]["captured_at"] == "2024-05-06T07:08:09.500000Z"


def test_tsv_is_a_row_a_line() -> None:
    stream = io.StringIO(newline="")
    writer = TsvWriter(stream, "x")
    writer.write(record(0.5, AWKWARD))
    header, row = stream.getvalue().splitlines()
    cells = dict(zip(header.split("\t"), row.split("\t"), strict=True))
    assert cells["text"] == "A 'sign', with, commas and a tab"


def test_the_header_is_written_once_for_several_inputs() -> None:
    stream = io.StringIO(newline="")
    writer = CsvWriter(stream, "x")
    for source in ("a.mp4", "b.mp4"):
        writer.write(record(0.0, "A.", source=source))
        writer.finish(1.0)
    assert stream.getvalue().count("frame_index") == 1


def test_yes_and_no_are_as_in_json() -> None:
    for kind, delimiter in ((CsvWriter, ","), (TsvWriter, "\t")):
        stream = io.StringIO(newline="")
        writer = kind(stream, "x")
        writer.write(record(0.0, "A.", history_lost=True))
        writer.write(record(1.0, "B."))
        rows = list(csv.DictReader(io.StringIO(stream.getvalue()), delimiter=delimiter))
        assert [row["history_lost"] for row in rows] == ["true", "false"]
