"""`stream cameras`, with made cameras and, as a process, with those of this machine."""

import json
import sys
from pathlib import Path

import pytest

from cli.main import run
from tests.cli.commands.stream import stream

if sys.platform != "linux":
    pytest.skip("as Linux shows them", allow_module_level=True)

from tests.cli.video.made_cameras import SENSOR, WEBCAM, MadeCamera, MadeDriver

TABLE = """\
CAMERA     NAME                          FORMAT                   SIZE                FPS
camera:0   HD Pro Webcam: HD Pro Webcam  mjpeg                    1280x720            30, 15
                                         mjpeg                    640x480             30, 7.493
                                         yuyv422                  640x480             30, 7.493
                                         Y12I                     424x240
camera:2   mmal service 16.1             yuv420p                  32x32 to 2592x1944  1 to 90
camera:10  Gone                          device or resource busy
"""


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeDriver:
    made = MadeDriver(tmp_path, monkeypatch)
    made.plug(0, WEBCAM)
    made.plug(2, SENSOR)
    made.plug(10, MadeCamera("\x1b[31mGone\x1b[0m", fails=16))
    return made


def test_a_terminal_gets_a_table(
    driver: MadeDriver, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run(["cameras"]) == 0
    assert capsys.readouterr() == (TABLE, "")


def test_a_pipe_gets_a_line_of_json_for_each(driver: MadeDriver, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cameras"]) == 0
    webcam, sensor, gone = map(json.loads, capsys.readouterr().out.splitlines())
    assert webcam == {
        "camera": "camera:0",
        "name": WEBCAM.name,
        "device": f"{driver.folder}/dev/video0",
        "modes": [
            {"format": "mjpeg", "width": 1280, "height": 720, "fps": [30.0, 15.0]},
            {"format": "mjpeg", "width": 640, "height": 480, "fps": [30.0, 7.493]},
            {"format": "yuyv422", "width": 640, "height": 480, "fps": [30.0, 7.493]},
            {"format": "Y12I", "width": 424, "height": 240, "fps": []},
        ],
        "error": None,
    }
    least = {"min_width": 32, "min_height": 32, "min_fps": 1.0}
    assert sensor["modes"] == [{"format": "yuv420p", "width": 2592, "height": 1944, "fps": [90.0], **least}]
    assert (gone["camera"], gone["modes"], gone["error"]) == ("camera:10", [], "device or resource busy")


def test_the_format_can_be_chosen(
    driver: MadeDriver, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["cameras", "--format", "text"]) == 0
    assert capsys.readouterr().out == TABLE
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run(["cameras", "--format", "jsonl"]) == 0
    assert capsys.readouterr().out.startswith('{"camera": "camera:0", ')


def test_no_camera_is_one_line_that_tells_what_else_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    MadeDriver(tmp_path, monkeypatch)
    assert run(["cameras"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: no camera is connected; lavfi:testsrc2 ")
    assert "rtsp://" in err
    assert err.count("\n") == 1


def test_those_of_this_machine() -> None:
    done = stream("cameras")
    if Path("/sys/class/video4linux").is_dir():
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert all(line["device"].startswith("/dev/video") for line in lines)
    else:
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("error: no camera is connected; ")
