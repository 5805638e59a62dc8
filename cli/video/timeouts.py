"""How long a silent input is waited for."""

from __future__ import annotations

import time
from dataclasses import dataclass

from protocol.errors import InputError

OPEN_TIMEOUT_S = 20.0
READ_TIMEOUT_S = 60.0
STALL_TIMEOUT_S = 10.0
"""A live source without a picture for so long is lost."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Longest silence of an input in seconds, 0 for no limit.

    Attributes:
        open_s: until the first of it comes in: a first packet, or the first bytes of a pipe.
        read_s: between one piece and the next, after that.
    """

    open_s: float = OPEN_TIMEOUT_S
    read_s: float = READ_TIMEOUT_S


DEFAULT_TIMEOUTS = Timeouts()


class Pulse:
    """When an input last gave a sign of life: a reading thread beats, whoever waits for it looks on.

    FFmpeg has limits of its own, but not for pipes, and not while it looks up a name or parses what it got.
    """

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._alive = False
        self._last = time.monotonic()

    def beat(self) -> None:
        """Something came in."""
        self._last = time.monotonic()
        self._alive = True

    def silent_too_long(self, since: float) -> bool:
        """Whether the silence has passed its limit; it counts from `since` (monotonic) at the earliest."""
        limit_s = self._timeouts.read_s if self._alive else self._timeouts.open_s
        return limit_s > 0 and time.monotonic() - max(self._last, since) >= limit_s

    def error(self, name: str) -> InputError:
        """The error that tells which limit has passed."""
        if self._alive:
            return InputError(
                f"{name}: nothing more came in for {self._timeouts.read_s:g} s",
                hint="--read-timeout waits longer, 0 without end",
            )
        return InputError(
            f"{name}: nothing came in within {self._timeouts.open_s:g} s",
            hint="--open-timeout waits longer, 0 without end",
        )
