"""An RTSP server as a process of its own."""

from __future__ import annotations

from pathlib import Path

from tests.live.picture import BITS, HEIGHT, PER_S, WIDTH
from tests.live.server_process import LIFE_S, ServerProcess, free_port

SYSTEM_PYTHON = "/usr/bin/python3"
_SCRIPT = str(Path(__file__).with_name("rtsp_process.py"))


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
    port = free_port()
    guard = () if user is None else ("--user", user, "--password", password)
    told = ("--size", f"{width}x{height}", "--fps", str(fps), "--life-s", str(life_s), *guard)
    url = f"rtsp://{'' if user is None else f'{user}:{password}@'}127.0.0.1:{port}/camera"
    return ServerProcess((SYSTEM_PYTHON, _SCRIPT, str(port), str(BITS), str(PER_S), *told), url, port)
