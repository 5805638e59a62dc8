"""What is live among the inputs, and how FFmpeg opens it: cameras, network streams, test pictures."""

from __future__ import annotations

import os
import re
import stat
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from cli.video.inputs import STDIN, VIDEO_SUFFIXES, is_url
from protocol.errors import InputError, UsageError
from protocol.redaction import mask_credentials, mask_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from av.container import InputContainer

CAMERA = "camera:"
"""Before a camera's number or name."""
LAVFI = "lavfi:"
"""Before a graph of FFmpeg's filters that makes pictures, ``testsrc2`` for one."""
CAMERA_FORMATS = {"darwin": "avfoundation", "win32": "dshow"}
"""FFmpeg's device for cameras by `sys.platform`; v4l2 elsewhere."""

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
        network: lost connections are worth trying again.
        paced: it comes in bursts, so that frames are shown by their timestamps (HLS, a file played live).
        endless: its end is a loss (cameras, network); that of a file, of test pictures and of HLS is the end.
        address: what FFmpeg gets, credentials and all; of a camera ``camera:`` and its number or name.
        format: FFmpeg's name of the reader; None if FFmpeg finds out, or it depends on the camera.
        options: FFmpeg's options.
        file: it is a path or URL that is read to its end, played live.
    """

    name: str
    network: bool
    paced: bool
    endless: bool
    address: str = field(repr=False)
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    file: bool = False

    def open(self, open_s: float, read_s: float) -> InputContainer:
        """A container with a video stream in it. Blocks the thread, at most about twice `open_s`.

        The limits are for silence, in seconds, 0 for none: while opening, and later for one read. Devices
        and the look-up of a name know no limit: whoever waits for this thread needs one too.

        Raises:
            InputError: it cannot be opened, not in time, or there is no video in it.
        """
        import av

        from cli.video.container import OpenInput, video_stream
        from cli.video.timeouts import Timeouts

        if self.file:
            container = OpenInput(self.address, lambda: False, Timeouts(open_s, read_s)).open()
        else:
            if self.address == "pipe:0" and sys.stdin.isatty():
                raise InputError(f"{self.name}: standard input is a terminal", hint="pipe a video into it")
            address, reader, options = self.address, self.format, dict(self.options)
            if address.startswith(CAMERA):
                from cli.video.cameras import find_camera

                address, reader, usual = find_camera(address.removeprefix(CAMERA)).opening()
                options = {**usual, **options}
            try:
                limits = (open_s or None, read_s or None)
                container = av.open(address, "r", format=reader, options=options, timeout=limits)
            except (av.FFmpegError, OSError, ValueError) as error:
                raise self.error(error) from None  # FFmpeg's tells the address, its password in it
        try:
            video_stream(container, self.name)
        except InputError:
            container.close()
            raise
        return container

    def error(self, error: Exception) -> InputError:
        """`error`, which FFmpeg had while opening or reading it, in words."""
        from cli.video.live_failures import failure_of

        return failure_of(self, error)


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
    scheme = given.partition(":")[0].lower()
    if scheme == "camera" or _is_video_device(given):
        return _camera(given, reader, own)
    if reader is not None and is_device(reader):
        tests = reader == "lavfi"
        return LiveInput(
            mask_credentials(given),
            False,
            paced=tests,
            endless=not tests,
            address=given,
            format=reader,
            options=own,
        )
    if scheme == "lavfi":
        graph = given[len(LAVFI) :]
        return LiveInput(given, False, paced=True, endless=False, address=graph, format="lavfi", options=own)
    if is_url(given):
        address = f"{scheme}://{given.partition('://')[2]}"  # FFmpeg knows protocols in lower case only
        name = _masked(given)
        if scheme in _NETWORK:
            usual = _usual_options(scheme, options)
            return LiveInput(
                name,
                True,
                paced=False,
                endless=True,
                address=address,
                format=reader,
                options={**usual, **own},
            )
        kind = _http_kind(address, reader) if scheme in {"http", "https"} else None
        if kind is not None:
            hls = kind == "hls"
            return LiveInput(
                name, True, paced=hls, endless=not hls, address=address, format=reader, options=own
            )
    if not realtime:
        return None
    if _is_pipe(given):
        # Not kept first, as a pipe otherwise is: what writes into it may be a camera.
        address = "pipe:0" if given == STDIN else f"file:{given}"
        return LiveInput(given, False, paced=True, endless=False, address=address, format=reader, options=own)
    name = _masked(given) if is_url(given) else given
    return LiveInput(name, False, paced=True, endless=False, address=given, file=True)


def is_device(input_format: str) -> bool:
    """Whether FFmpeg's reader of this name takes pictures from a device and opens no file."""
    import av

    return av.ContainerFormat(input_format, "r").no_file and input_format not in _NO_DEVICES


def is_live_container(container: InputContainer) -> bool:
    """Whether what was opened over HTTP goes on without end: one picture after the other, or live HLS."""
    names = container.format.name.split(",")
    return "mpjpeg" in names or ("hls" in names and container.duration is None)


def _camera(given: str, reader: str | None, options: Mapping[str, str]) -> LiveInput:
    device = CAMERA_FORMATS.get(sys.platform, "v4l2")
    if reader is not None and reader != device:
        raise UsageError(
            f"{given}: cameras are read by {device}, not {reader}",
            hint=f"a camera's own format goes by --input-option input_format={reader}",
        )
    if given[: len(CAMERA)].lower() == CAMERA:
        address, reader = CAMERA + given[len(CAMERA) :].strip(), None  # which device it is may change
    else:
        address, reader = given, device
    return LiveInput(given, False, paced=False, endless=True, address=address, format=reader, options=options)


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


def _usual_options(scheme: str, options: LiveOptions) -> dict[str, str]:
    if scheme in {"rtsp", "rtsps"}:
        return {"rtsp_transport": options.rtsp_transport}
    return {}


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
