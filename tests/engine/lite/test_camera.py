"""Synthetic camera movements over a real photograph."""

import cv2
import numpy as np
import pytest

from engine.lite.camera import SLIGHTLY
from engine.lite.motion import compare, shrink

WIDTH, HEIGHT = 400, 240


def view(photo, x=120, y=60, scale=1.0, turn=0.0):
    """What a camera sees that looks at the window at `x`, `y`; a larger `scale` is closer."""
    centre = (x + WIDTH / 2, y + HEIGHT / 2)
    transform = cv2.getRotationMatrix2D(centre, turn, scale)
    transform[:, 2] += (WIDTH / 2 - centre[0], HEIGHT / 2 - centre[1])
    return cv2.warpAffine(
        photo, transform, (WIDTH, HEIGHT), flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REFLECT
    )


def camera(photo, **moved):
    change = compare(shrink(view(photo)), shrink(view(photo, **moved)))
    return change.camera


@pytest.fixture(params=["cat", "astronaut"])
def photo(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize(
    ("moved", "said"),
    [
        ({"x": 140}, "pans right"),
        ({"x": 100}, "pans left"),
        ({"x": 200}, "pans right"),
        ({"x": 40}, "pans left"),
        ({"y": 75}, "tilts down"),
        ({"y": 45}, "tilts up"),
        ({"y": 100}, "tilts down"),
        ({"y": 20}, "tilts up"),
        ({"x": 150, "y": 90}, "pans right and tilts down"),
        ({"x": 90, "y": 30}, "pans left and tilts up"),
        ({"scale": 1.15}, "zooms or moves in"),
        ({"scale": 1 / 1.15}, "zooms or moves out"),
        ({"turn": 8}, "rolls right"),  # the picture turns anticlockwise
        ({"turn": -8}, "rolls left"),
    ],
)
def test_directions(photo, moved, said):
    assert camera(photo, **moved) == said


def test_a_shaking_camera_moves_slightly(photo):
    assert camera(photo, x=123, y=61) in (SLIGHTLY, None)


def test_a_camera_at_rest_does_not_move(photo):
    assert camera(photo) is None


def test_noise_does_not_move_the_camera(photo):
    random = np.random.default_rng(1)
    noisy = np.clip(view(photo) + random.normal(0, 6, (HEIGHT, WIDTH, 3)), 0, 255).astype(np.uint8)
    assert compare(shrink(view(photo)), shrink(noisy)).kind == "still"


def test_writing_laid_over_a_panning_picture_does_not_hold_it(photo):
    box = (0.05, 0.7, 0.8, 0.95)
    pictures = []
    for x in (120, 150):
        picture = view(photo, x=x)
        for row, text in enumerate(("BREAKING NEWS", "EXIT 12 AIRPORT")):
            place = (25, 195 + 30 * row)
            cv2.putText(picture, text, place, cv2.FONT_HERSHEY_SIMPLEX, 1.0, (255, 255, 255), 2)
        pictures.append(shrink(picture))
    change = compare(*pictures, (), (box,))
    assert change.camera == "pans right"
