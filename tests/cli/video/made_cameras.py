"""Cameras as the kernel shows them: folders and files as in /sys and /dev, and a made driver behind them.

What the driver answers has the layout that ``linux/videodev2.h`` gives, here by ctypes.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cli.video import cameras

U32 = ctypes.c_uint32
CAPTURE, METADATA, OF_THIS_DEVICE = 0x1, 0x00800000, 0x80000000
DISCRETE, CONTINUOUS, STEPWISE = 1, 2, 3


class Capability(ctypes.Structure):
    _fields_ = (
        ("driver", ctypes.c_char * 16),
        ("card", ctypes.c_char * 32),
        ("bus_info", ctypes.c_char * 32),
        ("version", U32),
        ("capabilities", U32),
        ("device_caps", U32),
        ("reserved", U32 * 3),
    )


class Format(ctypes.Structure):
    _fields_ = (
        ("index", U32),
        ("type", U32),
        ("flags", U32),
        ("description", ctypes.c_char * 32),
        ("pixelformat", U32),
        ("mbus_code", U32),
        ("reserved", U32 * 3),
    )


class FrameSize(ctypes.Structure):
    _fields_ = (
        ("index", U32),
        ("pixel_format", U32),
        ("type", U32),
        ("numbers", U32 * 6),
        ("reserved", U32 * 2),
    )


class FrameInterval(ctypes.Structure):
    _fields_ = (
        ("index", U32),
        ("pixel_format", U32),
        ("width", U32),
        ("height", U32),
        ("type", U32),
        ("numbers", U32 * 6),
        ("reserved", U32 * 2),
    )


@dataclass
class MadeCamera:
    """What one video device says of itself.

    Attributes:
        sizes: by four-letter pixel format: kind and up to six numbers.
        intervals: by width: kind and up to six numbers, in seconds.
        fails: what opening or asking it fails with.
    """

    name: str
    index: int = 0
    capabilities: int = CAPTURE | METADATA | OF_THIS_DEVICE
    device_caps: int = CAPTURE
    sizes: dict[bytes, list[tuple[int, tuple[int, ...]]]] = field(default_factory=dict)
    intervals: dict[int, list[tuple[int, tuple[int, ...]]]] = field(default_factory=dict)
    fails: int = 0


WEBCAM = MadeCamera(
    "HD Pro Webcam: HD Pro Webcam",
    sizes={
        b"MJPG": [(DISCRETE, (1280, 720)), (DISCRETE, (640, 480))],
        b"YUYV": [(DISCRETE, (640, 480))],
        b"Y12I": [(DISCRETE, (424, 240))],
    },
    intervals={
        1280: [(DISCRETE, (1, 15)), (DISCRETE, (1, 30))],
        640: [(DISCRETE, (1, 30)), (DISCRETE, (1001, 7500))],
        424: [],
    },
)
ITS_METADATA = MadeCamera("HD Pro Webcam: HD Pro Webcam", index=1, device_caps=METADATA)
SENSOR = MadeCamera(
    "mmal service 16.1",
    capabilities=CAPTURE,  # of a driver that is older than device_caps
    device_caps=0,
    sizes={b"YU12": [(STEPWISE, (32, 2592, 2, 32, 1944, 2))]},
    intervals={2592: [(CONTINUOUS, (1, 90, 1, 1, 1, 1))]},
)


class MadeDriver:
    """Takes the kernel's place behind `fcntl.ioctl` for the made devices, by their number."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.plugged: dict[int, MadeCamera] = {}
        monkeypatch.setattr(cameras, "_CLASS", folder / "sys")
        monkeypatch.setattr(cameras, "_NODES", folder / "dev")
        monkeypatch.setattr(fcntl, "ioctl", self.ioctl)
        for each in ("sys", "dev"):
            (folder / each).mkdir()

    def plug(self, number: int, camera: MadeCamera) -> None:
        """Makes ``/dev/video<number>``."""
        self.plugged[number] = camera
        node = self.folder / "sys" / f"video{number}"
        node.mkdir()
        (node / "name").write_text(f"{camera.name}\n")
        (node / "index").write_text(f"{camera.index}\n")
        (self.folder / "dev" / f"video{number}").touch()

    def ioctl(self, descriptor: int, request: int, asked: bytes) -> bytes:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        camera = self.plugged[int(path.name.removeprefix("video"))]
        if camera.fails:
            raise OSError(camera.fails, os.strerror(camera.fails))
        if request == 0x80685600:  # VIDIOC_QUERYCAP and so on, as the header makes them on x86 and ARM
            assert len(asked) == ctypes.sizeof(Capability)
            return bytes(Capability(capabilities=camera.capabilities, device_caps=camera.device_caps))
        if request == 0xC0405602:
            told = Format.from_buffer_copy(asked)
            assert told.type == 1
            told.pixelformat = int.from_bytes(_nth(list(camera.sizes), told.index), "little")
            return bytes(told)
        if request == 0xC02C564A:
            size = FrameSize.from_buffer_copy(asked)
            size.type, size.numbers = _nth(camera.sizes[size.pixel_format.to_bytes(4, "little")], size.index)
            return bytes(size)
        assert request == 0xC034564B
        interval = FrameInterval.from_buffer_copy(asked)
        interval.type, interval.numbers = _nth(camera.intervals[interval.width], interval.index)
        return bytes(interval)


def _nth(items, index):
    if index >= len(items):
        raise OSError(errno.EINVAL, "Invalid argument")
    return items[index]
