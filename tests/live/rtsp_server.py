"""An RTSP server as a process of its own."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

import pytest

from tests.live.picture import BITS, HEIGHT, PER_S, WIDTH
from tests.live.server_process import LIFE_S, ServerProcess, free_port

SYSTEM_PYTHON = "/usr/bin/python3"
_SCRIPT = str(Path(__file__).with_name("rtsp_process.py"))
_BINDINGS = 'import gi; gi.require_version("GstRtspServer", "1.0")'


def rtsp_server(
    width: int = WIDTH,
    height: int = HEIGHT,
    fps: int = 30,
    *,
    life_s: float = LIFE_S,
    user: str | None = None,
    password: str = "",
) -> ServerProcess:
    """H.264 over RTSP (RTP over TCP or UDP) for as many as come, each at the newest picture; see `picture`.

    With a `user` it asks for that name and `password`, which its `url` carries.
    """
    if not _installed():
        pytest.skip("GStreamer's RTSP server is not installed: gir1.2-gst-rtsp-server-1.0, python3-gi")
    port = free_port()
    guard = () if user is None else ("--user", user, "--password", password)
    told = ("--size", f"{width}x{height}", "--fps", str(fps), "--life-s", str(life_s), *guard)
    url = f"rtsp://{'' if user is None else f'{user}:{password}@'}127.0.0.1:{port}/camera"
    return ServerProcess((SYSTEM_PYTHON, _SCRIPT, str(port), str(BITS), str(PER_S), *told), url, port)


@functools.cache
def _installed() -> bool:
    if not Path(SYSTEM_PYTHON).exists():
        return False
    return subprocess.run([SYSTEM_PYTHON, "-c", _BINDINGS], check=False, capture_output=True).returncode == 0
