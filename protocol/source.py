"""Where frames come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from protocol.frame import Frame

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@dataclass(frozen=True, slots=True)
class Taken:
    """A frame was sampled at `pts_s` whose picture nobody asked for; in place of a `Frame`."""

    pts_s: float


@dataclass(frozen=True, slots=True)
class Dropped:
    """So many frames that sampling would have taken of a live source went by before the next `Frame`."""

    frames: int


@dataclass(frozen=True, slots=True)
class Damage:
    """Something was unreadable and has been skipped; what follows goes on."""

    detail: str
    pts_s: float | None = None


@dataclass(frozen=True, slots=True)
class Away:
    """A live source has been silent or away since `start_s` (on its time line); a `Gap` when it is back."""

    start_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class Gap:
    """A live source was silent or away from `start_s` to `end_s` (on its time line); it is back."""

    start_s: float
    end_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The source has no more frames. Always the last event, and always sent unless reading raises.

    Attributes:
        end_s: time at which the last picture leaves the screen, or at which the asked-for range ends.
        frames_decoded: pictures decoded, sampled or not.
        damaged: packets that failed and were skipped.
        truncated: the file ended well before the end it declares.
    """

    end_s: float
    frames_decoded: int
    damaged: int = 0
    truncated: bool = False


Event = Frame | Taken | Dropped | Damage | Away | Gap | Ended


@runtime_checkable
class Source(Protocol):
    """Frames, already sampled, with what happens between them, in the order of their times.

    One consumer iterates `events()` once. Reading runs ahead by a small bounded queue; for a live source
    the queue's policy decides what is dropped.

    Attributes:
        name: the input as the person gave it, credentials masked; stands in every record.
        live: frames arrive on the world's clock; the source has no known end.
        duration_s: seconds that will be read, as far as the container can be believed; None if unknown.
        expected_frames: how many frames sampling will give, an estimate; None if unknown.
    """

    name: str
    live: bool
    duration_s: float | None
    expected_frames: int | None

    def events(self) -> AsyncIterator[Event]:
        """Frames and what happens between them; ends after `Ended`.

        Raises:
            InputError: the input cannot be read (any further).
        """
        ...

    async def close(self) -> None:
        """Stops reading and lets go of the input; safe to call twice, and while `events` is waiting."""
        ...
