"""Which inputs are live, also where only what they send tells."""

from __future__ import annotations

import contextlib
import functools
import io
import threading
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from cli.video.file_source import open_source
from cli.video.live_source import LiveSource
from cli.video.reading import DEFAULT_READING, Reading, option_values
from cli.video.sampling import SamplingPlan
from protocol.errors import InputError, UsageError
from protocol.frame import Frame
from tests.clips import make_clip, number_of, steady

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def camera() -> Iterator[str]:
    """Pictures without end over HTTP, to all who ask; nothing in the address says so."""
    stop = threading.Event()
    picture = io.BytesIO()
    Image.new("RGB", (64, 48), "red").save(picture, "JPEG")
    part = b"--next\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%b\r\n"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=next")
            self.end_headers()
            with contextlib.suppress(OSError):  # whoever asked has left
                while not stop.wait(0.03):
                    self.wfile.write(part % (len(picture.getvalue()), picture.getvalue()))

        def log_message(self, *given: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/door"
        finally:
            stop.set()
            server.shutdown()


async def test_a_camera_is_known_by_what_it_sends() -> None:
    with camera() as url:
        assert DEFAULT_READING.live(url) is None
        source = await DEFAULT_READING.open(url, SamplingPlan.of(fps=10, max_frames=3))
        assert isinstance(source, LiveSource)
        events = [event async for event in source.events()]
        await source.close()
    found = [event for event in events if isinstance(event, Frame)]
    assert [frame.size for frame in found] == [(64, 48)] * 3
    assert all(frame.arrived_s for frame in found)


async def test_what_reads_files_says_that_it_goes_on_without_end() -> None:
    with camera() as url, pytest.raises(InputError, match="goes on without end; 'stream caption' reads"):
        await open_source(url, SamplingPlan())


async def test_a_film_in_pieces_is_read_to_its_end(tmp_path: Path) -> None:
    make_clip(tmp_path / "film.m3u8", steady(50))
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/film.m3u8"
        source = await DEFAULT_READING.open(url, SamplingPlan.of(fps=5))
        shown = [number_of(event.pixels) async for event in source.events() if isinstance(event, Frame)]
        await source.close()
        server.shutdown()
    assert not source.live
    assert shown == list(range(0, 50, 5))


@pytest.mark.parametrize("given", ["camera:0", "lavfi:testsrc2"])
async def test_what_reads_files_reads_no_camera(given: str) -> None:
    with pytest.raises(InputError, match=f"{given}: is live; 'stream caption' reads it"):
        await open_source(given, SamplingPlan())


async def test_a_file_is_live_where_it_is_to_be_played(tmp_path: Path) -> None:
    clip = str(make_clip(tmp_path / "a.mp4", steady(5)))
    for realtime in (False, True):
        source = await Reading(realtime=realtime).open(clip, SamplingPlan())
        assert source.live == realtime
        await source.close()


def test_options_are_names_and_values() -> None:
    assert option_values(["video_size=64x48", "a=b=c", "empty="]) == {
        "video_size": "64x48",
        "a": "b=c",
        "empty": "",
    }
    for wrong in ("video_size", "=5"):
        with pytest.raises(UsageError, match=f"--input-option {wrong}: write NAME=VALUE"):
            option_values([wrong])
