"""One session's eyes: looks at each frame beside the few it remembers."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.lite.camera import SLIGHTLY
from engine.lite.colour import palette
from engine.lite.motion import alike, compare, differs, shrink
from engine.lite.observation import Observation
from engine.lite.text import legible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from engine.lite.colour import Palette
    from engine.lite.motion import Box, Change, Grey
    from engine.lite.ocr import Line, Reader
    from engine.lite.scene import Scene

    Pixels = NDArray[Any]  # H x W x 3, uint8, RGB

WORKING_SIDE = 640
"""Longer side of the copy everything but reading looks at."""

LOOK_BACK = 4
"""Frames over which a movement too slight to be named from one to the next is measured again."""
LIKE_WRITING = 0.8
"""Score from which a line is text, even if it is not certain which."""
OTHER_SHADE = 30
"""Least difference between what red, green and blue change by, when one plain colour becomes another."""


class Abandoned(Exception):
    """Nobody waits for this frame's description any more."""


@dataclass(frozen=True, slots=True)
class Trend:
    """Where the light of the last few frames goes.

    Attributes:
        from_black: up, all the way from a black frame.
        falling: down.
    """

    from_black: bool = False
    falling: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered of a frame: some 60 KB.

    Attributes:
        looked_at: the last picture in which names and text were looked for; they are taken to be the same
            until the picture differs from it.
        writing: where text stands, whether it can be read or not.
    """

    grey: Grey
    looked_at: Grey
    palette: Palette
    trend: Trend
    noun: str | None
    lines: tuple[Line, ...]
    writing: tuple[Box, ...]


class Describer:
    """Turns the frames of one session into observations. Not for two threads at once."""

    def __init__(self, scene: Scene, reader: Reader | None, *, frames: int) -> None:
        """Remembers `frames` frames, the newest included; reads no text without a `reader`."""
        self._scene = scene
        self._reader = reader
        self._remembered: deque[Memory] = deque(maxlen=frames - 1)

    @property
    def remembered(self) -> int:
        """How many earlier frames the next one is compared with at most."""
        return len(self._remembered)

    def forget(self) -> None:
        """Lets go of every frame; the next one is the first again."""
        self._remembered.clear()

    def look(self, pixels: Pixels, *, abandoned: Callable[[], bool] = lambda: False) -> Observation:
        """Observes the next frame (H x W x 3, RGB). What is remembered changes only if this returns.

        Raises:
            Abandoned: `abandoned` said so, between two steps.
        """
        remembered = tuple(self._remembered)  # the session may be closed meanwhile
        before = remembered[-1] if remembered else None
        picture = _working_copy(pixels)
        grey = shrink(picture)
        colours = palette(picture)
        noun: str | None = None
        lines: tuple[Line, ...] = ()
        writing: tuple[Box, ...] = ()
        looked_at = grey
        if before is not None and not differs(before.looked_at, grey):
            noun, lines, writing, looked_at = before.noun, before.lines, before.writing, before.looked_at
        elif colours.light != "black":
            noun = self._scene.name(picture, said=before.noun if before else None)
            if abandoned():
                raise Abandoned
            found = self._reader.read(pixels) if self._reader else []
            lines = tuple(legible(found))
            writing = tuple(line.box for line in found if line.score >= LIKE_WRITING)
        if abandoned():
            raise Abandoned
        change = None
        if before is not None:
            all_writing = before.writing + writing
            change = compare(before.grey, grey, _rewritten(before.lines, lines), all_writing)
            if change is not None and change.camera == SLIGHTLY:
                change = _longer_move(remembered, grey, all_writing) or change
        seen = _beside(remembered, change, colours, grey, noun, lines)
        trend = _trend(before, change)
        self._remembered.append(Memory(grey, looked_at, colours, trend, noun, lines, writing))
        return seen


def _longer_move(remembered: Sequence[Memory], grey: Grey, writing: tuple[Box, ...]) -> Change | None:
    """The camera's movement over the last few frames, where that is enough to be named."""
    older = remembered[max(0, len(remembered) - LOOK_BACK)]
    change = compare(older.grey, grey, writing, writing)
    moved = change is not None and change.camera not in (None, SLIGHTLY)
    return change if moved else None


def _beside(
    remembered: Sequence[Memory],
    change: Change | None,
    colours: Palette,
    grey: Grey,
    noun: str | None,
    lines: tuple[Line, ...],
) -> Observation:
    if not remembered or change is None:
        return Observation(colours, noun=noun, lines=lines)
    before = remembered[-1]
    ends_black = colours.light == "black"
    return Observation(
        colours,
        change=change,
        was_black=_was_black(before.palette, change),
        fading=before.trend.falling if ends_black or not change.brighter else before.trend.from_black,
        earlier=change.kind in ("cut", "much") and any(alike(old.grey, grey) for old in remembered),
        turned=_turned(before.palette, colours),
        noun=noun,
        lines=lines,
        lines_before=before.lines,
    )


def _trend(before: Memory | None, change: Change | None) -> Trend:
    """Which way the light goes with `change`, and whether it went that way before."""
    if before is None or change is None:
        return Trend()
    up = change.kind == "light" and change.brighter
    down = change.kind == "light" and not change.brighter
    return Trend(
        from_black=_was_black(before.palette, change) or (up and before.trend.from_black), falling=down
    )


def _was_black(before: Palette, change: Change) -> bool:
    """Whether the frame before was black, or so but for a speck and then followed by a picture."""
    if before.light == "black":
        return True
    return before.even and before.colours == ("black",) and change.kind in ("cut", "much")


def _turned(before: Palette, now: Palette) -> str | None:
    """The new colour, where one plain backdrop became another and not only brighter or darker."""
    if not (before.backdrop and now.backdrop) or before.colours[0] == now.colours[0]:
        return None
    steps = [new - old for old, new in zip(before.shade, now.shade, strict=True)]
    return now.colours[0] if max(steps) - min(steps) >= OTHER_SHADE else None


def _working_copy(pixels: Pixels) -> Pixels:
    import cv2

    height, width = pixels.shape[:2]
    scale = WORKING_SIDE / max(height, width)
    if scale >= 1:
        return pixels
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    copy: Pixels = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    return copy


def _rewritten(before: tuple[Line, ...], now: tuple[Line, ...]) -> tuple[Box, ...]:
    """Where other text stands than before: what changes there is told by the text, not as motion."""
    if not now:
        return ()
    old, new = ({line.text.casefold() for line in lines} for lines in (before, now))
    changed = [line for line in before if line.text.casefold() not in new]
    changed += [line for line in now if line.text.casefold() not in old]
    return tuple(line.box for line in changed)
