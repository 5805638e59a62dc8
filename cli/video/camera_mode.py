"""One way in which a camera gives pictures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CameraMode:
    """One way in which a camera gives pictures.

    Attributes:
        format: of its pictures, FFmpeg's name for it (``mjpeg``, ``yuyv422``) or else the system's.
        width, height: in pixels; the largest, if it takes any size from `least_size` on.
        rates: pictures a second, most first; the highest, if it takes any from `least_rate` on; empty if it
            does not tell.
        least_size: width and height in pixels; None if it takes that one size only.
        least_rate: None if it takes those rates only.
    """

    format: str
    width: int
    height: int
    rates: tuple[float, ...] = ()
    least_size: tuple[int, int] | None = None
    least_rate: float | None = None
