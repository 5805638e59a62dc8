"""The networks, loaded once, and pictures to try them on."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from engine.lite.ocr import Reader
from engine.lite.scene import Scene

TOUR = Path(__file__).parents[3] / "samples" / "tour.mp4"
# Times in the sample clip at which nothing is written over the picture.
CAT_S, ASTRONAUT_S, COFFEE_S = 5.0, 13.8, 2.0


@pytest.fixture(scope="session")
def scene():
    return Scene()


@pytest.fixture(scope="session")
def reader():
    return Reader()


@pytest.fixture(scope="session")
def tour():
    """Frames of the sample clip by their times: `tour(5.0)` is the cat."""
    frames = {}
    with av.open(str(TOUR)) as container:
        for frame in container.decode(video=0):
            frames[round(frame.time, 2)] = frame
    return lambda time_s: frames[round(time_s, 2)].to_ndarray(format="rgb24")


@pytest.fixture(scope="session")
def cat(tour):
    return tour(CAT_S)


@pytest.fixture(scope="session")
def astronaut(tour):
    return tour(ASTRONAUT_S)


def written(*lines, size=48, colour=(255, 255, 255), ground=(20, 60, 160), shape=(360, 640)):
    """A picture of `lines`, one under the other."""
    image = Image.new("RGB", shape[::-1], ground)
    draw = ImageDraw.Draw(image)
    for row, line in enumerate(lines):
        draw.text((40, 40 + row * size * 1.6), line, fill=colour, font=ImageFont.load_default(size))
    return np.asarray(image)


@pytest.fixture(scope="session")
def write():
    return written
