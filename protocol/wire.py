"""How messages are written and read: JSON text over a WebSocket, JSON bodies over REST.

What a client sent is read strictly, and whatever is wrong with it becomes an `InvalidRequest`. What a server
sent is read by `protocol.server_message`. Keys and their order are those of the contract's examples.
"""

from __future__ import annotations

import binascii
import json
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from protocol.errors import InvalidRequest
from protocol.limits import MAX_CONFIG_BYTES
from protocol.messages import Message, SessionConfig, describe_invalid
from protocol.redaction import mask_credentials

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol.errors import SessionError
    from protocol.messages import Closed, Created, FrameReply

FrameFormat = Literal["binary", "base64"]
FRAME_FORMATS: Final[tuple[FrameFormat, ...]] = ("binary", "base64")
DEFAULT_FRAME_FORMAT: Final[FrameFormat] = "binary"

_LONGEST_MESSAGE = 500
_LONGEST_QUOTE = 60

_M = TypeVar("_M", bound=BaseModel)


class FrameBody(Message):
    """A picture in JSON: a REST frame's body, and a WebSocket frame message without its `op`."""

    image_b64: str
    """Raw base64 of the JPEG or PNG file, without a `data:` prefix."""


class ErrorDetail(Message):
    """What is wrong, in words and as a number."""

    message: str
    code: int


class ErrorBody(Message):
    """The body of every REST error."""

    error: ErrorDetail


# What a server reads.


def read_object(text: str | bytes) -> dict[str, Any]:
    """The JSON object in a message or body.

    Raises:
        InvalidRequest: it is not JSON (NaN and nesting beyond 200 levels are not), or not an object.
    """
    try:
        value = from_json(text, allow_inf_nan=False, cache_strings="none")
    except (ValueError, TypeError) as error:  # TypeError: a str that is not Unicode
        raise InvalidRequest(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidRequest(f"expected a JSON object, not {kind_of(value)}")
    return value


def read_config(text: str | bytes) -> SessionConfig:
    """What a session is to be opened with, from the body of a REST request.

    Raises:
        InvalidRequest: it is not JSON, or a field is missing or wrong.
    """
    if len(text) > MAX_CONFIG_BYTES:
        raise InvalidRequest(
            f"a configuration of {len(text):,} bytes is over the limit of {MAX_CONFIG_BYTES:,}"
        )
    return _validated(SessionConfig, read_object(text))


def read_create(text: str) -> tuple[SessionConfig, FrameFormat]:
    """The first message of a WebSocket connection; its `op` may be missing.

    Raises:
        InvalidRequest: it is not JSON, not a `create`, or a field is missing or wrong.
    """
    if len(text) > MAX_CONFIG_BYTES:
        raise InvalidRequest(
            f"a first message of {len(text):,} bytes is over the limit of {MAX_CONFIG_BYTES:,}"
        )
    message = read_object(text)
    op = message.get("op", "create")
    if op != "create":
        raise InvalidRequest(f"the first message must be 'create', not {quoted(op)}")
    frame_format = message.get("frame_format", DEFAULT_FRAME_FORMAT)
    if frame_format not in FRAME_FORMATS:
        raise InvalidRequest(f"frame_format: expected 'binary' or 'base64', not {quoted(frame_format)}")
    return _validated(SessionConfig, message), frame_format


def read_frame(message: Mapping[str, Any]) -> str:
    """The base64 of the picture in a frame message or body.

    Raises:
        InvalidRequest: there is none.
    """
    image = message.get("image_b64")
    if not isinstance(image, str):
        found = f", not {kind_of(image)}" if "image_b64" in message else ", which is missing"
        raise InvalidRequest(f"a frame needs the raw base64 of a JPEG or PNG file as 'image_b64'{found}")
    return image


# What a server writes.


def created_text(created: Created, frame_format: FrameFormat) -> str:
    """`created` over a WebSocket."""
    return _text({"op": "created", **created.model_dump(), "frame_format": frame_format})


def frame_text(reply: FrameReply) -> str:
    """A frame's reply over a WebSocket."""
    return _text({"op": "frame", **reply.model_dump()})


def closed_text(closed: Closed) -> str:
    """The answer to `delete` over a WebSocket."""
    return _text({"op": "closed", **closed.model_dump()})


def error_text(error: SessionError, *, fatal: bool) -> str:
    """An error over a WebSocket."""
    return _text({"op": "error", "message": error_message(error), "code": error.code, "fatal": fatal})


def error_body(error: SessionError) -> dict[str, Any]:
    """An error over REST, to be sent with the status `error.code`."""
    return {"error": {"message": error_message(error), "code": error.code}}


def error_message(error: Exception) -> str:
    """One line for the other side: no credentials, no control characters, at most 500 characters."""
    return one_line(mask_credentials(str(error))) or type(error).__name__


def quoted(value: object) -> str:
    """What a client sent, short enough to be repeated to it."""
    if isinstance(value, dict | list):
        return kind_of(value)
    text = repr(value[:_LONGEST_QUOTE] if isinstance(value, str) else value)
    return text if len(text) <= _LONGEST_QUOTE + 2 else f"{text[:_LONGEST_QUOTE]}…"


# What a client writes.

DELETE_TEXT: Final = '{"op":"delete"}'
"""`delete` over a WebSocket."""


def create_text(config: SessionConfig, frame_format: FrameFormat) -> str:
    """`create` over a WebSocket."""
    return _text({"op": "create", "frame_format": frame_format, **config_body(config)})


def config_body(config: SessionConfig) -> dict[str, Any]:
    """The body of a REST request to create a session.

    Fields that were left unset are left out, for the server's own defaults to apply. A retention is sent
    whole: a server takes one without `max_video_segments` for 30 frames.
    """
    body = config.model_dump(exclude_unset=True, exclude_none=True)
    if config.retention is not None:
        body["retention"] = config.retention.model_dump(exclude_none=True)
    return body


def image_text(image: bytes) -> str:
    """A picture over a WebSocket whose `frame_format` is base64."""
    return f'{{"op":"frame","image_b64":"{_base64(image)}"}}'


def image_body(image: bytes) -> str:
    """A picture as the JSON body of a REST request."""
    return f'{{"image_b64":"{_base64(image)}"}}'


def _validated(model: type[_M], message: dict[str, Any]) -> _M:
    try:
        return model.model_validate(message)
    except ValidationError as error:
        raise InvalidRequest(one_line(describe_invalid(error))) from error


def _text(message: Mapping[str, Any]) -> str:
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A lone surrogate has no place in UTF-8, and a model's text may hold anything.
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def one_line(text: str) -> str:
    """The beginning of `text` as one line of printable characters, at most 500 of them."""
    start = text[: 4 * _LONGEST_MESSAGE]
    line = " ".join("".join(char if char.isprintable() else " " for char in start).split())
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[:_LONGEST_MESSAGE]}…"


def kind_of(value: object) -> str:
    """What JSON calls it."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"


def _base64(image: bytes) -> str:
    return binascii.b2a_base64(image, newline=False).decode("ascii")
