import contextlib
import http.server
import os
import struct
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from cli.video.container import OpenInput, video_stream
from cli.video.reader import Reader
from protocol.errors import InputError
from tests.clips import make_clip, steady

FILLER = struct.pack(">I4s", 8 << 20, b"free") + bytes((8 << 20) - 8)


def never() -> bool:
    return False


def opened(given: str) -> OpenInput:
    return OpenInput(given, never)


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return make_clip(tmp_path / "clip.mp4", steady(5))


@contextlib.contextmanager
def running(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def server(clip: Path) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/clip.mp4"):
                # Without ranges, and too far to the index at the end for FFmpeg's buffers.
                data = clip.read_bytes()
                data = data[: data.index(b"moov") - 4] + FILLER + data[data.index(b"moov") - 4 :]
                self.send_response(200)
                if self.path.endswith("?length"):
                    self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(data)
            else:
                self.send_error(int(self.path.strip("/").partition("?")[0]))

        def log_message(self, *_: object) -> None: ...

    with running(Handler) as address:
        yield address


def test_a_file_opens_again_and_again(clip: Path) -> None:
    given = opened(str(clip))
    for _ in range(2):
        with given.open() as container:
            assert video_stream(container, "clip").type == "video"
    given.close()


def test_a_colon_in_a_name_is_no_protocol(clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clip.parent)
    clip.rename("12:30.mp4")
    with opened("12:30.mp4").open() as container:
        assert container.streams.video


def test_a_pipe_opens_although_its_index_is_at_the_end(clip: Path) -> None:
    fifo = clip.parent / "fifo"
    os.mkfifo(fifo)
    threading.Thread(target=lambda: fifo.write_bytes(clip.read_bytes()), daemon=True).start()
    given = opened(str(fifo))
    with given.open() as container:
        assert container.streams.video
    given.close()


@pytest.mark.parametrize("content", [b"not a video\n" * 100, b"\0" * 5000, b"RIFF"])
def test_what_is_no_video_is_told_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.mp4"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"x\.mp4: not a video FFmpeg can read") as error:
        opened(str(path)).open()
    assert "\n" not in str(error.value)


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "empty.mp4").touch()
    for name, problem in [
        ("none.mp4", "no such file"),
        ("empty.mp4", "empty file"),
        (".", "a folder, not a video"),
        ("empty.mp4/x.mp4", "not a directory"),
        ("x" * 300, "file name too long"),
        ("nul\0", "embedded null byte"),
    ]:
        with pytest.raises(InputError, match=problem):
            opened(str(tmp_path) + "/" + name)
    with pytest.raises(InputError, match="a device"):
        opened("/dev/null")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_permission_denied(clip: Path) -> None:
    clip.chmod(0)
    with pytest.raises(InputError, match="permission denied"):
        opened(str(clip))


def test_a_url_opens(server: str) -> None:
    with opened(f"http://{server}/clip.mp4?length").open() as container:
        assert container.streams.video


def test_an_index_at_the_end_is_fetched_from_a_server_without_ranges(server: str) -> None:
    reader = Reader(f"http://{server}/clip.mp4?length")
    assert len(list(reader.frames())) == 5
    reader.close()


def test_a_server_that_closes_connections_without_a_word_loses_no_frame(tmp_path: Path) -> None:
    random = np.random.default_rng(0)  # noise, so that the index is out of reach of FFmpeg's buffers
    pictures = [random.integers(0, 256, (256, 256, 3), np.uint8) for _ in range(20)]
    clip = make_clip(tmp_path / "noise.mp4", steady(20), pictures=pictures)
    data = clip.read_bytes()

    class Ranges(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            first = int(self.headers["Range"].removeprefix("bytes=").partition("-")[0])
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
            self.send_header("Content-Length", str(len(data) - first))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(data[first:])

        def log_message(self, *_: object) -> None: ...

    with running(Ranges) as address:
        reader = Reader(f"HTTP://{address}/noise.mp4")  # the scheme may be written so
        assert len(list(reader.frames())) == 20
        reader.close()


def test_a_download_that_might_never_end_is_not_begun(server: str) -> None:
    with pytest.raises(InputError, match="reading broke off"):
        Reader(f"http://{server}/clip.mp4")


@pytest.mark.parametrize(
    ("code", "words"),
    [(401, "401 unauthorized"), (403, "403 forbidden"), (404, "404 not found"), (500, "the server failed")],
)
def test_a_servers_refusal_is_told_and_credentials_are_masked(server: str, code: int, words: str) -> None:
    given = opened(f"http://user:secret@{server}/{code}?token=abc")
    with pytest.raises(InputError, match=words) as error:
        given.open()
    assert "secret" not in str(error.value)
    assert "abc" not in str(error.value)


def test_no_server_there() -> None:
    with pytest.raises(InputError, match="refused"):
        opened("http://127.0.0.1:9/clip.mp4").open()


def test_an_address_of_an_unknown_kind() -> None:
    with pytest.raises(InputError, match="no reader for this kind of address"):
        opened("gopherish://host/clip").open()


def test_sound_alone_is_no_video(tmp_path: Path) -> None:
    path = tmp_path / "sound.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=48000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = 48000, 0, Fraction(1, 48000)
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    with opened(str(path)).open() as container, pytest.raises(InputError, match=r"\(audio only\)"):
        video_stream(container, "sound.mp4")
