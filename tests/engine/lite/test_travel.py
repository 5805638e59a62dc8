"""Points in a scene of many depths, seen by a camera that travels through it."""

import numpy as np
import pytest

from engine.lite.travel import travel

SHAPE = (180, 320)


def seen(*, depths=(4.0, 30.0), ahead=0.0, sideways=0.0, count=300, noise=0.5, scale=1.0):
    """Where points of random depths are in the picture before and after the camera moved."""
    random = np.random.default_rng(2)
    start = random.uniform((0, 0), (320, 180), (count, 2))
    depth = random.uniform(*depths, count)
    centre = np.array([160.0, 90.0])
    end = centre + (start - centre) * scale * (depth / (depth - ahead))[:, None]
    end[:, 0] -= sideways * 300 / depth
    inside = ((end >= 0) & (end < (320, 180))).all(axis=1)
    return start[inside], (end + random.normal(0, noise, end.shape))[inside]


def test_forward_and_backward():
    start, end = seen(ahead=1.5)
    assert travel(start, end, SHAPE) == "moves forward"
    assert travel(end, start, SHAPE) == "moves backward"


@pytest.mark.parametrize(
    "moved",
    [
        {},
        {"scale": 1.2},  # a zoom, or a wall that comes nearer
        {"sideways": 1.0},
        {"ahead": 0.05},
        {"ahead": 1.5, "count": 30},
        {"noise": 6.0},
    ],
)
def test_nothing_else_is_travel(moved):
    assert travel(*seen(**moved), SHAPE) is None


def test_most_points_must_move():
    start, end = seen(ahead=1.5)
    half = len(start) // 2
    end[half:] = start[half:]
    assert travel(start, end, SHAPE) is None


def test_a_single_direction_has_no_origin():
    start, _ = seen()
    assert travel(start, start + np.array([8.0, 0.0]), SHAPE) is None
