"""How long to wait before a request is sent again."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


PATIENT_TRIES = 42
"""With the usual pauses these take some four minutes: a model takes its time to load."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Doubling pauses with jitter, and an end.

    Attributes:
        first_s: the first pause, before jitter.
        longest_s: no pause grows beyond that.
        tries: requests in all, the first included.
        patience_s: the longest pause a server may ask for.
    """

    first_s: float = 0.5
    longest_s: float = 8.0
    tries: int = 5
    patience_s: float = 60.0

    def pauses(self) -> Iterator[float]:
        """Seconds to wait after each try but the last, each with up to half of it taken off."""
        for count in range(self.tries - 1):
            # Jitter, so that clients that failed together do not come back together.
            yield min(self.longest_s, self.first_s * 2**count) * random.uniform(0.5, 1)


def retry_after_s(header: str | None) -> float | None:
    """Seconds that a ``Retry-After`` asks for, given as such or as a date; None if there is none.

    Source: RFC 9110, section 10.2.3.
    """
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = parsedate_to_datetime(header)
        except ValueError:
            return None
        aware = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(0.0, (aware - datetime.now(UTC)).total_seconds())
    return seconds if 0 <= seconds < float("inf") else None
