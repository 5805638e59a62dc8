"""What was measured of one frame: everything a sentence may say, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.lite.colour import Palette
    from engine.lite.motion import Change
    from engine.lite.ocr import Line


@dataclass(frozen=True, slots=True)
class Observation:
    """One frame, alone and beside the ones before it.

    Attributes:
        change: what became of the frame before; None for the first frame, and after one of another shape.
        was_black: the frame before was black.
        fading: this change of light goes on from the one before, in the same direction.
        earlier: the view is one seen before the last cut.
        turned: the colour that a picture of one colour now has instead of another.
        noun: what the picture shows ("a cat"), where that is certain.
        lines: legible text in reading order.
        lines_before: legible text of the frame before.
    """

    palette: Palette
    change: Change | None = None
    was_black: bool = False
    fading: bool = False
    earlier: bool = False
    turned: str | None = None
    noun: str | None = None
    lines: tuple[Line, ...] = ()
    lines_before: tuple[Line, ...] = ()
