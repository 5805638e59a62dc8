"""Why a live input does not open, or does not go on, in words."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cli.video.inputs import is_url
from protocol.errors import InputError

if TYPE_CHECKING:
    from cli.video.live_input import LiveInput

_CAMERA_FORMATS = frozenset(("v4l2", "video4linux2", "avfoundation", "dshow"))
_NEED_A_PORT = frozenset(("udp", "tcp", "rtp"))
_RECEIVE = frozenset(("udp", "rtp"))
_RTSP = frozenset(("rtsp", "rtsps"))
_NO_CAMERA = frozenset((errno.ENODEV, errno.ENXIO, errno.ENOTTY, errno.ENOSYS))


def failure(given: LiveInput, error: Exception, *, opening: bool) -> InputError:
    """`error`, which FFmpeg had while opening or reading `given`, as one line without credentials."""
    reason, hint = _camera_words(given, error, opening=opening) if _is_camera(given) else ("", "")
    if not reason:
        reason, hint = _words(given, error, opening=opening)
    return InputError(f"{given.name}: {reason}", hint=hint)


def _is_camera(given: LiveInput) -> bool:
    return given.address.startswith("camera:") or given.format in _CAMERA_FORMATS


def _camera_words(given: LiveInput, error: Exception, *, opening: bool) -> tuple[str, str]:
    number = getattr(error, "errno", None)
    if number == errno.ENOENT:
        from cli.video.cameras import known_cameras

        return "no such camera", known_cameras()
    if number == errno.EBUSY:
        return "busy: another program uses this camera", ""
    if number in {errno.EACCES, errno.EPERM}:
        return "permission denied", "on Linux cameras are for members of the group video"
    if number in _NO_CAMERA:
        return ("not a camera", "stream cameras lists them") if opening else ("the camera is gone", "")
    if number == errno.EINVAL and opening and given.options:
        told = ", ".join(f"{name}={value}" for name, value in given.options.items() if name != "fpsprobesize")
        if told:
            return f"the camera refuses {told}", "stream cameras lists what it takes"
    if number == errno.EIO and opening:
        return "the camera cannot be opened", "another program may use it, or this one may not"
    return "", ""


def _words(given: LiveInput, error: Exception, *, opening: bool) -> tuple[str, str]:
    import av

    from cli.video.container import HTTP_WORDS

    kind, scheme = type(error).__name__, given.address.partition(":")[0]
    number = getattr(error, "errno", None)
    reason = (getattr(error, "strerror", None) or str(error)).strip()
    if kind in HTTP_WORDS:
        needs_user = kind == "HTTPUnauthorizedError" and "@" not in given.address
        return HTTP_WORDS[kind], f"{scheme}://USER:PASSWORD@... signs in" if needs_user else ""
    if isinstance(error, TimeoutError) or kind == "ExitError":
        if not opening:
            return "nothing more came in time", ""
        silent = "nothing came in time" if scheme in _RECEIVE else "no answer in time"
        return silent, "--open-timeout waits longer"
    if isinstance(error, av.error.ProtocolNotFoundError):
        return f"FFmpeg here has no {scheme}://", "ffmpeg, if built with it, can turn it into udp://"
    if opening and is_url(given.address):
        wrong = _wrong_address(given.address, number)
        if wrong:
            return wrong, ""
    if number == errno.EIO and given.network:
        return "the connection broke off", ""
    if number == errno.ECONNREFUSED:
        return "connection refused", "nothing listens there"
    if number == errno.EADDRINUSE:
        return "another program receives at this port", ""
    if number == errno.EADDRNOTAVAIL:
        return "not an address of this machine, which would receive there", "udp://@:PORT takes any"
    if opening and given.format == "lavfi":
        return f"FFmpeg cannot make pictures of this graph ({_lower(reason)})", "try lavfi:testsrc2"
    if isinstance(error, av.error.InvalidDataError):
        if scheme == "rtp":
            return "what comes does not say what it is", "give the sender's .sdp file instead"
        if opening and scheme in _RTSP:
            return "what is there does not answer as RTSP does", ""
        return f"not a video FFmpeg can read ({reason})", ""
    return _lower(reason), ""


def _wrong_address(address: str, number: int | None) -> str:
    """What is wrong with a URL, as far as FFmpeg's error leaves that open; a host may be looked up."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "not a valid address"
    if port is None and parts.scheme in _NEED_A_PORT:
        return f"no port in it, as in {parts.scheme}://HOST:PORT"
    if not host and parts.scheme not in _RECEIVE:
        return "no host in it"
    if number == errno.EIO and host:
        try:
            socket.getaddrinfo(host, None)
        except OSError:
            return "no such host"
    return ""


def _lower(reason: str) -> str:
    return f"{reason[:1].lower()}{reason[1:]}"
