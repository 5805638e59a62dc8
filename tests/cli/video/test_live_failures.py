"""Words for what this machine cannot show: a camera that is busy, unplugged or not for everyone."""

import errno
import os
import sys

import av
import pytest

from cli.video.live_failures import failure
from cli.video.live_input import LiveInput, LiveOptions, live_input


def live(given: str, **options: str) -> LiveInput:
    found = live_input(given, LiveOptions(input_options=options))
    assert found is not None
    return found


def failed(number: int) -> Exception:
    return av.error.OSError(number, os.strerror(number), "rtsp://me:s3cret@host/")


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux names them")
@pytest.mark.parametrize("given", ["camera:0", "/dev/video0"])
@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.EBUSY, "busy: another program uses this camera"),
        (errno.EACCES, "permission denied; on Linux cameras are for members of the group video"),
        (errno.ENODEV, "not a camera; stream cameras lists them"),
        (errno.EIO, "the camera cannot be opened; another program may use it, or this one may not"),
        (errno.EINVAL, "invalid argument"),
        (errno.ENOMEM, "cannot allocate memory"),
    ],
)
def test_a_camera_that_does_not_open(given: str, number: int, told: str) -> None:
    assert str(failure(live(given), failed(number), opening=True)) == f"{given}: {told}"


def test_a_camera_that_refuses_what_was_asked_of_it() -> None:
    asked = live("camera:0", framerate="500", video_size="1x1")
    told = str(failure(asked, failed(errno.EINVAL), opening=True))
    assert (
        told
        == "camera:0: the camera refuses framerate=500, video_size=1x1; stream cameras lists what it takes"
    )


def test_a_camera_that_was_unplugged() -> None:
    assert str(live("camera:0").error(failed(errno.ENODEV))) == "camera:0: the camera is gone"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (failed(errno.ECONNRESET), "connection reset by peer"),
        (failed(errno.EIO), "the connection broke off"),
        (failed(errno.EHOSTUNREACH), "no route to host"),
        (TimeoutError(), "nothing more came in time"),
        (av.error.ExitError(1414092869, "Immediate exit requested"), "nothing more came in time"),
        (av.error.HTTPServerError(1, "Server returned 5XX"), "the server failed (5xx)"),
    ],
)
def test_a_stream_that_does_not_go_on(error: Exception, told: str) -> None:
    assert str(live("rtsp://me:s3cret@host/").error(error)) == f"rtsp://***@host/: {told}"
