"""What a Linux camera says of itself, by the kernel's Video4Linux2 interface.

The four requests and their structures are those of ``linux/videodev2.h``, which the kernel keeps as they are.
(The libraries that wrap them are under the GPL, which this program is not.)
"""

from __future__ import annotations

import errno
import os
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cli.video.camera_mode import CameraMode

if TYPE_CHECKING:
    from collections.abc import Iterator

_CAPTURE, _DEVICE_CAPABILITIES = 0x1, 0x80000000
_DISCRETE = 1
_MOST = 256
"""Answers to one question; a driver that goes on and on has no more that is of use."""
_NAMES = {
    "MJPG": "mjpeg",
    "JPEG": "mjpeg",
    "H264": "h264",
    "HEVC": "hevc",
    "YUYV": "yuyv422",
    "UYVY": "uyvy422",
    "YU12": "yuv420p",
    "NV12": "nv12",
    "GREY": "gray",
    "RGB3": "rgb24",
    "BGR3": "bgr24",
}
"""FFmpeg's name for a pixel format, as its option ``input_format`` takes it, by the kernel's code."""


def _request(direction: int, number: int, size: int) -> int:
    return direction << 30 | size << 16 | ord("V") << 8 | number


_READ, _BOTH = 2, 3
QUERYCAP = _request(_READ, 0, 104)
ENUM_FMT = _request(_BOTH, 2, 64)
ENUM_FRAMESIZES = _request(_BOTH, 74, 44)
ENUM_FRAMEINTERVALS = _request(_BOTH, 75, 52)


@contextmanager
def opened(device: str) -> Iterator[int]:
    """A descriptor of `device`, a path; others may use it meanwhile.

    Raises:
        OSError: it cannot be opened.
    """
    descriptor = os.open(device, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def gives_pictures(descriptor: int) -> bool:
    """Whether it is a camera, and one FFmpeg can read; a webcam has a second device for its metadata.

    Raises:
        OSError: it is no video device at all.
    """
    answer = _ask(descriptor, QUERYCAP, bytes(104))
    of_all, of_this = struct.unpack_from("=2I", answer, 84)
    return bool((of_this if of_all & _DEVICE_CAPABILITIES else of_all) & _CAPTURE)


def modes(descriptor: int) -> Iterator[CameraMode]:
    """In what formats, sizes and rates it gives pictures, in its own order."""
    for index in range(_MOST):
        answer = _answer(descriptor, ENUM_FMT, struct.pack("=2I56x", index, _CAPTURE))
        if answer is None:
            return
        (code,) = struct.unpack_from("=I", answer, 44)
        yield from _sizes(descriptor, code)


def _sizes(descriptor: int, code: int) -> Iterator[CameraMode]:
    for index in range(_MOST):
        answer = _answer(descriptor, ENUM_FRAMESIZES, struct.pack("=2I36x", index, code))
        if answer is None:
            return
        (kind,) = struct.unpack_from("=I", answer, 8)
        least_size = None
        if kind == _DISCRETE:
            width, height = struct.unpack_from("=2I", answer, 12)
        else:
            least_width, width, _, least_height, height, _ = struct.unpack_from("=6I", answer, 12)
            least_size = (least_width, least_height)
        rates, least_rate = _rates(descriptor, code, width, height)
        yield CameraMode(_name(code), width, height, rates, least_size, least_rate)
        if kind != _DISCRETE:
            return  # that was all of them


def _rates(descriptor: int, code: int, width: int, height: int) -> tuple[tuple[float, ...], float | None]:
    """Pictures a second, most first; of a driver that takes any between two the highest, and the lowest."""
    rates = set()
    for index in range(_MOST):
        asked = struct.pack("=4I36x", index, code, width, height)
        answer = _answer(descriptor, ENUM_FRAMEINTERVALS, asked)
        if answer is None:
            break
        (kind,) = struct.unpack_from("=I", answer, 16)
        shortest = _rate(answer, 20)
        if kind != _DISCRETE:
            return (shortest,) if shortest else (), _rate(answer, 28)
        if shortest is not None:
            rates.add(shortest)
    return tuple(sorted(rates, reverse=True)), None


def _rate(answer: bytes, offset: int) -> float | None:
    """Pictures a second, of the seconds that each takes, a fraction."""
    seconds, parts = struct.unpack_from("=2I", answer, offset)
    return round(parts / seconds, 3) if seconds and parts else None


def _name(code: int) -> str:
    letters = struct.pack("=I", code & 0x7FFFFFFF).decode("latin-1").rstrip()
    return _NAMES.get(letters, letters)


def _answer(descriptor: int, request: int, asked: bytes) -> bytes | None:
    """As `_ask`; None where there is no more."""
    try:
        return _ask(descriptor, request, asked)
    except OSError as error:
        if error.errno in {errno.EINVAL, errno.ENOTTY, errno.ENODATA}:
            return None
        raise


def _ask(descriptor: int, request: int, asked: bytes) -> bytes:
    import fcntl  # not there on Windows

    return fcntl.ioctl(descriptor, request, asked)
