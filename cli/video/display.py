"""How coded pixels become the picture a viewer sees: shape of a pixel, rotation, mirror, size."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from protocol.frame import fit_pixels

if TYPE_CHECKING:
    from fractions import Fraction

_WIDEST_PIXEL = 5  # the widest in use is 128:45 (half-width PAL, 16:9); beyond this a file is wrong
_RIGHT_ANGLE_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class Orientation:
    """A transpose, then flips: every right-angled rotation and mirror is one of the eight combinations."""

    transpose: bool = False
    flip_x: bool = False
    flip_y: bool = False

    @property
    def mirrored(self) -> bool:
        """Left and right are exchanged (after the rotation)."""
        return self.transpose ^ self.flip_x ^ self.flip_y

    @property
    def rotation(self) -> int:
        """Degrees clockwise: 0, 90, 180 or 270; a mirror is taken off first."""
        flip_x = self.flip_x ^ self.mirrored
        if self.transpose:
            return 90 if flip_x else 270
        return 180 if flip_x else 0

    def shown(self, width: int, height: int) -> tuple[int, int]:
        """The size of a picture once it is turned."""
        return (height, width) if self.transpose else (width, height)


UPRIGHT = Orientation()


def read_orientation(matrix: bytes) -> Orientation | None:
    """Orientation from a display matrix: nine int32 of FFmpeg's AV_FRAME_DATA_DISPLAYMATRIX, native order.

    None if the matrix turns by anything but a right angle, or is no rotation at all.
    """
    if len(matrix) < 36:
        return None
    a, b, _, c, d, *_ = struct.unpack_from("=9i", matrix)
    if a and d and max(abs(b), abs(c)) <= _RIGHT_ANGLE_TOLERANCE * min(abs(a), abs(d)):
        return Orientation(transpose=False, flip_x=a < 0, flip_y=d < 0)
    if b and c and max(abs(a), abs(d)) <= _RIGHT_ANGLE_TOLERANCE * min(abs(b), abs(c)):
        return Orientation(transpose=True, flip_x=c < 0, flip_y=b < 0)
    return None


def believable_aspect(sample_aspect: Fraction | None) -> Fraction | None:
    """`sample_aspect` (width of a pixel over its height), None if it is unset, 1 or absurd."""
    if not sample_aspect or sample_aspect == 1 or sample_aspect < 0:
        return None
    return sample_aspect if 1 <= _WIDEST_PIXEL * sample_aspect <= _WIDEST_PIXEL**2 else None


def square_size(width: int, height: int, sample_aspect: Fraction | None) -> tuple[int, int]:
    """Size with square pixels; the number of lines stays, as in players."""
    aspect = believable_aspect(sample_aspect)
    return (width, height) if aspect is None else (max(1, round(width * aspect)), height)


def fitted_size(width: int, height: int, sample_aspect: Fraction | None) -> tuple[int, int]:
    """Size with square pixels and within the pixel limit, before rotation."""
    return fit_pixels(*square_size(width, height, sample_aspect))
