"""The cameras that are connected."""

from __future__ import annotations

from dataclasses import dataclass

from protocol.errors import InputError


@dataclass(frozen=True, slots=True)
class Camera:
    """One camera.

    Attributes:
        name: what it calls itself.
        device: what FFmpeg's device opens: a path on Linux, a number on macOS, a name on Windows.
        format: FFmpeg's name of the device that reads it.
    """

    name: str
    device: str
    format: str

    def opening(self) -> tuple[str, str, dict[str, str]]:
        """Address, format and options for FFmpeg to open it with."""
        return self.device, self.format, {}


def find_camera(which: str) -> Camera:
    """The camera with this number or name.

    Raises:
        InputError: there is none, or the name fits several; it tells which there are.
    """
    if which.isdecimal():
        return Camera("", f"/dev/video{int(which)}", "v4l2")
    raise InputError(f"camera:{which}: no such camera")
