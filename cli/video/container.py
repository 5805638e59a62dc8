"""Opening a file, URL or pipe with FFmpeg, and its errors in words."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import av
from av.stream import Disposition

from cli.video.inputs import LIVE_PREFIXES, STDIN, is_url
from cli.video.spool import download, spool
from cli.video.timeouts import DEFAULT_TIMEOUTS, Timeouts
from protocol.errors import InputError
from protocol.redaction import mask_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from av.container import InputContainer
    from av.video.stream import VideoStream

# FFmpeg asks the server to close each connection and yet uses it again where an HTTP/1.1 server does not
# confirm that. The seek then fails, which demuxers take for the end. (Asking to keep connections instead,
# multiple_requests, waits at the end of a file that comes without ranges until it times out.)
_HTTP_OPTIONS = {"reconnect": "1", "reconnect_on_network_error": "1", "reconnect_delay_max": "2"}

av.logging.set_level(None)  # FFmpeg's own lines never reach the terminal

_NOT_A_MOVING_PICTURE = Disposition.attached_pic | Disposition.timed_thumbnails
HTTP_WORDS = {
    "HTTPBadRequestError": "400 bad request",
    "HTTPUnauthorizedError": "401 unauthorized",
    "HTTPForbiddenError": "403 forbidden",
    "HTTPNotFoundError": "404 not found",
    "HTTPTooManyRequestsError": "429 too many requests",
    "HTTPOtherClientError": "the server refuses it (4xx)",
    "HTTPServerError": "the server failed (5xx)",
}


class OpenInput:
    """An input that can be opened more than once: `open` gives a container at its beginning each time.

    Attributes:
        name: as the person gave it, credentials masked.
    """

    def __init__(
        self, given: str, stopped: Callable[[], bool], timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> None:
        """`stopped` is asked after each piece of a pipe that is copied.

        Raises:
            InputError: there is no such file, or it is nothing that could be a video.
        """
        self.name = mask_url(given) if is_url(given) else given
        self._file: BinaryIO | None = None
        self._url = given
        self._stopped = stopped
        self._timeouts = timeouts
        if given == STDIN:
            self._file = spool(0, self.name, stopped)
        elif given.startswith(LIVE_PREFIXES):
            raise InputError(f"{given}: is live", hint="'stream caption' reads it")
        elif not is_url(given):
            self._url = f"file:{given}"  # else "12:30.mp4" would be read as protocol "12"
            self._check_path(given, stopped)
        else:
            scheme, _, rest = given.partition("://")
            self._url = f"{scheme.lower()}://{rest}"  # FFmpeg knows protocols in lower case only

    def open(self) -> InputContainer:
        """A fresh container.

        Raises:
            InputError: FFmpeg cannot open it.
        """
        try:
            if self._file is not None:
                self._file.seek(0)
                return av.open(self._file, "r", buffer_size=1 << 18)
            if self._url.startswith("file:"):
                return av.open(self._url, "r")
            options = _HTTP_OPTIONS if self._over_http else {}
            open_s, read_s = self._timeouts.open_s, self._timeouts.read_s
            # Whoever waits for this thread gives up first, and says so; this lets the thread itself go.
            limits = (open_s + 1 if open_s else None, read_s + 1 if read_s else None)
            return av.open(self._url, "r", options=options, timeout=limits)
        except (av.FFmpegError, OSError, ValueError) as error:
            raise self.error(error) from error

    def fetch(self) -> bool:
        """Copies what a web server cannot send in ranges, so that it can be seeked; whether that was done."""
        if self._file is None and self._over_http:
            self._file = download(self._url, self.name, self._stopped)
            return self._file is not None
        return False

    def error(self, error: Exception) -> InputError:
        """`error` of FFmpeg's in words."""
        reason = (getattr(error, "strerror", None) or str(error)).strip()
        kind = type(error).__name__
        if kind in HTTP_WORDS:
            return InputError(f"{self.name}: {HTTP_WORDS[kind]}")
        if isinstance(error, av.error.InvalidDataError):
            return InputError(f"{self.name}: not a video FFmpeg can read ({reason})")
        if isinstance(error, (av.error.ProtocolNotFoundError, av.error.DemuxerNotFoundError)):
            return InputError(f"{self.name}: FFmpeg has no reader for this kind of address ({reason})")
        if isinstance(error, TimeoutError) or kind in ("ExitError", "TimeoutError"):
            return InputError(f"{self.name}: no answer in time")
        return InputError(f"{self.name}: {reason[:1].lower()}{reason[1:]}")

    def close(self) -> None:
        """Lets go of a spooled copy."""
        if self._file is not None:
            self._file.close()

    @property
    def _over_http(self) -> bool:
        return self._url.startswith(("http://", "https://"))

    def _check_path(self, given: str, stopped: Callable[[], bool]) -> None:
        try:
            found = Path(given).stat()
        except FileNotFoundError:
            raise InputError(f"{given}: no such file") from None
        except (OSError, ValueError) as error:
            raise InputError(f"{given}: {_words(error)}") from error
        if stat.S_ISDIR(found.st_mode):
            raise InputError(f"{given}: a folder, not a video")
        if stat.S_ISREG(found.st_mode) and found.st_size == 0:
            raise InputError(f"{given}: empty file")
        if not os.access(given, os.R_OK):
            raise InputError(f"{given}: permission denied")
        if stat.S_ISFIFO(found.st_mode):
            descriptor = os.open(given, os.O_RDONLY)
            try:
                self._file = spool(descriptor, self.name, stopped)
            finally:
                os.close(descriptor)
        elif not stat.S_ISREG(found.st_mode):
            raise InputError(f"{given}: a device, not a video file")


def video_stream(container: InputContainer, name: str) -> VideoStream:
    """The first video stream that is not a cover picture.

    Raises:
        InputError: there is none, or nothing here decodes it.
    """
    moving = [stream for stream in container.streams.video if not stream.disposition & _NOT_A_MOVING_PICTURE]
    if not moving:
        kinds: list[str] = sorted({each.type for each in container.streams if each.type != "video"})
        if len(container.streams.video):
            kinds.append("cover picture")
        raise InputError(f"{name}: no video stream in it ({' and '.join(kinds) or 'nothing'} only)")
    if moving[0].codec_context is None:
        raise InputError(f"{name}: FFmpeg has no decoder for its video")
    return moving[0]


def _words(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    return f"{reason[:1].lower()}{reason[1:]}"
