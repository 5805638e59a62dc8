"""What happened between two pictures: a camera or a thing that moved, a cut, a change of light."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from engine.lite.camera import SLIGHTLY, follow, match, movement, register
from engine.lite.place import name
from engine.lite.thing import follow_thing
from engine.lite.travel import travel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Grey = NDArray[Any]  # H x W, uint8
    Mask = NDArray[Any]  # H x W, bool
    Box = tuple[float, float, float, float]

Kind = Literal["still", "local", "camera", "light", "cut", "much"]

SIDE = 320
"""Longer side of the pictures compared, in pixels."""
EXPLAINED = 0.7
"""A camera movement must bring the difference between the pictures down to this share."""
SLIGHT_REST = 0.3
"""Share of the changed pixels that a slight camera movement may leave, interpolation being what it is."""
CHANGED = 16
"""Difference in brightness, after smoothing, of a pixel that changed."""
STILL_SHARE = 0.0008
"""Share of changed pixels up to which nothing moved."""
SMALL_SHARE, LOCAL_SHARE = 0.15, 0.5
"""Share of changed pixels up to which the rest stood still: for certain, and if the pictures are alike."""
ALIKE, UNLIKE = 0.6, 0.45
"""Correlation of two pictures: from here on they may show the same, up to here they do not."""
LIGHT_STEP = 2.0
"""Change of mean brightness that is a change of light."""
SAME_TONES, OTHER_TONES = 0.8, 0.65
"""Overlap of brightness histograms from which a region only moved, and up to which pictures are not alike."""
CUTS = ((0.25, 0.85), (0.5, 0.5))
"""Two pictures with less correlation and less overlap of tones than one of these pairs are two scenes."""
MAX_STEP = 10.0
"""Change of mean brightness up to which two pictures may be the very same view."""
IN_WRITING = 0.25
"""Share of the change from which writing may be what changes: then it is not said to move."""
IN_PLACE = 0.7
"""Share of the change that must lie in one third of the picture for that third to be named."""


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one picture in the next.

    Attributes:
        kind: `still` (nothing moves), `local` (something does, the rest stands still), `camera`, `light` (the
            same picture, brighter or darker), `cut` (another picture), `much` (none of these can be told).
        camera: what the camera does, for `camera`: "pans left and tilts up".
        place: where the change is, for `local`: "on the left"; None if it is in several places.
        wide: for `local`: a good part of the picture changed.
        moves: for `local`: what was there before is still there, elsewhere.
        brighter: for `light`.
    """

    kind: Kind
    camera: str | None = None
    place: str | None = None
    wide: bool = False
    moves: bool = False
    brighter: bool = False


def shrink(picture: NDArray[Any]) -> Grey:
    """`picture` (H x W x 3, RGB) as it is compared: grey, its longer side `SIDE` pixels, noise smoothed."""
    import cv2

    height, width = picture.shape[:2]
    scale = SIDE / max(height, width)
    size = (max(8, round(width * scale)), max(8, round(height * scale)))
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    grey = cv2.resize(grey, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    smooth: Grey = cv2.GaussianBlur(grey, (3, 3), 0)
    return smooth


def compare(
    before: Grey, now: Grey, ignored: tuple[Box, ...] = (), writing: tuple[Box, ...] = ()
) -> Change | None:
    """How `before` became `now`; None if their shapes differ.

    Changes in the `ignored` boxes do not count. The camera is told by what is outside `writing`, because
    writing is often laid over the picture and stands still when the camera moves.
    """
    import cv2

    if before.shape != now.shape:
        return None
    kept = _outside(ignored, now.shape)
    difference = cv2.absdiff(before, now)
    changed = _changed(difference, kept)
    correlation = _correlation(before, now)
    step = float(now.mean()) - float(before.mean())
    if abs(step) >= LIGHT_STEP and correlation >= ALIKE and _is_light(before, now, difference):
        return Change("light", brighter=step > 0)
    if float(changed.mean()) <= STILL_SHARE:
        return Change("still")
    scenery = _outside(writing, now.shape)
    points = match(before, now, scenery)
    transform = register(*points, now.shape) if points else None
    if transform is not None:
        camera = movement(transform, now.shape)
        moved, seen = follow(before, transform, now.shape)
        seen &= kept & scenery
        rest = cv2.absdiff(moved, now)
        explained = seen.mean() >= 0.2 and _mean(rest, seen) <= EXPLAINED * _mean(difference, seen)
        if explained and camera is not None and camera != SLIGHTLY:
            return Change("camera", camera=camera)
        if camera is None or explained:
            unmoved, changed = float(changed.mean()), _changed(rest, seen)
            if camera is not None and float(changed.mean()) <= max(STILL_SHARE, SLIGHT_REST * unmoved):
                return Change("camera", camera=camera)
            if float(changed.mean()) <= STILL_SHARE:
                return Change("still")
    travels = travel(*points, now.shape) if points else None
    if travels is not None:
        return Change("camera", camera=travels)
    written = float((changed & ~scenery).sum()) > IN_WRITING * float(changed.sum())
    return _difference(
        before, now, changed, kept, correlation, registered=transform is not None, written=written
    )


def _mean(values: Grey, region: Mask) -> float:
    return float(values[region].mean())


def _difference(
    before: Grey,
    now: Grey,
    changed: Mask,
    kept: Mask,
    correlation: float,
    *,
    registered: bool,
    written: bool,
) -> Change:
    """What two pictures are to each other that neither light nor camera accounts for."""
    share = float(changed.mean())
    tones = _tones(before, now, kept)
    alike = tones >= OTHER_TONES and (registered or correlation >= UNLIKE)
    if share <= SMALL_SHARE or (share <= LOCAL_SHARE and alike):
        moved_to = follow_thing(before, now, changed) if share <= SMALL_SHARE and not written else None
        if moved_to is not None:
            return Change("local", place=moved_to, moves=True)
        moves = not written and _only_moved(before, now, changed)
        return Change("local", place=_place(changed), wide=share > SMALL_SHARE, moves=moves)
    if not registered and share > 2 * SMALL_SHARE and any(correlation < c and tones < t for c, t in CUTS):
        return Change("cut")
    return Change("much")


def alike(before: Grey, now: Grey) -> bool:
    """Whether two pictures, perhaps far apart in time, show the very same view."""
    if before.shape != now.shape:
        return False
    return _correlation(before, now) >= 0.95 and abs(float(before.mean()) - float(now.mean())) < MAX_STEP


def differs(before: Grey, now: Grey) -> bool:
    """Whether anything as small as a letter may have changed."""
    import cv2

    if before.shape != now.shape:
        return True
    blocks = cv2.resize(cv2.absdiff(before, now), None, fx=1 / 6, fy=1 / 6, interpolation=cv2.INTER_AREA)
    return int(blocks.max()) >= 6


def _outside(boxes: tuple[Box, ...], shape: tuple[int, ...]) -> Mask:
    import numpy as np

    kept = np.ones(shape, bool)
    height, width = shape
    for left, top, right, bottom in boxes:
        margin = 3 + round((bottom - top) * height * 0.3)
        rows = slice(max(0, int(top * height) - margin), int(bottom * height) + margin + 1)
        kept[rows, max(0, int(left * width) - margin) : int(right * width) + margin + 1] = False
    return kept


def _changed(difference: Grey, kept: Mask) -> Mask:
    """Pixels that changed for certain: more than noise does, and not alone."""
    import cv2
    import numpy as np

    noise = float(np.median(difference[kept])) if kept.any() else 0.0
    mask = ((difference > max(CHANGED, min(4 * noise, 1.5 * CHANGED))) & kept).astype(np.uint8)
    opened: Mask = cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((2, 2), np.uint8)).astype(bool)
    return opened


def _correlation(before: Grey, now: Grey) -> float:
    """Pearson's, over pictures so small that details do not matter; 0 where one of them is blank."""
    import cv2
    import numpy as np

    a, b = (
        cv2.resize(x, (48, 48), interpolation=cv2.INTER_AREA).astype(np.float64).ravel()
        for x in (before, now)
    )
    spread = float(a.std() * b.std())
    if spread < 1e-6:
        return 0.0
    return float(((a - a.mean()) * (b - b.mean())).mean() / spread)


def _is_light(before: Grey, now: Grey, difference: Grey) -> bool:
    """Whether `now` is `before` with other contrast and brightness, and that explains the difference."""
    import numpy as np

    a, b = before.astype(np.float64), now.astype(np.float64)
    variance = float(a.var())
    gain = float(((a - a.mean()) * (b - b.mean())).mean()) / variance if variance > 1e-6 else 1.0
    rest = np.abs(b - (gain * (a - a.mean()) + b.mean())).mean()
    return float(rest) <= 0.4 * float(difference.mean())


def _place(changed: Mask) -> str | None:
    """Where in the picture the changed pixels are, if they are in one place."""
    import numpy as np

    height, width = changed.shape
    ys, xs = np.nonzero(changed)
    columns = np.bincount((xs * 3 // width).clip(0, 2), minlength=3) / len(xs)
    rows = np.bincount((ys * 3 // height).clip(0, 2), minlength=3) / len(ys)
    column = int(columns.argmax()) if columns.max() >= IN_PLACE else None
    row = int(rows.argmax()) if rows.max() >= IN_PLACE else None
    return name(column, row)


def _only_moved(before: Grey, now: Grey, changed: Mask) -> bool:
    """Whether the changed region holds the same tones as before, so that its content moved within it."""
    import cv2
    import numpy as np

    region = cv2.dilate(changed.astype(np.uint8), np.ones((9, 9), np.uint8)).astype(bool)
    return _tones(before, now, region) >= SAME_TONES


def _tones(before: Grey, now: Grey, region: Mask) -> float:
    """Overlap of the brightness histograms within `region`, 0 to 1, neighbouring tones shared out."""
    import numpy as np

    counts = [np.histogram(grey[region], bins=32, range=(0, 256))[0] for grey in (before, now)]
    smooth = [np.convolve(count / max(1, count.sum()), (0.25, 0.5, 0.25), mode="same") for count in counts]
    return float(np.minimum(*smooth).sum())
