"""How far behind the captions of a live source were."""

from __future__ import annotations

from collections import Counter
from math import exp, log

_STEP = 0.01
"""Lags this near to each other, as a fraction, count as one: the table stays small however long it runs."""
_LEAST_S = 1e-4


class Lags:
    """Lags in seconds, counted to a hundredth of their size, so that a run of weeks takes no more room."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def __bool__(self) -> bool:
        return bool(self._counts)

    def add(self, lag_s: float) -> None:
        """One more caption was so late."""
        self._counts[round(log(max(lag_s, _LEAST_S)) / _STEP)] += 1

    def quantile(self, share: float) -> float:
        """The least lag, in seconds, within which `share` (over 0, up to 1) of the captions came."""
        due = share * self._counts.total()
        seen = 0
        for step, count in sorted(self._counts.items()):
            seen += count
            if seen >= due:
                return exp(step * _STEP)
        return 0.0
