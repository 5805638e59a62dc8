"""Everything that can go wrong, as one tree.

::

    StreamError                      anything this program reports instead of a traceback
    ├── UsageError                   the request contradicts itself or cannot be met by what was asked for
    ├── InputError                   a video or picture cannot be read
    ├── OutputError                  a caption cannot be written (disk full, folder gone, file exists)
    ├── EngineError                  an engine cannot be loaded, or broke
    │   └── SessionLost              the session with a server ended before it was closed
    ├── FrameRefused                 a server did not answer one frame; the next may be sent
    └── SessionError                 the protocol's own errors; each has the protocol's code
        ├── InvalidRequest      400  bad configuration, picture or message
        ├── NotFound            404  unknown model, or a session that is not there (any more)
        ├── Conflict            409  a frame is already in flight, or the session is no longer usable
        ├── FrameTooLarge       413  over 8 MiB or 4,194,304 pixels
        ├── UnsupportedMedia    415  a body that is neither JSON nor a picture we take
        ├── EngineFailure       500  the engine failed while it answered
        └── Unavailable         503  no session slot or encoder capacity left, or still loading

The command line prints an error's one line on stderr and exits with `exit_code`; a server answers with
`code`.
"""

from __future__ import annotations

from typing import ClassVar


class StreamError(Exception):
    """Base of the tree.

    `message` says what is wrong and where, `hint` what to do about it. Each is one line, fit to be printed
    after ``error: ``.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class UsageError(StreamError):
    """What was asked for contradicts itself, or asks an engine for something it cannot do."""

    exit_code = 2


class InputError(StreamError):
    """A video, camera or picture cannot be opened or read."""


class OutputError(StreamError):
    """Captions or frames cannot be written where they were asked for."""


class EngineError(StreamError):
    """An engine is not installed, cannot be loaded, or died."""


class SessionLost(EngineError):
    """A server ended the session, or the connection to it broke; another session may be opened.

    `code` is the one the server gave, None where it gave none.
    """

    def __init__(self, message: str, *, code: int | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


class FrameRefused(StreamError):
    """A server did not answer one frame, and the next may be sent.

    `code` is the one the server gave, None where it gave none. With `session_lost` the next frame begins a
    new session, without the history of this one.
    """

    def __init__(
        self, message: str, *, code: int | None = None, session_lost: bool = False, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.session_lost = session_lost


class SessionError(StreamError):
    """An error of the streaming-session protocol; `code` is the one its tables give (HTTP's numbers)."""

    code: ClassVar[int] = 500


class InvalidRequest(SessionError):
    """The configuration, picture or message is invalid: correct it."""

    exit_code = 2

    code = 400


class NotFound(SessionError):
    """The model is not served here, or the session is unknown, closed or expired."""

    code = 404


class Conflict(SessionError):
    """The session is busy with another frame, or dead for good."""

    code = 409


class FrameTooLarge(SessionError):
    """The picture is over the byte or the pixel limit: resize or re-encode it."""

    code = 413


class UnsupportedMedia(SessionError):
    """The body is neither JSON nor a JPEG or PNG picture."""

    code = 415


class EngineFailure(SessionError):
    """The engine failed while it answered a frame."""

    code = 500


class Unavailable(SessionError):
    """No room for another session now, or the engine is not ready yet."""

    code = 503
