"""The one thing in a picture's EXIF that changes what is seen."""

from __future__ import annotations

import struct

UPRIGHT = 1
_ORIENTATION = 0x0112
_SHORT = 3


def read_orientation(tiff: bytes) -> int:
    """Orientation from EXIF data (a TIFF header and what follows): 1 to 8, 1 where there is none.

    Malformed EXIF is common and does no harm to the picture, so it reads as 1 too.
    """
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(tiff[:4])
    if order is None:
        return UPRIGHT
    try:
        (start,) = struct.unpack_from(f"{order}I", tiff, 4)
        (entries,) = struct.unpack_from(f"{order}H", tiff, start)
        for entry in range(entries):
            tag, kind, count, value = struct.unpack_from(f"{order}HHIH", tiff, start + 2 + 12 * entry)
            if tag == _ORIENTATION:
                return value if kind == _SHORT and count == 1 and 1 <= value <= 8 else UPRIGHT
    except struct.error:  # it points beyond its end
        return UPRIGHT
    return UPRIGHT
