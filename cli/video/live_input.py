"""What is live among the inputs, and how FFmpeg opens it: cameras, network streams, test pictures."""

from __future__ import annotations

import os
import re
import stat
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from cli.video.inputs import STDIN, VIDEO_SUFFIXES, is_url
from cli.video.latency import DESCRIBED, network_options
from cli.video.live_failures import failure
from protocol.errors import InputError, UsageError
from protocol.redaction import mask_credentials, mask_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from av.container import InputContainer

CAMERA = "camera:"
"""Before a camera's number or name."""
LAVFI = "lavfi:"
"""Before a graph of FFmpeg's filters that makes pictures, ``testsrc2`` for one."""

_CAMERA_FORMATS = {"darwin": "avfoundation", "win32": "dshow"}
"""FFmpeg's device for cameras by `sys.platform`; v4l2 elsewhere."""
_STDIN_PIPE = "pipe:0"
_NETWORK = frozenset(("rtsp", "rtsps", "udp", "tcp", "rtp", "rtmp", "rtmps", "srt"))
_HTTP_LIVE_FORMATS = frozenset(("hls", "mpjpeg", "mjpeg"))
_NO_DEVICES = frozenset(("image2", "rtp", "rtsp", "sap"))
"""Readers that open no file and yet are no devices."""
_MJPEG = re.compile(r"(?<![a-z])m-?jpe?g(?![a-z])", re.IGNORECASE)
_MJPEG_SUFFIXES = frozenset((".mjpg", ".mjpeg"))
_V4L_MAJOR = 81  # of video devices, Linux's devices.txt


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """How live inputs are opened.

    Attributes:
        input_format: FFmpeg's name of a reader or a device.
        input_options: FFmpeg's options for it, by name; they win over ours.
    """

    rtsp_transport: Literal["tcp", "udp"] = "tcp"
    input_format: str | None = None
    input_options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LiveInput:
    """An input that is shown as it comes. Opening it again after it was lost is what `open` is for, too.

    Attributes:
        name: as the person gave it, credentials masked.
        address: what FFmpeg gets, credentials and all; of a camera ``camera:`` and its number or name.
        network: lost connections are worth trying again.
        paced: it comes in bursts, so that frames are shown by their timestamps (HLS, a file played live).
        endless: its end is a loss (cameras, network); that of a file, of test pictures and of HLS is the end.
        format: FFmpeg's name of the reader; None if FFmpeg finds out, or it depends on the camera.
        options: FFmpeg's options.
        file: it is a path or URL that is read to its end, played live.
        perhaps: whether it is live can only be told once it is open: HLS may be a film.
    """

    name: str
    address: str = field(repr=False)
    network: bool = False
    paced: bool = False
    endless: bool = True
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    file: bool = False
    perhaps: bool = False

    def open(self, open_s: float, read_s: float) -> InputContainer:
        """A container with a video stream in it. Blocks the thread, at most about twice `open_s`.

        The limits are for silence, in seconds, 0 for none: while opening, and later for one read. Devices
        and the look-up of a name know no limit: whoever waits for this thread needs one too.

        Raises:
            InputError: it cannot be opened, not in time, or there is no video in it.
        """
        from cli.video.container import OpenInput, video_stream
        from cli.video.timeouts import Timeouts

        if self.file:
            container = OpenInput(self.address, lambda: False, Timeouts(open_s, read_s)).open()
        else:
            container = self._open(open_s, read_s)
        try:
            video_stream(container, self.name)
        except InputError:
            container.close()
            raise
        return container

    def error(self, error: Exception) -> InputError:
        """`error`, which FFmpeg had while reading it, in words."""
        return failure(self, error, opening=False)

    def _open(self, open_s: float, read_s: float) -> InputContainer:
        import av

        address, reader, options = self.address, self.format, dict(self.options)
        if address == _STDIN_PIPE and os.isatty(0):
            raise InputError(f"{self.name}: standard input is a terminal", hint="pipe a video into it")
        if address.startswith(CAMERA):
            from cli.video.cameras import find_camera

            address, reader = find_camera(address.removeprefix(CAMERA)).device, camera_format()
        begun = monotonic()
        try:
            limits = (open_s or None, read_s or None)
            return av.open(address, "r", format=reader, options=options, timeout=limits)
        except (av.FFmpegError, OSError, ValueError) as error:
            late = open_s > 0 and monotonic() - begun >= open_s
            # FFmpeg's own error is not to be shown as the cause: it tells the address, password and all.
            raise failure(self, TimeoutError() if late else error, opening=True) from None


def live_input(given: str, options: LiveOptions, *, realtime: bool = False) -> LiveInput | None:
    """What `given` is, if it is live; with `realtime` everything is.

    None if `given` is a file or URL that is read to its end: paths, and http(s) that is neither MJPEG nor HLS
    by its name. `is_live_container` knows what such a URL is once it is open.

    Raises:
        UsageError: FFmpeg here has no such input format, or it is none that reads this.
    """
    reader, own = options.input_format, options.input_options
    if reader is not None:
        _check_format(reader)
    scheme, colon, _ = given.partition(":")
    scheme = scheme.lower() if colon else ""
    if scheme == "camera" or _is_video_device(given):
        return _camera(given, reader, own)
    if PurePosixPath(given).suffix.lower() == ".sdp" and not is_url(given):
        return _described(given, own)
    if reader is not None and is_device(reader):
        return _device(mask_credentials(given), given, reader, own)
    if scheme == "lavfi":
        return _device(given, given[len(LAVFI) :], "lavfi", own)
    if is_url(given):
        address = f"{scheme}://{given.partition('://')[2]}"  # FFmpeg knows protocols in lower case only
        kind = _http_kind(address, reader) if scheme in {"http", "https"} else None
        if kind is not None or scheme in _NETWORK:
            usual, hls = network_options(scheme, options.rtsp_transport), kind == "hls"
            return LiveInput(
                _masked(given),
                address,
                network=True,
                paced=hls,
                endless=not hls,
                format=reader,
                options={**usual, **own},
                perhaps=hls and reader is None,
            )
    return _played(given, reader, own) if realtime else None


def is_device(input_format: str) -> bool:
    """Whether FFmpeg's reader of this name takes pictures from a device and opens no file."""
    import av

    return av.ContainerFormat(input_format, "r").no_file and input_format not in _NO_DEVICES


def is_live_container(container: InputContainer) -> bool:
    """Whether what was opened over HTTP goes on without end: one picture after the other, or live HLS."""
    names = container.format.name.split(",")
    return "mpjpeg" in names or ("hls" in names and container.duration is None)


def camera_format() -> str:
    """FFmpeg's device for the cameras of this system."""
    return _CAMERA_FORMATS.get(sys.platform, "v4l2")


def _camera(given: str, reader: str | None, own: Mapping[str, str]) -> LiveInput:
    device = camera_format()
    if reader not in {None, device}:
        raise UsageError(
            f"{given}: cameras are read by {device}, not {reader}",
            hint=f"the format of its pictures is --input-option input_format={reader}",
        )
    usual = {"fpsprobesize": "0"}
    if device == "avfoundation":
        usual["framerate"] = "30"  # its own default, 29.97, is one that cameras refuse
    options = {**usual, **own}
    if given.startswith("/"):
        return LiveInput(given, given, format=device, options=options)
    # Which device that is can change, and is found out whenever it is opened.
    return LiveInput(given, CAMERA + given[len(CAMERA) :].strip(), options=options)


def _device(name: str, address: str, reader: str, own: Mapping[str, str]) -> LiveInput:
    made_here = reader == "lavfi"  # as fast as it is read, and with an end if the graph says so
    return LiveInput(name, address, paced=made_here, endless=not made_here, format=reader, options=own)


def _described(given: str, own: Mapping[str, str]) -> LiveInput:
    """What an SDP file describes: RTP that is sent here."""
    usual = {**DESCRIBED, "protocol_whitelist": "file,rtp,udp"}
    return LiveInput(given, f"file:{given}", network=True, format="sdp", options={**usual, **own})


def _played(given: str, reader: str | None, own: Mapping[str, str]) -> LiveInput:
    """A file, URL or pipe at its own pace."""
    name = _masked(given) if is_url(given) else given
    if reader is None and not own and not _is_pipe(given):
        return LiveInput(name, given, paced=True, endless=False, file=True)
    # A pipe is not kept first, as it otherwise is: what writes into it may be a camera.
    address = _STDIN_PIPE if given == STDIN else given if is_url(given) else f"file:{given}"
    return LiveInput(name, address, paced=True, endless=False, format=reader, options=own)


def _is_video_device(given: str) -> bool:
    """Whether it is ``/dev/videoN``, there or not, or another name of a v4l2 device."""
    if sys.platform != "linux" or not given.startswith("/dev/"):
        return False
    if re.fullmatch(r"/dev/video\d+", given):
        return True
    try:
        found = Path(given).stat()
    except (OSError, ValueError):
        return False
    return stat.S_ISCHR(found.st_mode) and os.major(found.st_rdev) == _V4L_MAJOR


def _is_pipe(given: str) -> bool:
    try:
        found = os.fstat(0) if given == STDIN else Path(given).stat()
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(found.st_mode) if given == STDIN else stat.S_ISFIFO(found.st_mode)


def _http_kind(address: str, reader: str | None) -> Literal["hls", "mjpeg"] | None:
    """What a web address is by the format that was asked for, or else by its name; None if not live."""
    if reader in _HTTP_LIVE_FORMATS:
        return "hls" if reader == "hls" else "mjpeg"
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    suffix = PurePosixPath(parts.path).suffix.lower()
    if suffix == ".m3u8":
        return "hls"
    if suffix in VIDEO_SUFFIXES - _MJPEG_SUFFIXES:
        return None  # clip-mjpeg.avi is a file
    return "mjpeg" if _MJPEG.search(f"{parts.path}?{parts.query}") else None


def _masked(url: str) -> str:
    """`mask_url`, which takes the empty user of ``udp://@239.0.0.1:5004`` for one to hide."""
    scheme, _, rest = url.partition("://")
    if rest.startswith("@"):
        return f"{scheme}://@{mask_url(f'{scheme}://{rest[1:]}').partition('://')[2]}"
    return mask_url(url)


def _check_format(name: str) -> None:
    import av

    try:
        av.ContainerFormat(name, "r")
    except ValueError:
        raise UsageError(f"--input-format {name}: FFmpeg here has no such reader") from None
