"""One thing that moved away from where it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.lite.place import part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Grey = NDArray[Any]  # H x W, uint8
    Mask = NDArray[Any]  # H x W, bool

BOTH = 0.9
"""Share of the change that its old and its new place must have together."""
LIKE_SIZE = 0.6
"""Least ratio of the two places' sides and areas."""
LIKE_LOOK = 0.85
"""Least correlation of the thing as it was and as it is."""
BUSIER = 3.0
"""How many times as much contrast its places must have with it as without it, in both pictures together."""


def follow_thing(before: Grey, now: Grey, changed: Mask) -> str | None:
    """Where a thing is now that moved from one place to another, if that and nothing else was the change."""
    import cv2
    import numpy as np

    joined = cv2.morphologyEx(changed.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((7, 7), np.uint8))
    count, _, found, centres = cv2.connectedComponentsWithStats(joined)
    if count < 3:
        return None
    places = 1 + np.argsort(-found[1:, cv2.CC_STAT_AREA])[:2]
    areas = found[places, cv2.CC_STAT_AREA]
    if areas.sum() < BOTH * found[1:, cv2.CC_STAT_AREA].sum():
        return None
    sizes = found[places][:, [cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT, cv2.CC_STAT_AREA]]
    if (sizes.min(axis=0) < LIKE_SIZE * sizes.max(axis=0)).any():
        return None
    margin = 4
    width, height = (int(side) + 2 * margin for side in sizes[:, :2].max(axis=0))
    contrast = []
    for old, new in (places, places[::-1]):
        there, here = _window(before, centres[old], width, height), _window(now, centres[new], width, height)
        contrast.append((float(there.std() + here.std()), _best_match(there, here)))
    (first, first_look), (second, second_look) = contrast
    if first >= BUSIER * second and first_look >= LIKE_LOOK:
        x, y = centres[places[1]]
    elif second >= BUSIER * first and second_look >= LIKE_LOOK:
        x, y = centres[places[0]]
    else:
        return None
    return part(x / now.shape[1], y / now.shape[0])


def _window(picture: Grey, centre: NDArray[Any], width: int, height: int) -> Grey:
    """What is around a point; beyond the picture's edge, what is at the edge."""
    import cv2

    padded = cv2.copyMakeBorder(picture, height, height, width, width, cv2.BORDER_REPLICATE)
    left, top = round(centre[0] - width / 2) + width, round(centre[1] - height / 2) + height
    return padded[top : top + height, left : left + width]


def _best_match(there: Grey, here: Grey) -> float:
    """Correlation of two windows of one size, one of them moved by up to a few pixels."""
    import cv2

    inner = there[2:-2, 2:-2]
    if min(inner.shape) < 3 or inner.std() < 1:
        return 0.0
    return float(cv2.matchTemplate(here, inner, cv2.TM_CCOEFF_NORMED).max())
