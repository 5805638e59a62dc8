"""What the kernel answers, by a made driver; and what is no camera, for real."""

import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("Video4Linux2 is Linux's", allow_module_level=True)

from cli.video import v4l2
from cli.video.camera_mode import CameraMode
from tests.cli.video.made_cameras import ITS_METADATA, SENSOR, WEBCAM, MadeCamera, MadeDriver


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeDriver:
    return MadeDriver(tmp_path, monkeypatch)


def modes(driver: MadeDriver, camera: MadeCamera) -> list[CameraMode]:
    driver.plug(0, camera)
    with v4l2.opened(str(driver.folder / "dev" / "video0")) as descriptor:
        return list(v4l2.modes(descriptor))


def test_sizes_and_rates_in_the_cameras_own_order(driver: MadeDriver) -> None:
    assert modes(driver, WEBCAM) == [
        CameraMode("mjpeg", 1280, 720, (30.0, 15.0)),
        CameraMode("mjpeg", 640, 480, (30.0, 7.493)),
        CameraMode("yuyv422", 640, 480, (30.0, 7.493)),
        CameraMode("Y12I", 424, 240),  # a format FFmpeg has no name for, at rates it does not tell
    ]


def test_any_size_and_rate_between_two(driver: MadeDriver) -> None:
    assert modes(driver, SENSOR) == [
        CameraMode("yuv420p", 2592, 1944, (90.0,), least_size=(32, 32), least_rate=1.0)
    ]


@pytest.mark.parametrize(("camera", "gives"), [(WEBCAM, True), (SENSOR, True), (ITS_METADATA, False)])
def test_only_what_gives_pictures_is_a_camera(driver: MadeDriver, camera: MadeCamera, gives: bool) -> None:
    driver.plug(0, camera)
    with v4l2.opened(str(driver.folder / "dev" / "video0")) as descriptor:
        assert v4l2.gives_pictures(descriptor) is gives


def test_what_is_no_video_device_says_so() -> None:
    with v4l2.opened("/dev/null") as descriptor:
        assert list(v4l2.modes(descriptor)) == []
        with pytest.raises(OSError, match="Inappropriate ioctl"):
            v4l2.gives_pictures(descriptor)
