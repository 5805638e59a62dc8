"""``--changes-only``: captions that say what the one before them said are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cli.output.record import CaptionRecord

_COUNTS = ("skipped_similar", "dropped_since_last")


class ChangesOnly:
    """The captions of one source that say something else than the last one that was kept.

    Two captions are the same if their words are: white space does not count, case and punctuation do. The
    first one is kept. A gap, a frame that was not answered and a new session make nothing new of the same
    words.

    Nothing is lost count of. A record that is kept says how many were left out before it (`unchanged`), and
    takes over what those would have told: their `skipped_similar`, `dropped_since_last` and `history_lost`.

    Attributes:
        unchanged: captions left out since the last one that was kept.
    """

    def __init__(self) -> None:
        """None so far."""
        self.unchanged = 0
        self._words: list[str] | None = None
        self._left_out: CaptionRecord | None = None  # the newest; it tells what those before it told

    def of(self, record: CaptionRecord) -> CaptionRecord | None:
        """`record` as it is to be written; None leaves it out. Asked in the order of the captions."""
        record = self._telling_all(record)
        words = record.text.split()
        if words == self._words:
            self.unchanged += 1
            self._left_out = record
            return None
        self.unchanged = 0
        self._words, self._left_out = words, None
        return record

    def _telling_all(self, record: CaptionRecord) -> CaptionRecord:
        """`record` with what the ones left out before it would have told."""
        changes: dict[str, object] = {"unchanged": self.unchanged}
        if (before := self._left_out) is not None:
            changes["history_lost"] = before.history_lost or record.history_lost
            changes |= {name: _sum(getattr(before, name), getattr(record, name)) for name in _COUNTS}
        return record.model_copy(update=changes)


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other
