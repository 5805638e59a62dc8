"""What a person sees of one source: its captions, what went wrong with it, and its summary."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from cli.clean import one_line
from cli.output.lags import Lags
from cli.output.progress import Standing, seconds_text
from cli.output.text import clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.progress import TaskID
    from rich.text import Text

    from cli.output.record import CaptionRecord, ErrorRecord
    from cli.output.terminal import Display
    from protocol.source import Damage, Ended, Gap, Source

_MOST_REASONS = 20
"""Different reasons told for unanswered frames; a server that words each differently is counted only."""


class SourceDisplay:
    """One source on a `Display`; `Display.begin` makes it, and `end` is its end."""

    def __init__(self, display: Display, source: Source, label: Text | None) -> None:
        """`label` tells it from others that are read at the same time."""
        self._display = display
        self._source = source
        self._label = label
        self._started = perf_counter()
        self._captions = 0
        self._position_s = 0.0
        self._skipped = 0
        self._unchanged = 0
        self._dropped = 0
        self._lag_s: float | None = None
        self._lags = Lags()
        self._away = False
        self._gaps = 0
        self._gaps_s = 0.0
        self._damage_shown = False
        self._refusals: set[str] = set()
        self._refused = 0
        area = display.progress
        self._line: TaskID | None = None if area is None else area.add(source, label, self._standing())

    def resumed(self, captions: int, last_s: float) -> None:
        """It goes on where an earlier run left it."""
        self._display.note(
            f"{self._source.name}: going on after {clock(last_s)}, with {_count(captions)} there"
        )

    def caption(self, record: CaptionRecord) -> None:
        """A caption was made."""
        if self._captions % self._display.every == 0:
            self._display.print_caption(record, self._label)
        self._captions += 1
        self._reached(record)

    def unchanged(self, record: CaptionRecord) -> None:
        """A caption was made and is left out, since it says what the one before it says."""
        self._unchanged += 1
        self._reached(record)

    def skipped(self, frames: int) -> None:
        """So many frames were left out since they show nothing new."""
        self._skipped += frames

    def dropped(self, frames: int) -> None:
        """So many frames of a live source went by while the engine was busy."""
        self._dropped += frames
        self._update()

    def damage(self, event: Damage) -> None:
        """Something was unreadable. The first time is told at once, the count when the source has ended."""
        if not self._damage_shown:
            self._damage_shown = True
            where = "" if event.pts_s is None else f" at {clock(event.pts_s)}"
            self._display.warn(f"{self._source.name}: {event.detail}{where}; going on after it")

    def refused(self, record: ErrorRecord) -> None:
        """A frame was not answered. Each reason is told when it first comes, the count in the end."""
        self._refused += 1
        if record.message not in self._refusals and len(self._refusals) < _MOST_REASONS:
            self._refusals.add(record.message)
            code = "" if record.code is None else f" ({record.code})"
            going_on = "going on in a new session" if record.session_lost else "going on"
            self._display.warn(
                f"{record.source}: frame at {clock(record.pts_s)} not answered{code}: "
                f"{record.message}; {going_on}"
            )

    def away(self, reason: str) -> None:
        """Nothing comes from a live source any more, and it is being tried again. Told once until `gap`."""
        if not self._away:
            self._away = True
            self._display.warn(f"{self._source.name}: {reason}; reconnecting")
            self._update()

    def gap(self, gap: Gap) -> None:
        """A live source is back."""
        length_s = gap.end_s - gap.start_s
        self._gaps += 1
        self._gaps_s += length_s
        reason = "" if self._away else f" ({gap.reason})"
        self._away = False
        self._display.note(f"{self._source.name}: back after {length_s:.1f} s{reason}")
        self._update()

    def end(self, ended: Ended | None, files: Sequence[str] = ()) -> None:
        """It has ended, or was broken off (None); its captions are in `files`."""
        if self._line is not None and self._display.progress is not None:
            self._display.progress.remove(self._line)
            self._line = None
        name = self._source.name
        if ended and ended.truncated:
            declared = (
                "" if self._source.duration_s is None else f" of {self._source.duration_s:.1f} s declared"
            )
            self._display.warn(f"{name}: ends early, at {ended.end_s:.1f} s{declared}")
        if ended and ended.damaged > 1:
            self._display.warn(f"{name}: {ended.damaged} damaged packets were skipped")
        if self._refused > 1:
            self._display.warn(f"{name}: {self._refused} frames were not answered")
        if self._captions:
            self._display.summary(one_line(self._summary(ended, files)))

    def _summary(self, ended: Ended | None, files: Sequence[str]) -> str:
        elapsed_s = perf_counter() - self._started
        name, captions, live = self._source.name, _count(self._captions), self._source.live
        took = _span(elapsed_s) if live else f"{elapsed_s:.1f} s"
        text = (
            f"stopped after {captions} from {name}, {took}"
            if ended is None
            else (f"{captions} from {name} in {took}")
        )
        if live:
            text += self._live_summary()
        elif ended and ended.end_s > 0:
            text += f", {ended.end_s / elapsed_s:.1f} × real time"
        if self._skipped:
            text += f", {self._skipped} similar frames left out"
        if self._unchanged:
            text += f", {self._unchanged} unchanged captions left out"
        if files:
            text += f"; wrote {', '.join(files)}"
        return text

    def _live_summary(self) -> str:
        text = ""
        if self._lags:
            median, late = (seconds_text(self._lags.quantile(share)) for share in (0.5, 0.95))
            text += f", lag {median} median, {late} p95"
        text += f", {self._dropped} dropped"
        if self._gaps:
            text += f", {self._gaps} gap{'' if self._gaps == 1 else 's'} of {_span(self._gaps_s)}"
        if self._away:
            text += ", away in the end"
        return text

    def _reached(self, record: CaptionRecord) -> None:
        self._position_s = record.pts_s or 0.0
        if record.lag_s is not None:
            self._lag_s = record.lag_s
            self._lags.add(record.lag_s)
        self._update()

    def _update(self) -> None:
        if self._line is not None and self._display.progress is not None:
            self._display.progress.update(self._line, self._standing())

    def _standing(self) -> Standing:
        counts = _count(self._captions)
        expected = self._source.expected_frames
        if expected is not None and not self._source.live:
            counts += f", {max(0, expected - self._captions - self._unchanged - self._skipped)} left"
        return Standing(counts, self._position_s, self._lag_s, self._dropped, self._away)


def _count(captions: int) -> str:
    return f"{captions} caption" if captions == 1 else f"{captions} captions"


def _span(seconds: float) -> str:
    """A length of time in words.

    >>> _span(12.34), _span(603), _span(7500)
    ('12.3 s', '10 min 3 s', '2 h 5 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest_s = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest_s} s"
    return f"{minutes // 60} h {minutes % 60} min"
