"""When the packets of a live source came, also those that had to wait until they were read."""

from __future__ import annotations


class ArrivalClock:
    """A packet that was waited for came just now. One that was there already came before, while nobody read:
    its timestamp tells how long after the last that was waited for.

    Timestamps are believed for such packets only, and no further than to between the one before and now.
    """

    def __init__(self) -> None:
        self._last_s: float | None = None
        self._anchor: tuple[float, float] | None = None  # timestamp and arrival of one that was waited for

    def arrived_s(self, now_s: float, stamp_s: float | None, *, waited: bool) -> float:
        """When the packet came that is read now, at `now_s`; its timestamp, if any, in seconds."""
        arrived_s = now_s
        if stamp_s is not None and (waited or self._anchor is None):
            self._anchor = stamp_s, now_s
        elif stamp_s is not None and self._anchor is not None and self._last_s is not None:
            anchor_stamp_s, anchor_s = self._anchor
            arrived_s = min(max(anchor_s + stamp_s - anchor_stamp_s, self._last_s), now_s)
        self._last_s = arrived_s
        return arrived_s
