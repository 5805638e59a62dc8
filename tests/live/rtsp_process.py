"""An RTSP server by GStreamer, with pictures that show the time they were made at (see `picture.py`).

Runs under the system's own Python, which has the bindings; it can import nothing of ours.
``python3 rtsp_process.py PORT BITS PER_S [--size WxH] [--fps N] [--life-s S] [--user U --password P]``
"""

from __future__ import annotations

import argparse
import time

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402

PIPELINE = (
    "( appsrc name=pictures is-live=true format=time do-timestamp=true max-bytes=1 leaky-type=downstream "
    "caps=video/x-raw,format=I420,width={width},height={height},framerate={fps}/1 "
    "! openh264enc complexity=low gop-size={interval} multi-thread=1 bitrate=1000000 "
    "! rtph264pay name=pay0 pt=96 config-interval=-1 )"
)


class Pictures:
    """Gives every client's pipeline a picture `fps` times a second."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self._asked = asked
        width, height = (int(each) for each in asked.size.split("x"))
        self._width, self._height = width, height
        self._chroma = bytes([128]) * (width * height // 2)
        self._bar = width // asked.bits

    def attach(self, _: object, media: GstRtspServer.RTSPMedia) -> None:
        """Begins once the pipeline asks for data."""
        source = media.get_element().get_by_name_recurse_up("pictures")
        begun = []

        def begin(*_: object) -> None:
            if not begun:
                begun.append(GLib.timeout_add(1000 // self._asked.fps, self._give, source))

        source.connect("need-data", begin)

    def _give(self, source: Gst.Element) -> bool:
        """Whether to go on."""
        picture = Gst.Buffer.new_wrapped(self._picture())
        return source.emit("push-buffer", picture) == Gst.FlowReturn.OK

    def _picture(self) -> bytes:
        number = int(time.time() * self._asked.per_s) & ((1 << self._asked.bits) - 1)
        gray = number ^ number >> 1
        bits = (gray >> position & 1 for position in reversed(range(self._asked.bits)))
        row = b"".join(bytes([235 if bit else 16]) * self._bar for bit in bits)
        return row.ljust(self._width, b"\x10") * self._height + self._chroma


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port")
    parser.add_argument("bits", type=int)
    parser.add_argument("per_s", type=int)
    parser.add_argument("--size", default="320x64")
    parser.add_argument("--fps", type=int, default=30)
    parser.add_argument("--life-s", type=float, default=120)
    parser.add_argument("--user")
    parser.add_argument("--password", default="")
    asked = parser.parse_args()
    Gst.init(None)
    pictures = Pictures(asked)
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_shared(True)
    width, height = asked.size.split("x")
    interval = max(1, asked.fps // 2)
    factory.set_launch(PIPELINE.format(width=width, height=height, fps=asked.fps, interval=interval))
    factory.connect("media-configure", pictures.attach)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(asked.port)
    if asked.user is not None:
        protect(server, factory, asked.user, asked.password)
    server.get_mount_points().add_factory("/camera", factory)
    server.attach(None)
    loop = GLib.MainLoop()
    GLib.timeout_add(int(asked.life_s * 1000), loop.quit)
    loop.run()


def protect(
    server: GstRtspServer.RTSPServer, factory: GstRtspServer.RTSPMediaFactory, user: str, password: str
) -> None:
    """Lets `user` in with `password`, and nobody else."""
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", user)
    guard = GstRtspServer.RTSPAuth()
    guard.add_basic(GstRtspServer.RTSPAuth.make_basic(user, password), token)
    server.set_auth(guard)
    permissions = GstRtspServer.RTSPPermissions()
    permissions.add_permission_for_role(user, "media.factory.access", True)
    permissions.add_permission_for_role(user, "media.factory.construct", True)
    factory.set_permissions(permissions)


if __name__ == "__main__":
    main()
