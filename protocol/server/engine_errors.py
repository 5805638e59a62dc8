"""What an engine raises, in the protocol's words."""

from __future__ import annotations

import logging

from protocol.errors import (
    EngineError,
    EngineFailure,
    FrameRefused,
    FrameTooLarge,
    InputError,
    InvalidRequest,
    SessionError,
    SessionLost,
    StreamError,
    Unavailable,
)

_log = logging.getLogger(__name__)

_REFUSED: dict[int | None, type[SessionError]] = {400: InvalidRequest, 413: FrameTooLarge}


def is_engine_lost(error: Exception) -> bool:
    """Whether the engine is gone, for every session and for good."""
    return isinstance(error, EngineError) and not isinstance(error, SessionLost)


def open_error(error: Exception) -> SessionError:
    """Why a session is not admitted."""
    match error:
        case SessionError():
            return error
        case StreamError():
            return Unavailable(f"the engine cannot open a session: {error.message}", hint=error.hint)
        case _:
            return _unforeseen("the engine failed to open a session", error)


def frame_error(error: Exception) -> SessionError:
    """Why a frame is not answered; its kind says whether the session goes on, as in `Session.caption`."""
    match error:
        case SessionError():
            return error
        case InputError():  # the picture, as the engine found it
            return InvalidRequest(error.message, hint=error.hint)
        case FrameRefused():  # by a server behind the engine; the next frame may be sent
            return _REFUSED.get(error.code, Unavailable)(error.message, hint=error.hint)
        case StreamError():
            return EngineFailure(error.message, hint=error.hint)
        case _:
            return _unforeseen("the engine failed", error)


def _unforeseen(what: str, error: Exception) -> SessionError:
    reason = str(error) or type(error).__name__
    _log.error("%s: %s", what, reason, exc_info=error if _log.isEnabledFor(logging.DEBUG) else None)
    return EngineFailure(f"{what}: {reason}")


def engine_gone(reason: str) -> Unavailable:
    """Nothing is admitted, since the engine is lost for good."""
    return Unavailable(f"the engine is gone: {reason}", hint="restart the server")


def shutting_down() -> Unavailable:
    """Nothing is admitted any more, and what is under way ends."""
    return Unavailable("the server is shutting down", hint="use another, or try again later")
