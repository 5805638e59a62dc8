"""Frames for the client's tests."""

from __future__ import annotations

import numpy as np

from protocol.frame import Frame


def frame(width: int = 64, height: int = 48, *, pts_s: float | None = 0.0) -> Frame:
    """A grey picture."""
    return Frame(pixels=np.full((height, width, 3), 90, np.uint8), pts_s=pts_s)


def noise(width: int, height: int) -> Frame:
    """A picture that no encoding makes small."""
    return Frame(pixels=np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8))
