"""What a person sees while captions are made: the captions, a progress bar, warnings and a summary."""

from __future__ import annotations

import contextlib
import os
import sys
from time import perf_counter
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from cli.clean import one_line
from cli.output.text import clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.progress import Task
    from rich.status import Status

    from cli.output.record import CaptionRecord, ErrorRecord
    from protocol.source import Damage, Ended, Source

_MOST_REASONS = 20
"""Different reasons told for unanswered frames; a server that words each differently is counted only."""


class Display:
    """Progress, warnings and the summary on stderr; captions on stdout where a terminal shows them.

    Args:
        show_captions: print captions for a person to read (standard output is a terminal and no machine
            format was asked for).
        every: show every Nth caption only.
        quiet: no progress and no summary.
        input_count: inputs in this run.
        bar: whether a progress bar may be drawn.
    """

    def __init__(
        self,
        *,
        show_captions: bool,
        every: int = 1,
        quiet: bool = False,
        input_count: int = 1,
        bar: bool = True,
    ) -> None:
        self._err = Console(stderr=True, highlight=False)
        # One terminal, one console: Rich then keeps the captions above the bar.
        self._out = self._err if _same_terminal() else Console(highlight=False)
        self._show_captions = show_captions
        self._every = every
        self._summary = not quiet and self._err.is_terminal
        self._bar = bar and self._summary
        self._input_count = input_count
        self._status: Status | None = None
        self._progress: Progress | None = None
        self._source: Source | None = None
        self._started = 0.0
        self._frames = 0
        self._skipped = 0
        self._damage_shown = False
        self._refusals: set[str] = set()
        self._refused = 0

    def loading(self, what: str) -> None:
        """Something takes a while before the first frame; shown until `begin` or `end`."""
        if self._bar:
            if self._status is None:
                self._status = self._err.status(what, spinner="dots")
                self._status.start()
            self._status.update(what)

    def begin(self, source: Source, number: int = 1) -> None:
        """`source`, the input of that number, is about to be read."""
        self._stop_status()
        self._source, self._frames, self._skipped, self._damage_shown = source, 0, 0, False
        self._refusals, self._refused = set(), 0
        self._started = perf_counter()
        if self._input_count > 1 and (self._summary or self._show_captions):
            heading = f"{one_line(source.name)}  ({number} of {self._input_count})"
            self._out.print(Text(heading, style="bold"), soft_wrap=True)
        if self._bar:
            self._progress = Progress(
                *self._columns(source.duration_s),
                console=self._err,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._progress.add_task("", total=source.duration_s, position_s=0.0, frames=self._frame_count())
            self._progress.start()

    def resumed(self, captions: int, last_s: float) -> None:
        """The source begun last goes on where an earlier run left it."""
        if self._source is not None:
            self.note(f"{self._source.name}: going on after {clock(last_s)}, with {_count(captions)} there")

    def caption(self, record: CaptionRecord) -> None:
        """A caption was made."""
        if self._show_captions and self._frames % self._every == 0:
            line = Table.grid(padding=(0, 2))
            line.add_column(no_wrap=True)
            line.add_column(overflow="fold")
            line.add_row(Text(clock(record.pts_s), style="cyan"), Text(one_line(record.text)))
            self._out.print(line)
        self._frames += 1
        if self._progress is not None:
            task = self._progress.tasks[0]
            position_s = record.pts_s or 0.0
            self._progress.update(
                task.id, completed=position_s, position_s=position_s, frames=self._frame_count()
            )

    def skipped(self, frames: int) -> None:
        """So many frames were left out since they show nothing new."""
        self._skipped += frames

    def damage(self, source_name: str, event: Damage) -> None:
        """Something was unreadable. The first time is told at once, the count when the source has ended."""
        if not self._damage_shown:
            self._damage_shown = True
            where = "" if event.pts_s is None else f" at {clock(event.pts_s)}"
            self.warn(f"{source_name}: {event.detail}{where}; going on after it")

    def refused(self, record: ErrorRecord) -> None:
        """A frame was not answered. Each reason is told when it first comes, the count in the end."""
        self._refused += 1
        if record.message not in self._refusals and len(self._refusals) < _MOST_REASONS:
            self._refusals.add(record.message)
            code = "" if record.code is None else f" ({record.code})"
            going_on = "going on in a new session" if record.session_lost else "going on"
            self.warn(
                f"{record.source}: frame at {clock(record.pts_s)} not answered{code}: "
                f"{record.message}; {going_on}"
            )

    def end(self, ended: Ended | None, files: Sequence[str] = ()) -> None:
        """The source begun last has ended, or was broken off (None); its captions are in `files`."""
        self._stop_status()
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
        if self._source is None:
            return
        name = self._source.name
        if ended and ended.truncated:
            declared = (
                "" if self._source.duration_s is None else f" of {self._source.duration_s:.1f} s declared"
            )
            self.warn(f"{name}: ends early, at {ended.end_s:.1f} s{declared}")
        if ended and ended.damaged > 1:
            self.warn(f"{name}: {ended.damaged} damaged packets were skipped")
        if self._refused > 1:
            self.warn(f"{name}: {self._refused} frames were not answered")
        if self._summary and self._frames:
            self._print_summary(name, ended, files)

    def failed(self, message: str) -> None:
        """An input failed and the run goes on."""
        self._print_line("error", "red", message)

    def warn(self, message: str) -> None:
        """A line the person should see, on stderr; never silenced."""
        self._print_line("warning", "yellow", message)

    def note(self, message: str) -> None:
        """Something worth knowing that is no fault, on stderr."""
        self._print_line("note", "cyan", message)

    def _print_line(self, label: str, colour: str, message: str) -> None:
        line = Text(f"{label}: ", style=colour)
        line.append(one_line(message), style="default")
        self._tell(line)

    def _print_summary(self, name: str, ended: Ended | None, files: Sequence[str]) -> None:
        elapsed_s = perf_counter() - self._started
        captions = _count(self._frames)
        if ended is None:
            text = f"stopped after {captions} from {name}, {elapsed_s:.1f} s"
        else:
            text = f"{captions} from {name} in {elapsed_s:.1f} s"
            if ended.end_s > 0:
                text += f", {ended.end_s / elapsed_s:.1f} × real time"
        if self._skipped:
            text += f", {self._skipped} similar frames left out"
        if files:
            text += f"; wrote {', '.join(files)}"
        self._tell(Text(one_line(text), style="dim"))

    def _tell(self, line: Text) -> None:
        """On stderr; captions go on even if nobody can be told."""
        with contextlib.suppress(OSError, SystemExit):  # Rich makes a broken pipe the program's end
            self._err.print(line, soft_wrap=True)

    def _frame_count(self) -> str:
        expected = self._source.expected_frames if self._source else None
        if expected is None:
            return _count(self._frames)
        return f"{_count(self._frames)}, {max(0, expected - self._frames - self._skipped)} left"

    def _columns(self, duration_s: float | None) -> list[ProgressColumn]:
        """As much of the bar as fits on one line of this terminal."""
        counts = TextColumn("{task.fields[frames]}", style="dim", table_column=Column(no_wrap=True))
        columns: list[ProgressColumn] = [_Position(duration_s if self._err.width >= 50 else None), counts]
        if self._err.width >= 60:
            columns.insert(0, BarColumn(bar_width=16 if self._err.width < 90 else 24))
        if self._err.width >= 75:
            columns.insert(2, _Speed())
        if self._err.width >= 90 and duration_s is not None:
            columns.append(TimeRemainingColumn(compact=True))
        return columns

    def _stop_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def _count(captions: int) -> str:
    return f"{captions} caption" if captions == 1 else f"{captions} captions"


class _Position(ProgressColumn):
    """Where in the video the newest caption is, of how much."""

    def __init__(self, duration_s: float | None) -> None:
        super().__init__()
        self._duration_s = duration_s

    def render(self, task: Task) -> Text:
        position = clock(task.fields["position_s"])[:-4]
        if self._duration_s is None:
            return Text(position)
        return Text(f"{position} / {clock(self._duration_s)[:-4]}")


class _Speed(ProgressColumn):
    """Video seconds captioned a second."""

    def render(self, task: Task) -> Text:
        elapsed_s = task.elapsed or 0.0
        speed = task.fields["position_s"] / elapsed_s if elapsed_s > 0 else 0.0
        return Text(f"{speed:.1f} × real time" if speed else "", style="dim")


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
