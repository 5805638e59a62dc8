"""What is live, how it is opened, and what is said where it cannot be."""

import contextlib
import http.server
import os
import socket
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path

import av
import pytest
from av.device import DeviceInfo

from cli.video.live_input import LiveInput, LiveOptions, is_live_container, live_input
from protocol.errors import InputError, UsageError
from tests.clips import make_clip, steady
from tests.live.ffmpeg_server import QUIET, h264, mjpeg_server, tcp_server
from tests.live.ffmpeg_server import live_input as pictures
from tests.live.server_process import LIFE_S, ServerProcess, free_port
from tests.live.tcp_parts import SilentServer

USUAL = LiveOptions()
LONG_S = 60.0
"""For what is there and answers."""


def live(given: str, *, realtime: bool = False, **options: object) -> LiveInput:
    found = live_input(given, LiveOptions(**options), realtime=realtime)  # type: ignore[arg-type]
    assert found is not None
    return found


def refusal(given: str, open_s: float = LONG_S, **options: object) -> str:
    """What is said where `given` does not open; it stands on one line and names no password."""
    with pytest.raises(InputError) as refused:
        live(given, **options).open(open_s, open_s).close()
    shown = "".join(traceback.format_exception(refused.value))
    assert "s3cret" not in shown
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    monkeypatch.setattr(sys, "platform", request.param)
    return str(request.param)


@contextlib.contextmanager
def web(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# What is live


@pytest.mark.parametrize(
    "given",
    [
        *("rtsp://host/live", "RTSPS://host/live", "udp://@:5004", "tcp://host:9", "rtp://host:9"),
        *("rtmp://host/app/key", "rtmps://host/app/key", "srt://host:9", "camera.sdp"),
        *("http://host/video.mjpg", "https://host/a/MJPEG?x=1", "http://host/axis-cgi/mjpg/video.cgi"),
        *("http://host/?action=stream_mjpeg", "http://host/cgi?format=m-jpeg"),
    ],
)
def test_what_is_found_again_when_it_is_lost(given: str) -> None:
    found = live(given)
    assert (found.network, found.paced, found.endless) == (True, False, True)


@pytest.mark.parametrize("given", ["http://host/live.m3u8", "https://host/a/LIVE.M3U8?token=1&x=a.mp4"])
def test_hls_comes_in_bursts_and_has_an_end(given: str) -> None:
    found = live(given)
    assert (found.network, found.paced, found.endless) == (True, True, False)


def test_test_pictures_come_as_fast_as_they_are_read() -> None:
    found = live("lavfi:testsrc2=size=64x48:rate=30,format=gray[out0]")
    assert (found.network, found.paced, found.endless) == (False, True, False)
    with found.open(LONG_S, LONG_S) as container:
        picture = next(container.decode(video=0))
    assert (picture.width, picture.height) == (64, 48)


@pytest.mark.parametrize(
    "given",
    [
        *("clip.mp4", "clip.mjpeg", "folder/list.m3u8", "-", "camera", "lavfi", "/dev/null", "/dev/videos"),
        *(
            "http://host/clip.mp4",
            "https://host/clip-mjpeg.avi",
            "http://host/mjpgs",
            "http://u:p@[::1/x.m3u8",
        ),
        *("file:///clip.mp4", "ftp://host/clip.mp4", "C://clip.mp4"),
    ],
)
def test_what_is_read_to_its_end_is_not_live(given: str) -> None:
    assert live_input(given, USUAL) is None


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("rtsp://me:s3cret@host/live?token=s3cret&ch=1", "rtsp://***@host/live?token=***&ch=1"),
        ("http://me:s3cret@host/x.mjpg", "http://***@host/x.mjpg"),
        ("udp://@239.0.0.1:5004", "udp://@239.0.0.1:5004"),  # a group that is listened to, and no user
    ],
)
def test_the_name_tells_no_password(given: str, name: str) -> None:
    found = live(given)
    assert found.name == name
    assert "s3cret" not in repr(found)
    assert found.address == given


def test_protocols_are_written_small_for_ffmpeg() -> None:
    assert live("RTSP://Host/Live").address == "rtsp://Host/Live"


def test_options_of_rtsp_and_of_the_person() -> None:
    assert live("rtsp://host/").options["rtsp_transport"] == "tcp"
    assert live("rtsps://host/", rtsp_transport="udp").options["rtsp_transport"] == "udp"
    own = {"rtsp_transport": "http", "user_agent": "me"}
    options = live("rtsp://host/", input_options=own).options
    assert own.items() <= options.items()
    assert options["allowed_media_types"] == "video"


# Cameras


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"], indirect=True)
@pytest.mark.parametrize("given", ["camera:0", "Camera:HD Webcam"])
def test_a_camera_is_asked_for_in_the_same_way_everywhere(platform: str, given: str) -> None:
    found = live(given, input_options={"video_size": "640x480"})
    assert (found.name, found.network, found.paced, found.endless) == (given, False, False, True)
    assert found.options["video_size"] == "640x480"
    reader = {"linux": "v4l2", "darwin": "avfoundation", "win32": "dshow"}[platform]
    assert found.options.get("framerate") == ("30" if reader == "avfoundation" else None)
    with pytest.raises(UsageError, match=f"{given}: cameras are read by {reader}, not mpegts"):
        live(given, input_format="mpegts")


def test_a_video_device_is_a_camera_on_linux_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    found = live("/dev/video7", input_format="v4l2")
    assert (found.address, found.format, found.network, found.endless) == ("/dev/video7", "v4l2", False, True)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert live_input("/dev/video7", USUAL) is None


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux names them")
def test_cameras_that_are_not_there() -> None:
    assert refusal("camera:99").startswith("camera:99: no such camera; ")
    assert refusal("camera:Nobody's").startswith("camera:Nobody's: no such camera; ")
    assert refusal("/dev/video99").startswith("/dev/video99: no such camera; ")
    assert refusal("/dev/null", input_format="v4l2") == "/dev/null: not a camera; stream cameras lists them"
    told = refusal("/dev/video99", input_options={"video_size": "huge"})
    assert told == "/dev/video99: the camera refuses video_size=huge; stream cameras lists what it takes"


@pytest.mark.parametrize(
    ("platform", "reader"), [("darwin", "avfoundation"), ("win32", "dshow")], indirect=["platform"]
)
def test_elsewhere_cameras_are_opened_by_the_device_of_the_system(
    platform: str, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def enumerate_input_devices(asked: str) -> list[DeviceInfo]:
        assert asked == reader
        return [DeviceInfo("0", "Eye", False, ["video"])]

    if reader in av.formats_available:
        pytest.skip("it would open a camera")
    monkeypatch.setattr(av, "enumerate_input_devices", enumerate_input_devices)
    assert refusal("camera:eye") == f"camera:eye: no container format '{reader}'"
    assert refusal("camera:1") == "camera:1: no such camera; there is camera:0 (Eye)"


# Formats by name


def test_a_device_gets_what_was_given_as_it_is() -> None:
    found = live(":0.0+10,20", input_format="x11grab", input_options={"video_size": "640x480"})
    assert (found.address, found.format, dict(found.options)) == (
        ":0.0+10,20",
        "x11grab",
        {"video_size": "640x480"},
    )
    assert (found.network, found.paced, found.endless) == (False, False, True)
    assert live("testsrc2", input_format="lavfi").paced
    assert live_input("clip.h264", LiveOptions(input_format="h264")) is None


def test_a_format_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="--input-format nosuch: FFmpeg here has no such reader"):
        live("tcp://host:9", input_format="nosuch")


def test_the_format_of_a_web_address() -> None:
    assert live("http://host/live", input_format="hls").paced
    assert not live("http://host/live", input_format="mpjpeg").paced


def test_a_stream_without_a_container_is_read_by_the_format_that_was_named() -> None:
    url = f"tcp://127.0.0.1:{free_port()}"
    raw = ("-f", "h264", "-flush_packets", "1", f"{url}?listen=1")
    command = (*QUIET, *pictures(320, 64, 30, LIFE_S), *h264(30), *raw)
    with (
        ServerProcess(command, url, int(url.rpartition(":")[2])),
        live(url, input_format="h264").open(LONG_S, LONG_S) as container,
    ):
        assert container.format.name == "h264"
        assert next(container.decode(video=0)).width == 320


# Opening


def test_ffmpeg_does_not_wait_to_learn_the_frame_rate() -> None:
    with tcp_server(fps=5) as server, live(server.url).open(LONG_S, LONG_S) as container:
        assert container.streams.video[0].average_rate is None


def test_an_sdp_file_tells_what_is_sent_here(tmp_path: Path) -> None:
    described = tmp_path / "camera.sdp"
    url = f"rtp://127.0.0.1:{free_port(socket.SOCK_DGRAM)}"
    sent = (*QUIET, *pictures(320, 64, 30, LIFE_S), *h264(30), "-f", "rtp", url, "-sdp_file", str(described))
    with ServerProcess(sent, url, None):
        assert "what comes does not say what it is; give the sender's .sdp file" in refusal(url)
        with live(str(described)).open(LONG_S, LONG_S) as container:
            assert container.format.name == "sdp"
            assert next(container.demux(video=0)).size


@pytest.mark.parametrize("suffix", ["mjpg", "cgi"])
def test_mjpeg_over_http_goes_on_without_end(suffix: str) -> None:
    with (
        mjpeg_server() as server,
        av.open(server.url.replace("mjpg", suffix), timeout=LONG_S) as container,
    ):
        assert is_live_container(container)


def test_hls_goes_on_unless_its_list_has_an_end(tmp_path: Path) -> None:
    make_clip(tmp_path / "part.ts", steady(20))
    head = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\npart.ts\n"
    (tmp_path / "live.m3u8").write_text(head)
    (tmp_path / "film.m3u8").write_text(f"{head}#EXT-X-ENDLIST\n")

    class Folder(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(tmp_path))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None: ...

    with web(Folder) as address:
        for name, goes_on in (("live", True), ("film", False)):
            with live(f"{address}/{name}.m3u8").open(LONG_S, LONG_S) as container:
                assert is_live_container(container) is goes_on
    with av.open(str(tmp_path / "part.ts")) as container:
        assert not is_live_container(container)


# Files as if they were live


def test_a_file_is_played_at_its_own_pace(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", steady(5))
    found = live(str(clip), realtime=True)
    assert (found.name, found.network, found.paced, found.endless) == (str(clip), False, True, False)
    for _ in range(2):
        with found.open(LONG_S, LONG_S) as container:
            assert container.streams.video
    assert live("http://me:s3cret@host/clip.mp4", realtime=True).name == "http://***@host/clip.mp4"


def test_a_file_that_is_none_is_told_as_without_realtime(tmp_path: Path) -> None:
    assert refusal("nowhere.mp4", realtime=True) == "nowhere.mp4: no such file"
    assert refusal(str(tmp_path), realtime=True).endswith("a folder, not a video")


def test_a_file_in_a_format_that_has_to_be_named(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.write_bytes(bytes(16 * 16 * 3 * 2))
    options = {"video_size": "16x16", "pixel_format": "rgb24"}
    found = live(str(raw), realtime=True, input_format="rawvideo", input_options=options)
    with found.open(LONG_S, LONG_S) as container:
        assert len(list(container.decode(video=0))) == 2


def test_a_pipe_is_read_while_it_is_written(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.ts", steady(40)).read_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    opened = threading.Event()
    half = []

    def write() -> None:
        with pipe.open("wb", buffering=0) as writing:
            writing.write(clip)
            half.append(opened.wait(LONG_S))
            writing.write(clip)

    writer = threading.Thread(target=write)
    writer.start()
    options = {"probesize": "5000"}
    with live(str(pipe), realtime=True, input_options=options).open(LONG_S, LONG_S) as container:
        opened.set()
        assert len(list(container.decode(video=0))) > 40
    writer.join()
    assert half == [True]


def test_a_terminal_is_no_video(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 0)
    found = LiveInput("-", "pipe:0")
    with pytest.raises(InputError, match="-: standard input is a terminal; pipe a video into it"):
        found.open(LONG_S, LONG_S)


# What is said


@pytest.mark.parametrize("scheme", ["rtsp", "rtsps", "tcp", "rtmp", "http"])
def test_nobody_there(scheme: str) -> None:
    address = f"127.0.0.1:{free_port()}/x.mjpg"
    told = refusal(f"{scheme}://me:s3cret@{address}")
    assert told == f"{scheme}://***@{address}: connection refused; nothing listens there"


@pytest.mark.parametrize("scheme", ["rtsp", "rtsps", "tcp", "rtmp", "http", "https"])
def test_one_that_never_answers(scheme: str) -> None:
    with SilentServer() as server:
        url = f"{scheme}{server.url.removeprefix('tcp')}/x.m3u8"
        assert refusal(url, open_s=0.2) == f"{url}: no answer in time; --open-timeout waits longer"


@pytest.mark.parametrize("scheme", ["udp", "rtp"])
def test_nothing_is_sent_here(scheme: str) -> None:
    url = f"{scheme}://127.0.0.1:{free_port(socket.SOCK_DGRAM)}"
    assert refusal(url, open_s=0.2) == f"{url}: nothing came in time; --open-timeout waits longer"


def test_a_port_that_is_taken() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"udp://127.0.0.1:{taken.getsockname()[1]}"
        assert refusal(url) == f"{url}: another program receives at this port"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("srt://127.0.0.1:9", "FFmpeg here has no srt://; ffmpeg, if built with it, can turn it into udp://"),
        ("rtsp://camera.invalid/live", "no such host"),
        ("rtsp://", "no host in it"),
        ("tcp://127.0.0.1", "no port in it, as in tcp://HOST:PORT"),
        ("tcp://127.0.0.1:99999", "not a valid address"),
        ("rtsp://127.0.0.1:live/", "not a valid address"),
        ("udp://192.0.2.1:5004", "not an address of this machine, which would receive there; udp://@:PORT"),
        ("lavfi:nosuch", "FFmpeg cannot make pictures of this graph (filter not found); try lavfi:testsrc2"),
        ("lavfi:sine", "no video stream in it (audio only)"),
    ],
)
def test_addresses_that_cannot_be(given: str, told: str) -> None:
    assert refusal(given).startswith(f"{given}: {told}")


def test_what_a_web_server_says() -> None:
    class Refuses(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/x.mjpg":
                self.send_error(401)
            elif self.path == "/page/mjpeg":
                self.send_response(200)
                self.send_header("Content-Length", "2500")
                self.end_headers()
                self.wfile.write(b"<html>not a camera</html>" * 100)
            elif self.path == "/ends/mjpeg":
                self.send_response(200)
                self.end_headers()
            else:
                self.send_error(404)

        def log_message(self, *_: object) -> None: ...

    with web(Refuses) as address:
        told = "401 unauthorized; http://USER:PASSWORD@... signs in"
        assert refusal(f"{address}/x.mjpg") == f"{address}/x.mjpg: {told}"
        known = address.replace("//", "//me:s3cret@")
        assert refusal(f"{known}/x.mjpg") == f"{address.replace('//', '//***@')}/x.mjpg: 401 unauthorized"
        assert refusal(f"{address}/y.m3u8").endswith("404 not found")
        assert refusal(f"rtsp{address[4:]}/").endswith("/: what is there does not answer as RTSP does")
        assert "not a video FFmpeg can read" in refusal(f"{address}/page/mjpeg")
        assert refusal(f"{address}/ends/mjpeg").endswith("/ends/mjpeg: the connection broke off")
