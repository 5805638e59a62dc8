"""What a person sees while captions are made: the captions, progress, warnings and a summary."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.clean import one_line
from cli.output.labels import short_labels
from cli.output.progress import ProgressArea
from cli.output.source_display import SourceDisplay
from cli.output.text import clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.status import Status

    from cli.output.record import CaptionRecord
    from protocol.source import Source

_LABEL_COLOURS = ("green", "magenta", "bright_blue", "yellow", "bright_green", "bright_magenta")


class Display:
    """Progress, warnings and the summary on stderr; captions on stdout where a terminal shows them.

    Args:
        show_captions: print captions for a person to read (standard output is a terminal and no machine
            format was asked for).
        every: show every Nth caption only.
        quiet: no progress and no summary.
        input_count: inputs in this run.
        bar: whether a progress bar may be drawn.
        at_once: names of the inputs, in their order, if they are read at the same time: each line then says
            whose it is. Empty if they are read one after the other.

    Attributes:
        progress: the progress area; None if none may be drawn.
    """

    def __init__(
        self,
        *,
        show_captions: bool,
        every: int = 1,
        quiet: bool = False,
        input_count: int = 1,
        bar: bool = True,
        at_once: Sequence[str] = (),
    ) -> None:
        self._err = Console(stderr=True, highlight=False)
        # One terminal, one console: Rich then keeps the captions above the bar.
        self._out = self._err if _same_terminal() else Console(highlight=False)
        self._show_captions = show_captions
        self.every = every
        self._summary = not quiet and self._err.is_terminal
        self._input_count = input_count
        self._labels = _labels(at_once, self._out.width) if len(at_once) > 1 else []
        self._label_width = max((label.cell_len for label in self._labels), default=0)
        self._time_width = 0
        self.progress = ProgressArea(self._err, several=bool(self._labels)) if bar and self._summary else None
        self._status: Status | None = None

    def loading(self, what: str) -> None:
        """Something takes a while before the first frame; shown until `begin`."""
        if self.progress is None or self.progress.shown:  # a terminal has one place to draw anew
            return
        if self._status is None:
            self._status = self._err.status(what, spinner="dots")
            self._status.start()
        self._status.update(what)

    def close(self) -> None:
        """Leaves the terminal as it was, whatever was going on."""
        self._stop_status()
        if self.progress is not None:
            self.progress.stop()

    def begin(self, source: Source, number: int = 1) -> SourceDisplay:
        """`source`, the input of that number, is about to be read; its `end` must follow."""
        self._stop_status()
        label = self._labels[number - 1] if self._labels else None
        if self._input_count > 1 and (self._summary or self._show_captions):
            heading = Text(f"{one_line(source.name)}  ({number} of {self._input_count})", style="bold")
            if label:
                space = " " * (self._label_width - label.cell_len + 2)
                heading = Text.assemble(label, space, heading)
            self._out.print(heading, soft_wrap=True)
        return SourceDisplay(self, source, label)

    def print_caption(self, record: CaptionRecord, label: Text | None) -> None:
        """The caption, if captions are shown, with the label of its source in front."""
        if not self._show_captions:
            return
        time = Text(clock(record.pts_s), style="cyan")
        # A source's hours make no room for themselves in the lines of another that began later.
        self._time_width = max(self._time_width, len(time)) if label else len(time)
        line = Table.grid(padding=(0, 2))
        line.add_column(no_wrap=True, justify="right", width=self._time_width)
        if label:
            line.add_column(no_wrap=True, width=self._label_width)
        line.add_column(overflow="fold")
        line.add_row(time, *([label] if label else []), Text(one_line(record.text)))
        self._out.print(line)

    def summary(self, text: str) -> None:
        """How a source went, unless summaries are not wanted."""
        if self._summary:
            self._tell(Text(text, style="dim"))

    def failed(self, message: str) -> None:
        """An input failed and the run goes on."""
        self._print_line("error", "red", message)

    def warn(self, message: str) -> None:
        """A line the person should see, on stderr; never silenced."""
        self._print_line("warning", "yellow", message)

    def note(self, message: str) -> None:
        """Something worth knowing that is no fault, on stderr."""
        self._print_line("note", "cyan", message)

    def _print_line(self, kind: str, colour: str, message: str) -> None:
        line = Text(f"{kind}: ", style=colour)
        line.append(one_line(message), style="default")
        self._tell(line)

    def _tell(self, line: Text) -> None:
        """On stderr; captions go on even if nobody can be told."""
        with contextlib.suppress(OSError, SystemExit):  # Rich makes a broken pipe the program's end
            self._err.print(line, soft_wrap=True)

    def _stop_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def _labels(names: Sequence[str], columns: int) -> list[Text]:
    """A short name and a colour for each, so that half of a narrow line and more is the caption's."""
    width = 10 if columns < 80 else 16 if columns < 110 else 24
    return [
        Text(label, style=_LABEL_COLOURS[index % len(_LABEL_COLOURS)])
        for index, label in enumerate(short_labels(names, width))
    ]


def _same_terminal() -> bool:
    """Whether stdout and stderr are one and the same terminal."""
    try:
        return (
            sys.stdout.isatty()
            and sys.stderr.isatty()
            and os.fstat(sys.stdout.fileno()).st_rdev == os.fstat(sys.stderr.fileno()).st_rdev
        )
    except (OSError, ValueError):  # a replaced stream without a descriptor
        return False
