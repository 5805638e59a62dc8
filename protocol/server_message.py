"""What a server says, as a client reads it.

Reading is lenient: fields that are unknown or make no sense are left at their defaults, so that other
servers, and newer ones, are understood. What cannot be understood at all is an `EngineFailure`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from protocol.errors import (
    Conflict,
    EngineFailure,
    FrameTooLarge,
    InvalidRequest,
    NotFound,
    SessionError,
    Unavailable,
    UnsupportedMedia,
)
from protocol.limits import DEFAULT_FPS
from protocol.messages import SERVER_RETENTION, Closed, Created, FrameReply, Retention, describe_invalid
from protocol.wire import DEFAULT_FRAME_FORMAT, FrameFormat, kind_of, one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

_M = TypeVar("_M", bound=BaseModel)


class SessionCreated(Created):
    """`created` over a WebSocket: a session was admitted, and takes frames in this format."""

    frame_format: FrameFormat = DEFAULT_FRAME_FORMAT


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """`error` over a WebSocket. Fatal ones are the last message."""

    error: SessionError
    fatal: bool


ServerMessage = SessionCreated | FrameReply | Closed | ErrorMessage


def read_server_message(text: str | bytes) -> ServerMessage:
    """A message of the server over a WebSocket.

    Raises:
        EngineFailure: it cannot be understood.
    """
    message = _server_object(text)
    match message.get("op"):
        case "created":
            return _lenient(SessionCreated, message, fps=DEFAULT_FPS, retention=SERVER_RETENTION)
        case "frame":
            return _lenient(FrameReply, message, token_count=0)
        case "closed":
            return _lenient(Closed, message, frames=0)
        case "error":
            error = session_error(message.get("code"), _said(message) or "no reason given")
            return ErrorMessage(error, fatal=message.get("fatal") is True)
        case op:
            raise EngineFailure(f"the server sent a message of an unknown kind: {quoted(op)}")


def read_created(body: str | bytes) -> Created:
    """The body of REST's answer to creating a session.

    Raises:
        EngineFailure: it cannot be understood.
    """
    return _lenient(Created, _server_object(body), fps=DEFAULT_FPS, retention=SERVER_RETENTION)


def read_reply(body: str | bytes) -> FrameReply:
    """The body of REST's answer to a frame.

    Raises:
        EngineFailure: it cannot be understood.
    """
    return _lenient(FrameReply, _server_object(body), token_count=0)


def read_closed(body: str | bytes) -> Closed:
    """The body of REST's answer to deleting a session.

    Raises:
        EngineFailure: it cannot be understood.
    """
    return _lenient(Closed, _server_object(body), frames=0)


def read_error(status: int, body: str | bytes) -> SessionError:
    """What went wrong, from a REST error: the protocol's shape, those of other servers, or any text."""
    try:
        said = _said(_server_object(body))
    except EngineFailure:
        text = body if isinstance(body, str) else body.decode("utf-8", "replace")
        # A proxy's page says less than its status.
        said = "" if text.lstrip().startswith("<") else one_line(text)
    return session_error(status, said or f"HTTP status {status} without a reason")


def session_error(code: object, message: str) -> SessionError:
    """The error that has this code; InvalidRequest or EngineFailure where it is none of the protocol's."""
    number = next((known for known in range(400, 600) if code in (known, str(known))), 0)
    if number in _ERRORS:
        return _ERRORS[number](message)
    kind = InvalidRequest if 400 <= number < 500 else EngineFailure
    return kind(f"{message} (code {quoted(code)})")


_ERRORS: dict[int, type[SessionError]] = {
    error.code: error
    for error in (
        InvalidRequest, NotFound, Conflict, FrameTooLarge, UnsupportedMedia, EngineFailure, Unavailable,
    )
}  # fmt: skip


def _server_object(text: str | bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)  # takes NaN, which some servers write
    except (ValueError, RecursionError) as error:
        raise EngineFailure(f"the server sent what is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise EngineFailure(f"the server sent {kind_of(value)} where a JSON object was expected")
    return value


def _lenient(model: type[_M], message: Mapping[str, Any], **defaults: Any) -> _M:
    """`message` as a `model`; a field that is missing or wrong has its default, if there is one."""
    fields = {**defaults, **message}
    if isinstance(fields.get("retention"), dict):
        fields["retention"] = _retention(fields["retention"])
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        wrong = {item["loc"][0] for item in error.errors(include_url=False) if item["loc"]}
    kept = {name: value for name, value in fields.items() if name not in wrong}
    try:
        return model.model_validate({**defaults, **kept})
    except ValidationError as error:
        reason = one_line(describe_invalid(error))
        raise EngineFailure(f"the server's reply makes no sense: {reason}") from error


def _retention(given: Mapping[str, Any]) -> Retention:
    try:
        return _lenient(Retention, given)
    except EngineFailure:  # the fields contradict each other
        return SERVER_RETENTION


def _said(message: Mapping[str, Any]) -> str:
    """The words of an error, wherever its server puts them."""
    for key in ("error", "message", "detail"):
        value = message.get(key)
        if isinstance(value, dict):
            return _said(value)
        if value:
            return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return ""
