"""How the camera moved between two pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Grey = NDArray[Any]  # H x W, uint8
    Mask = NDArray[Any]  # H x W, bool
    Points = NDArray[Any]  # N x 2, float64
    Transform = NDArray[Any]  # 2 x 3, float64

SHIFT, SCALE, TURN = 0.02, 0.04, 4.0
"""Least camera movement named: share of the picture's size, change of scale, degrees."""
SLIGHT = 0.3
"""Share of those from which a camera moves at all."""
MATCHES, MATCH_SHARE, MATCH_CELLS = 14, 0.35, 4
"""Least points that must agree on one movement: how many, which share, in how many cells of a 4 x 3 grid."""
SLIGHTLY = "moves slightly"


def match(before: Grey, now: Grey, scenery: Mask) -> tuple[Points, Points] | None:
    """Points of `scenery` in `before`, and where they are `now`; None if too few are known again."""
    import cv2
    import numpy as np

    orb = cv2.ORB.create(nfeatures=700, fastThreshold=8, edgeThreshold=12)
    mask = scenery.astype(np.uint8)
    points_a, marks_a = orb.detectAndCompute(before, mask)
    points_b, marks_b = orb.detectAndCompute(now, mask)
    if marks_a is None or marks_b is None or min(len(points_a), len(points_b)) < MATCHES:
        return None
    pairs = cv2.BFMatcher(cv2.NORM_HAMMING).knnMatch(marks_a, marks_b, k=2)
    good = [pair[0] for pair in pairs if len(pair) == 2 and pair[0].distance < 0.8 * pair[1].distance]
    if len(good) < MATCHES:
        return None
    start = np.array([points_a[match.queryIdx].pt for match in good])
    end = np.array([points_b[match.trainIdx].pt for match in good])
    return start, end


def register(start: Points, end: Points, shape: tuple[int, ...]) -> Transform | None:
    """The shift, turn and scale that takes most points from `start` to `end`."""
    import cv2

    transform, agree = cv2.estimateAffinePartial2D(start, end, ransacReprojThreshold=2.5, maxIters=2000)
    if transform is None:
        return None
    inside = agree.ravel().astype(bool)
    height, width = shape
    cells = {(int(x * 4 / width), int(y * 3 / height)) for x, y in end[inside]}
    if inside.sum() < max(MATCHES, MATCH_SHARE * len(start)) or len(cells) < MATCH_CELLS:
        return None
    found: Transform = transform
    return found


def movement(transform: Transform, shape: tuple[int, ...]) -> str | None:
    """What a camera that sees its picture move by `transform` does; None if it stands still.

    Up to two movements are named, the second if it takes points at least half as far as the first.
    """
    import numpy as np

    height, width = shape
    scale = float(np.hypot(transform[0, 0], transform[1, 0]))
    turn = float(np.degrees(np.arctan2(transform[1, 0], transform[0, 0])))
    centre = np.array([width / 2, height / 2])
    right, down = transform[:, :2] @ centre + transform[:, 2] - centre
    reach = (width + height) / 4  # how far from the centre a typical edge is
    movements = [  # how far it takes points, in pixels; how much that is of the least named; its name
        # The picture moves against the camera.
        (abs(right), abs(right) / width / SHIFT, "pans left" if right > 0 else "pans right"),
        (abs(down), abs(down) / height / SHIFT, "tilts up" if down > 0 else "tilts down"),
        # A lens and a walking camera look the same from here.
        (abs(scale - 1) * reach, abs(scale - 1) / SCALE, "zooms or moves " + ("in" if scale > 1 else "out")),
        (np.radians(abs(turn)) * reach, abs(turn) / TURN, "rolls " + ("left" if turn > 0 else "right")),
    ]
    far = max(distance for distance, _, _ in movements)
    named = [name for distance, size, name in movements if size >= 1 and distance >= far / 2]
    if named:
        return " and ".join(named[:2])
    return SLIGHTLY if any(size >= SLIGHT for _, size, _ in movements) else None


def follow(before: Grey, transform: Transform, shape: tuple[int, ...]) -> tuple[Grey, Mask]:
    """`before` moved by `transform`, and which pixels it covers."""
    import cv2
    import numpy as np

    height, width = shape
    moved = cv2.warpAffine(before, transform, (width, height), flags=cv2.INTER_LINEAR)
    cover = cv2.warpAffine(np.full(shape, 255, np.uint8), transform, (width, height), flags=cv2.INTER_NEAREST)
    return moved, cv2.erode(cover, np.ones((5, 5), np.uint8)).astype(bool)
