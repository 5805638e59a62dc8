"""The cameras that are connected, and which of them an address means."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cli.video.inputs import natural_key
from protocol.errors import InputError

if TYPE_CHECKING:
    from cli.video.camera_mode import CameraMode

NO_CAMERA_HINT = "lavfi:testsrc2 makes test pictures, and rtsp:// or another address needs no camera here"

_CLASS = Path("/sys/class/video4linux")
_NODES = Path("/dev")


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera.

    Attributes:
        number: N of ``camera:N``.
        name: what it calls itself; empty if it does not.
        device: what FFmpeg opens: a path on Linux, a number on macOS, ``video=`` and a name on Windows.
        modes: how it gives pictures; empty where the system does not tell.
        problem: why it cannot be used or asked; empty if it can.
    """

    number: int
    name: str
    device: str
    modes: tuple[CameraMode, ...] = ()
    problem: str = ""

    @property
    def address(self) -> str:
        """What to type for it."""
        return f"camera:{self.number}"

    def __str__(self) -> str:
        return f"{self.address} ({self.name})" if self.name else self.address


def cameras() -> list[Camera]:
    """Those that are connected, by their number.

    Raises:
        InputError: FFmpeg cannot ask this system.
    """
    if sys.platform == "linux":
        nodes = sorted(_CLASS.glob("video*"), key=lambda node: natural_key(node.name))
        return [camera for node in nodes if (camera := _linux_camera(node)) is not None]
    return _listed_by_ffmpeg()


def find_camera(which: str) -> Camera:
    """The camera with this number, or this name or a part of it.

    Raises:
        InputError: there is none, or there are several.
    """
    if which.isdecimal() and sys.platform == "linux":
        node = _NODES / f"video{int(which)}"
        if node.exists():  # what may be wrong with it shows as it is opened
            return Camera(int(which), "", str(node))
    found = cameras()
    if which.isdecimal():
        matching = [camera for camera in found if camera.number == int(which)]
    else:
        wanted = which.casefold()
        matching = [camera for camera in found if camera.name.casefold() == wanted]
        matching = matching or [camera for camera in found if wanted and wanted in camera.name.casefold()]
    if not matching:
        raise InputError(f"camera:{which}: no such camera", hint=_told(found))
    if len(matching) > 1:
        raise InputError(f"camera:{which}: several cameras are called that", hint=_told(matching))
    return matching[0]


def known_cameras() -> str:
    """Which cameras there are, as a hint."""
    try:
        return _told(cameras())
    except InputError as error:
        return str(error)


def _told(found: list[Camera]) -> str:
    if not found:
        return f"no camera is connected; {NO_CAMERA_HINT}"
    return f"there is {', '.join(map(str, found))}"


def _linux_camera(node: Path) -> Camera | None:
    """The camera of ``/sys/class/video4linux/videoN``; None if that gives no pictures."""
    from cli.video import v4l2

    number = re.fullmatch(r"video(\d+)", node.name)
    if number is None:
        return None
    name, device = _line(node / "name"), str(_NODES / node.name)
    try:
        with v4l2.opened(device) as descriptor:
            if not v4l2.gives_pictures(descriptor):
                return None
            return Camera(int(number[1]), name, device, tuple(v4l2.modes(descriptor)))
    except OSError as error:
        if _line(node / "index") not in {"", "0"}:
            return None  # a camera's second device, for its metadata
        reason = (error.strerror or str(error)).lower()
        return Camera(int(number[1]), name, device, problem=reason)


def _line(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace").strip()
    return ""


def _listed_by_ffmpeg() -> list[Camera]:
    import av

    from cli.video.live_input import camera_format

    reader = camera_format()
    try:
        devices = av.enumerate_input_devices(reader)
    except (av.FFmpegError, ValueError) as error:
        raise InputError(f"FFmpeg here cannot list cameras by {reader}: {error}") from error
    pictures = [device for device in devices if "video" in device.media_types]
    prefix = "video=" if reader == "dshow" else ""
    return [
        Camera(number, device.description or device.name, f"{prefix}{device.name}")
        for number, device in enumerate(pictures)
    ]
