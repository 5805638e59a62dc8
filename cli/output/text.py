"""Plain text: a time and a caption a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from cli.clean import one_line
from cli.output.writer import Writer
from cli.video.timecode import format_timecode

if TYPE_CHECKING:
    from cli.output.record import CaptionRecord


class TextWriter(Writer):
    """``00:03.500  A caption.``, a line for each.

    Of several inputs, each has a heading ``==> name <==`` before its first caption, as `head` and `tail` do.
    """

    def __init__(self, stream: TextIO, name: str, *, several_inputs: bool = False) -> None:
        super().__init__(stream, name)
        self._several_inputs = several_inputs
        self._source: str | None = None

    def write(self, record: CaptionRecord) -> None:
        line = f"{clock(record.pts_s)}  {one_line(record.text)}\n"
        if self._several_inputs and record.source != self._source:
            blank = "" if self._source is None else "\n"
            line = f"{blank}==> {one_line(record.source)} <==\n{line}"
            self._source = record.source
        self._put(line)


def clock(seconds: float | None) -> str:
    """``MM:SS.mmm``, with hours in front from the first hour on; dashes for no time.

    >>> clock(63.5), clock(3723.25), clock(None)
    ('01:03.500', '01:02:03.250', '--:--.---')
    """
    return "--:--.---" if seconds is None else format_timecode(seconds).removeprefix("00:")
