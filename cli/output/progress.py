"""The progress area: a line for each source at work, drawn anew some times a second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from cli.output.text import clock

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Task, TaskID

    from protocol.source import Source


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a source is.

    Attributes:
        counts: how many captions there are, in words.
        position_s: time of the newest captioned frame.
        lag_s: how late the newest caption of a live source was; None before the first.
        dropped: frames of a live source that went by.
        away: nothing comes from a live source, and it is being tried again.
    """

    counts: str
    position_s: float = 0.0
    lag_s: float | None = None
    dropped: int = 0
    away: bool = False


class ProgressArea:
    """Lines at the foot of the terminal while there are sources at work.

    Args:
        console: where it is drawn.
        several: whether sources are read at the same time: each line then starts with a label.
    """

    def __init__(self, console: Console, *, several: bool) -> None:
        self._console = console
        self._several = several
        self._progress: Progress | None = None

    @property
    def shown(self) -> bool:
        """Whether it is on the screen."""
        return self._progress is not None

    def add(self, source: Source, label: Text | None, standing: Standing) -> TaskID:
        """A line for `source`, below those that are there."""
        if self._progress is None:
            plain = self._several or source.live
            self._progress = Progress(
                *(self._live_columns() if plain else self._file_columns(source.duration_s)),
                console=self._console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
        line = self._progress.add_task(
            "",
            total=source.duration_s,
            label=label or Text(),
            live=source.live,
            duration_s=source.duration_s,
            standing=standing,
        )
        self._progress.start()
        return line

    def update(self, line: TaskID, standing: Standing) -> None:
        """What the line says from now on."""
        if self._progress is not None:
            self._progress.update(line, completed=standing.position_s, standing=standing)

    def remove(self, line: TaskID) -> None:
        """The source of that line is at work no more; the area goes with its last line."""
        if self._progress is None:
            return
        if len(self._progress.tasks) > 1:
            self._progress.remove_task(line)
        else:
            self.stop()

    def stop(self) -> None:
        """The area goes, whatever it shows."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def _file_columns(self, duration_s: float | None) -> list[ProgressColumn]:
        """As much of the bar as fits on one line of this terminal."""
        width = self._console.width
        counts = TextColumn("{task.fields[standing].counts}", style="dim", table_column=Column(no_wrap=True))
        columns: list[ProgressColumn] = [_Position(total=width >= 50), counts]
        if width >= 60:
            columns.insert(0, BarColumn(bar_width=16 if width < 90 else 24))
        if width >= 75:
            columns.insert(2, _Speed())
        if width >= 90 and duration_s is not None:
            columns.append(TimeRemainingColumn(compact=True))
        return columns

    def _live_columns(self) -> list[ProgressColumn]:
        """What matters of a source without an end; the lag and the drops are the last to go."""
        width = self._console.width
        columns: list[ProgressColumn] = [_Lag(), _Dropped()]
        if width >= 48 or not self._several:
            columns.insert(0, _Counts())
        if width >= (64 if self._several else 50):
            columns.insert(0, _Running())
        if self._several:
            columns.insert(0, _Label())
        return columns


class _OneLine(ProgressColumn):
    def __init__(self) -> None:
        super().__init__(Column(no_wrap=True))


class _Position(ProgressColumn):
    """Where in the video the newest caption is, of how much."""

    def __init__(self, *, total: bool) -> None:
        super().__init__()
        self._total = total

    def render(self, task: Task) -> Text:
        position = clock(task.fields["standing"].position_s)[:-4]
        duration_s = task.fields["duration_s"]
        if duration_s is None or not self._total:
            return Text(position)
        return Text(f"{position} / {clock(duration_s)[:-4]}")


class _Speed(ProgressColumn):
    """Video seconds captioned a second."""

    def render(self, task: Task) -> Text:
        elapsed_s = task.elapsed or 0.0
        speed = task.fields["standing"].position_s / elapsed_s if elapsed_s > 0 else 0.0
        return Text(f"{speed:.1f} × real time" if speed else "", style="dim")


class _Label(_OneLine):
    def render(self, task: Task) -> Text:
        label: Text = task.fields["label"]
        return label


class _Running(_OneLine):
    """How long a live source has been at work; where in a file it is."""

    def render(self, task: Task) -> Text:
        seconds = (task.elapsed or 0.0) if task.fields["live"] else task.fields["standing"].position_s
        return Text(clock(seconds)[:-4])


class _Counts(ProgressColumn):
    """How many captions; its end gives way where a line is too long."""

    def render(self, task: Task) -> Text:
        return Text(task.fields["standing"].counts, style="dim", no_wrap=True, overflow="ellipsis")


class _Lag(_OneLine):
    """How late the newest caption was, or that nothing comes."""

    def render(self, task: Task) -> Text:
        standing: Standing = task.fields["standing"]
        if standing.away:
            return Text("reconnecting…", style="yellow")
        return Text("" if standing.lag_s is None else f"lag {seconds_text(standing.lag_s)}")


class _Dropped(_OneLine):
    def render(self, task: Task) -> Text:
        standing: Standing = task.fields["standing"]
        return Text(f"{standing.dropped} dropped" if task.fields["live"] else "", style="dim")


def seconds_text(seconds: float) -> str:
    """Seconds with as many decimals as matter.

    >>> seconds_text(0.0437), seconds_text(12.34)
    ('0.04 s', '12.3 s')
    """
    return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
