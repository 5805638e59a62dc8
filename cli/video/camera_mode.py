"""One way in which a camera gives pictures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CameraMode:
    """One way in which a camera gives pictures.

    Attributes:
        format: of its pictures, FFmpeg's name for it (``mjpeg``, ``yuyv422``) or else the system's.
        width, height: in pixels; the largest, if it takes any size from `least_size` on.
        rates: pictures a second, most first; empty if it does not tell.
        least_size: width and height in pixels, None if there is one size only.
    """

    format: str
    width: int
    height: int
    rates: tuple[float, ...] = ()
    least_size: tuple[int, int] | None = None
