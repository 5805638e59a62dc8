"""Which cameras there are: on Linux by a made driver, elsewhere by what PyAV gives for them."""

import errno
import sys
from pathlib import Path

import av
import pytest
from av.device import DeviceInfo

from cli.video.cameras import Camera, cameras, find_camera, known_cameras
from protocol.errors import InputError

if sys.platform == "linux":
    from tests.cli.video.made_cameras import ITS_METADATA, SENSOR, WEBCAM, MadeCamera, MadeDriver

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="as Linux shows them")


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "MadeDriver":
    return MadeDriver(tmp_path, monkeypatch)


def listed(monkeypatch: pytest.MonkeyPatch, platform: str, reader: str, *devices: DeviceInfo) -> None:
    """Has PyAV list these on that platform."""

    def enumerate_input_devices(asked: str) -> list[DeviceInfo]:
        assert asked == reader
        return list(devices)

    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(av, "enumerate_input_devices", enumerate_input_devices)


@on_linux
def test_a_webcam_is_one_camera_although_it_is_two_devices(driver: "MadeDriver") -> None:
    driver.plug(10, SENSOR)
    driver.plug(2, WEBCAM)
    driver.plug(3, ITS_METADATA)
    found = cameras()
    assert [(each.address, each.name, each.device) for each in found] == [
        ("camera:2", WEBCAM.name, f"{driver.folder}/dev/video2"),
        ("camera:10", SENSOR.name, f"{driver.folder}/dev/video10"),
    ]
    assert [len(each.modes) for each in found] == [4, 1]


@on_linux
def test_one_that_cannot_be_asked_is_shown_with_the_reason(driver: "MadeDriver") -> None:
    driver.plug(0, MadeCamera("Borrowed", fails=errno.EBUSY))
    driver.plug(1, MadeCamera("Borrowed", index=1, fails=errno.EBUSY))
    driver.plug(2, MadeCamera("Unplugged"))
    (driver.folder / "dev" / "video2").unlink()
    assert [(each.address, each.problem) for each in cameras()] == [
        ("camera:0", "device or resource busy"),
        ("camera:2", "no such file or directory"),
    ]


@on_linux
def test_a_camera_is_found_by_number_name_and_part_of_its_name(driver: "MadeDriver") -> None:
    driver.plug(0, WEBCAM)
    driver.plug(2, SENSOR)
    for which in ("2", "02", SENSOR.name, "MMAL"):
        assert find_camera(which).device == f"{driver.folder}/dev/video2"


@on_linux
def test_a_name_that_is_part_of_another_is_found(driver: "MadeDriver") -> None:
    driver.plug(0, MadeCamera("Front left"))
    driver.plug(1, MadeCamera("Front"))
    assert find_camera("front").number == 1


@on_linux
def test_what_is_not_found_tells_what_is_there(driver: "MadeDriver") -> None:
    driver.plug(0, WEBCAM)
    driver.plug(2, SENSOR)
    there = f"camera:0 ({WEBCAM.name}), camera:2 ({SENSOR.name})"
    for which in ("1", "99", "Logitech", ""):
        with pytest.raises(InputError) as none:
            find_camera(which)
        assert str(none.value) == f"camera:{which}: no such camera; there is {there}"
    with pytest.raises(InputError, match=r"several cameras are called that; there is camera:0 .* camera:2"):
        find_camera("m")


@on_linux
def test_without_a_camera_it_tells_what_else_there_is(driver: "MadeDriver") -> None:
    assert cameras() == []
    assert known_cameras().startswith("no camera is connected; lavfi:testsrc2 ")


def test_macos_numbers_its_cameras(monkeypatch: pytest.MonkeyPatch) -> None:
    devices = [
        DeviceInfo("0", "FaceTime HD Camera", False, ["video"]),
        DeviceInfo("0", "MacBook Microphone", False, ["audio"]),
        DeviceInfo("1", "Studio Display", False, ["video"]),
    ]
    listed(monkeypatch, "darwin", "avfoundation", *devices)
    assert cameras() == [Camera(0, "FaceTime HD Camera", "0"), Camera(1, "Studio Display", "1")]
    assert find_camera("studio").device == "1"
    assert find_camera("0").name == "FaceTime HD Camera"


def test_windows_names_its_cameras(monkeypatch: pytest.MonkeyPatch) -> None:
    path = r"@device_pnp_\\?\usb#vid_046d"
    devices = [
        DeviceInfo("@device_cm_1", "Microphone", False, ["audio"]),
        DeviceInfo(path, "Logitech BRIO", False, ["video"]),
    ]
    listed(monkeypatch, "win32", "dshow", *devices)
    assert find_camera("0") == find_camera("brio") == Camera(0, "Logitech BRIO", f"video={path}")
    with pytest.raises(InputError, match=r"camera:1: no such camera; there is camera:0 \(Logitech BRIO\)"):
        find_camera("1")


@pytest.mark.skipif(sys.platform == "darwin", reason="FFmpeg has it there")
def test_ffmpeg_without_the_devices_of_the_system_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(InputError, match="cannot list cameras by avfoundation"):
        cameras()
    assert "cannot list cameras" in known_cameras()
