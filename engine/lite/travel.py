"""Whether the camera travels through the scene: all streams out of one point, near things faster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Points = NDArray[Any]  # N x 2, float64

MOVED = 1.5
"""Least movement of a point, in pixels."""
MOVED_FAR = 4.0
"""Least movement of half the points that stream: places of points are known to a pixel or so."""
MOVED_SHARE, STREAM_SHARE, STREAM_POINTS, STREAM_CELLS = 0.55, 0.65, 40, 6
"""Least share of all points that move, and of these that stream; how many, in how many cells of 4 x 3."""
MIDDLE = (0.25, 0.75)
"""Where they stream from, as shares of the picture's size: if from elsewhere, the camera turns as well."""
ALONG = 0.95
"""Least cosine between a point's movement and its direction from where all come from."""
NEARER = 1.25
"""How much faster the fastest tenth must stream than the slowest: a zoom takes all depths along alike."""
FAR = 0.125
"""Least distance from where all come from at which speeds are compared, as a share of the picture's width."""
TRIALS = 100


def travel(start: Points, end: Points, shape: tuple[int, ...]) -> str | None:
    """What a camera does that sees points move from `start` to `end`: "moves forward" or "moves backward".

    For movements that no one change of scale explains: that would be a zoom.
    """
    import numpy as np

    height, width = shape
    steps = end - start
    lengths = np.hypot(*steps.T)
    moved = lengths > MOVED
    if moved.sum() < max(STREAM_POINTS, MOVED_SHARE * len(start)):
        return None
    start, steps, lengths = start[moved], steps[moved], lengths[moved]
    origin = _origin(start, steps, lengths)
    if origin is None or not MIDDLE[0] * width < origin[0] < MIDDLE[1] * width:
        return None
    if not MIDDLE[0] * height < origin[1] < MIDDLE[1] * height:
        return None
    rays = start - origin
    distances = np.hypot(*rays.T)
    along = (rays * steps).sum(axis=1) / np.maximum(distances * lengths, 1e-6)
    forward = bool(along.sum() > 0)
    stream = (along if forward else -along) > ALONG
    ends = (start + steps)[stream]
    cells = {(int(x * 4 / width), int(y * 3 / height)) for x, y in ends}
    quarters = {(x > 0, y > 0) for x, y in rays[stream]}
    if stream.sum() < max(STREAM_POINTS, STREAM_SHARE * len(start)) or np.median(lengths[stream]) < MOVED_FAR:
        return None
    if len(cells) < STREAM_CELLS or len(quarters) < 4:
        return None
    far = stream & (distances > FAR * width)
    if far.sum() < STREAM_POINTS / 2:
        return None
    slow, fast = np.percentile(lengths[far] / distances[far], (10, 90))
    if fast < NEARER * slow:
        return None
    return "moves forward" if forward else "moves backward"


def _origin(start: Points, steps: Points, lengths: Points) -> NDArray[Any] | None:
    """The point that most movements lead away from, or towards."""
    import numpy as np

    normals = np.stack([-steps[:, 1], steps[:, 0]], axis=1) / lengths[:, None]
    offsets = (normals * start).sum(axis=1)
    one, other = np.random.default_rng(0).integers(0, len(start), (2, TRIALS))
    pairs = np.stack([normals[one], normals[other]], axis=1)
    crossing = np.abs(np.linalg.det(pairs)) > 0.2
    if not crossing.any():
        return None
    sides = np.stack([offsets[one], offsets[other]], axis=1)[crossing]
    points = np.linalg.solve(pairs[crossing], sides[:, :, None])[:, :, 0]
    rays = start[None] - points[:, None]
    along = (rays * steps).sum(axis=2) / np.maximum(np.hypot(rays[..., 0], rays[..., 1]) * lengths, 1e-6)
    votes = np.maximum((along > ALONG).sum(axis=1), (along < -ALONG).sum(axis=1))
    best = int(votes.argmax())
    agree = np.abs(along[best]) > ALONG
    refined: NDArray[Any] = np.linalg.lstsq(normals[agree], offsets[agree], rcond=None)[0]
    return refined
