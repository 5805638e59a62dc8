"""Times as people write them: seconds, ``MM:SS`` or ``HH:MM:SS.mmm``."""

from __future__ import annotations

import re
from fractions import Fraction

from protocol.errors import UsageError

MAX_SECONDS = 10 * 366 * 86_400  # no recording is as long, and larger numbers overflow in FFmpeg
_MAX_LENGTH = 100
_TIMECODE = re.compile(r"(?:(?:(\d+):)?(\d+):)?(\d+(?:[.,]\d*)?|[.,]\d+)", re.ASCII)


def parse_timecode(text: str) -> Fraction:
    """Seconds, exactly, from ``90.5``, ``1:30.5`` or ``00:01:30.500``; a comma serves as the point too.

    Raises:
        UsageError: it is none of these, or its minutes or seconds are past 59.
    """
    match = _TIMECODE.fullmatch(text.strip()) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise UsageError(
            f"{text.strip()[:_MAX_LENGTH] or 'nothing'}: not a time",
            hint="write seconds, MM:SS or HH:MM:SS.mmm",
        )
    hours, minutes, seconds = match.groups()
    whole_seconds = Fraction(seconds.replace(",", ".").rstrip(".") or 0)
    if (minutes is not None and whole_seconds >= 60) or (hours is not None and int(minutes) >= 60):
        raise UsageError(f"{text.strip()}: not a time", hint="minutes and seconds end at 59")
    time = int(hours or 0) * 3600 + int(minutes or 0) * 60 + whole_seconds
    if time > MAX_SECONDS:
        raise UsageError(f"{text.strip()}: not a time", hint="it is over ten years")
    return time


def format_timecode(seconds: float | Fraction) -> str:
    """``HH:MM:SS.mmm``, rounded to the millisecond.

    >>> format_timecode(3723.5)
    '01:02:03.500'
    """
    milliseconds = round(abs(Fraction(seconds)) * 1000)
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    sign = "-" if seconds < 0 and milliseconds else ""
    return f"{sign}{hours:02d}:{minutes:02d}:{rest // 1000:02d}.{rest % 1000:03d}"
