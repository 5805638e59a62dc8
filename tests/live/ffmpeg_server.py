"""FFmpeg's own program as a live source: MPEG-TS over TCP and UDP, MJPEG over HTTP, and HLS."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING

from tests.live.picture import HEIGHT, WIDTH, clock_filter
from tests.live.server_process import LIFE_S, ServerProcess, free_port

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

QUIET = ("ffmpeg", "-nostdin", "-loglevel", "error")
MPEGTS = ("-f", "mpegts", "-muxdelay", "0", "-muxpreload", "0", "-flush_packets", "1")


def live_input(width: int, height: int, fps: int, life_s: float) -> tuple[str, ...]:
    """Options for pictures with a clock in them, at their own pace."""
    return ("-re", "-t", str(life_s), "-f", "lavfi", "-i", clock_filter(width, height, fps))


def h264(fps: int) -> tuple[str, ...]:
    """Options for H.264 that is sent picture by picture, with two keyframes a second."""
    low_delay = ("-preset", "ultrafast", "-tune", "zerolatency", "-threads", "1")
    return ("-c:v", "libx264", *low_delay, "-g", str(max(1, fps // 2)), "-pix_fmt", "yuv420p")


def tcp_server(
    width: int = WIDTH,
    height: int = HEIGHT,
    fps: int = 30,
    *,
    life_s: float = LIFE_S,
    claimed_fps: int | None = None,
) -> ServerProcess:
    """MPEG-TS over TCP, for the first who connects: it ends with that connection.

    With `claimed_fps` it is bare H.264 instead, whose rate nothing tells but its headers: they say that.
    """
    port = free_port()
    wrapped: tuple[str, ...] = MPEGTS
    if claimed_fps is not None:
        wrapped = (
            "-bsf:v",
            f"h264_metadata=tick_rate={2 * claimed_fps}",
            "-flush_packets",
            "1",
            "-f",
            "h264",
        )
    url = f"tcp://127.0.0.1:{port}"
    command = (*QUIET, *live_input(width, height, fps, life_s), *h264(fps), *wrapped)
    return ServerProcess((*command, f"{url}?listen=1"), url, port)


def udp_sender(width: int = WIDTH, height: int = HEIGHT, fps: int = 30) -> ServerProcess:
    """MPEG-TS to a UDP port, whether anyone listens there or not."""
    url = f"udp://127.0.0.1:{free_port(socket.SOCK_DGRAM)}"
    command = (*QUIET, *live_input(width, height, fps, LIFE_S), *h264(fps), *MPEGTS)
    return ServerProcess((*command, f"{url}?pkt_size=1316"), url, None)


def mjpeg_server(width: int = WIDTH, height: int = HEIGHT, fps: int = 30) -> ServerProcess:
    """MJPEG over HTTP as cameras send it, for the first who connects: it ends with that connection."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/camera.mjpg"
    kind = ("-content_type", "multipart/x-mixed-replace;boundary=ffmpeg")
    command = (*QUIET, *live_input(width, height, fps, LIFE_S), "-c:v", "mjpeg", "-q:v", "3", "-f", "mpjpeg")
    return ServerProcess((*command, *kind, "-listen", "1", url), url, port)


def file_server(path: Path, *, life_s: float = LIFE_S, port: int | None = None) -> ServerProcess:
    """A video file at its own pace, over and over, as MPEG-TS over TCP; for the first who connects."""
    port = port or free_port()
    url = f"tcp://127.0.0.1:{port}"
    source = ("-re", "-stream_loop", "-1", "-t", str(life_s), "-i", str(path), "-c:v", "copy", "-an")
    return ServerProcess((*QUIET, *source, *MPEGTS, f"{url}?listen=1"), url, port)


class HlsServer:
    """HLS in `folder`, in segments of half a second, with a web server before it; both while in its context.

    Attributes:
        url: of its playlist.
    """

    def __init__(self, folder: Path, *, fps: int = 30, life_s: float = LIFE_S) -> None:
        """It ends, and says so, after `life_s`."""
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/live.m3u8"
        self._playlist = folder / "live.m3u8"
        segments = ("-f", "hls", "-hls_time", "0.5", "-hls_list_size", "6", "-hls_flags", "delete_segments")
        command = (*QUIET, *live_input(WIDTH, HEIGHT, fps, life_s), *h264(fps), *segments)
        self.writer = ServerProcess((*command, str(self._playlist)), self.url, None)
        self.web = ServerProcess(web_command(folder, port), self.url, port)

    def segments(self) -> int:
        """How many its playlist names by now."""
        return self._playlist.read_text().count("#EXTINF") if self._playlist.exists() else 0

    def __enter__(self) -> HlsServer:
        self.writer.start()
        try:
            self.web.start()
        except BaseException:
            self.writer.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.web.kill()
        self.writer.kill()


def web_command(folder: Path, port: int) -> Sequence[str]:
    """Serves `folder` over HTTP."""
    where = ("--bind", "127.0.0.1", "--directory", str(folder), str(port))
    return (sys.executable, "-m", "http.server", *where)
