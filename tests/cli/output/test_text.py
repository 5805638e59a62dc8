"""Plain text: a caption a line."""

import io

from cli.output.text import TextWriter, clock
from tests.cli.output.records import record


def test_a_time_and_a_caption_a_line() -> None:
    stream = io.StringIO()
    writer = TextWriter(stream, "x")
    writer.write(record(3.5, "One\nline."))
    writer.write(record(3723.25, "Late."))
    assert stream.getvalue() == "00:03.500  One line.\n01:02:03.250  Late.\n"


def test_several_inputs_have_headings() -> None:
    stream = io.StringIO()
    writer = TextWriter(stream, "x", several_inputs=True)
    writer.write(record(0.0, "One.", source="a.mp4"))
    writer.write(record(1.0, "Two.", source="a.mp4"))
    writer.write(record(0.0, "Three.", source="b.mp4"))
    assert stream.getvalue() == (
        "==> a.mp4 <==\n00:00.000  One.\n00:01.000  Two.\n\n==> b.mp4 <==\n00:00.000  Three.\n"
    )


def test_no_time_is_dashes() -> None:
    assert clock(None) == "--:--.---"
