"""SRT and WebVTT: captions as cues a player shows."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, TextIO

from cli.output.writer import Writer
from cli.video.timecode import format_timecode

if TYPE_CHECKING:
    from cli.output.record import CaptionRecord

_ARROW = re.compile(r"-{2,}>")
_SHORTEST_CUE_S = 0.001  # both formats count in milliseconds, and a cue of no length is never shown


class SubtitleWriter(Writer):
    """Cues from one sample to the next, the last until the video ends; equal captions in a row are one cue.

    A cue is written once its end is known, so the newest caption waits for the one after it. Broken off,
    the last cue lasts as long as the one before it (`nominal_s` for the first).
    """

    one_input = True
    decimal: ClassVar[str]

    def __init__(self, stream: TextIO, name: str, *, nominal_s: float = 1.0) -> None:
        super().__init__(stream, name)
        self._nominal_s = nominal_s
        self._start_s = 0.0
        self._latest_s = 0.0
        self._text: str | None = None
        self._number = 0

    def write(self, record: CaptionRecord) -> None:
        pts_s = record.pts_s or 0.0
        text = _cue_text(record.text)
        if self._text is None:
            self._start_s, self._text = pts_s, text
        elif text != self._text:
            self._put_cue(pts_s)
            self._start_s, self._text = pts_s, text
        if pts_s > self._latest_s:
            self._nominal_s = pts_s - self._latest_s
        self._latest_s = pts_s

    def finish(self, end_s: float | None) -> None:
        if self._text is not None:
            self._put_cue(self._latest_s + self._nominal_s if end_s is None else end_s)
            self._text = None

    def _put_cue(self, end_s: float) -> None:
        if not self._text:  # nothing to show; the gap between the cues around it says so
            return
        self._number += 1
        end_s = max(end_s, self._start_s + _SHORTEST_CUE_S)
        self._put(self._cue(self._number, self._clock(self._start_s), self._clock(end_s), self._text))

    def _clock(self, seconds: float) -> str:
        return format_timecode(seconds).replace(".", self.decimal)

    @abstractmethod
    def _cue(self, number: int, start: str, end: str, text: str) -> str:
        """One cue as the format writes it, the blank line after it included."""


class SrtWriter(SubtitleWriter):
    """SubRip: numbered cues, a comma before the milliseconds."""

    decimal = ","

    def _cue(self, number: int, start: str, end: str, text: str) -> str:
        return f"{number}\n{start} --> {end}\n{text}\n\n"


class VttWriter(SubtitleWriter):
    """WebVTT: a header line, then cues; ``&``, ``<`` and ``>`` are escaped."""

    decimal = "."

    def __init__(self, stream: TextIO, name: str, *, nominal_s: float = 1.0) -> None:
        super().__init__(stream, name, nominal_s=nominal_s)
        self._header_due = True

    def _cue(self, number: int, start: str, end: str, text: str) -> str:
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")  # FFmpeg drops a bare >
        return f"{number}\n{start} --> {end}\n{text}\n\n"

    def _put(self, text: str) -> None:
        if self._header_due:
            self._header_due = False
            text = "WEBVTT\n\n" + text
        super()._put(text)

    def finish(self, end_s: float | None) -> None:
        super().finish(end_s)
        if self._header_due:  # a file without a caption is still WebVTT
            self._put("")


def _cue_text(text: str) -> str:
    """`text` without what would end a cue or begin another: blank lines and the arrow."""
    lines = (line.strip() for line in _ARROW.sub("->", text).split("\n"))
    return "\n".join(line for line in lines if line)
