"""Errors as the server answers them, and as OpenAPI documents them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from starlette.responses import JSONResponse

from protocol.messages import Message
from protocol.wire import ErrorBody, error_body

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol.errors import SessionError

MEANINGS: Final = {
    400: "The configuration, picture or message is invalid",
    401: "The API key is missing or wrong",
    403: "The server does not go by the name in Host, or pages of this Origin may not use it",
    404: "The model or session is unknown, or the session expired",
    405: "The route takes another method",
    409: "Another frame of the session is in flight, or the session is no longer usable",
    413: "The body or picture is too large",
    415: "The body is neither JSON nor, for a frame, a JPEG or PNG picture",
    500: "The engine or the server failed",
    501: "The server has streaming routes, and no streaming sessions behind them",
    503: "Loading, full, or shutting down",
}
OPENAI_PATHS: Final = ("/v1/chat/", "/v1/models")
"""Where errors have what the clients of OpenAI's API read besides."""


class OpenAIErrorDetail(Message):
    """What is wrong, in words, as a kind, and as a number."""

    message: str
    type: str
    param: str | None = None
    code: int


class OpenAIErrorBody(Message):
    """The body of every error on the routes of OpenAI's API; that of the other routes is a part of it."""

    error: OpenAIErrorDetail


def refusal(
    code: int, message: str, path: str = "", headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error that is not the session protocol's own, in its shape all the same.

    `path` is the one asked for: OpenAI's have what its clients read besides.
    """
    return _answer({"error": {"message": message, "code": code}}, path, headers)


def answer_error(error: SessionError, path: str = "") -> JSONResponse:
    """An error of the session protocol; `path` as in `refusal`."""
    return _answer(error_body(error), path)


def as_openai(body: dict[str, Any]) -> dict[str, Any]:
    """An error's body with what the clients of OpenAI's API read besides."""
    detail = body["error"]
    kind = _openai_type(detail["code"])
    return {"error": {"message": detail["message"], "type": kind, "param": None, "code": detail["code"]}}


def errors(*codes: int, openai: bool = False) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of these statuses."""
    described: dict[int | str, dict[str, Any]] = {}
    for code in codes:
        example: dict[str, Any] = {"error": {"message": f"{MEANINGS[code]}.", "code": code}}
        described[code] = {
            "model": OpenAIErrorBody if openai else ErrorBody,
            "description": MEANINGS[code],
            "content": {"application/json": {"example": as_openai(example) if openai else example}},
        }
    return described


def _answer(body: dict[str, Any], path: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    shaped = as_openai(body) if path.startswith(OPENAI_PATHS) else body
    return JSONResponse(shaped, body["error"]["code"], headers)


def _openai_type(code: int) -> str:
    """OpenAI's word for the kind of an error; its clients tell errors apart by the status."""
    match code:
        case 401:
            return "authentication_error"
        case 403:
            return "permission_error"
        case _:
            return "invalid_request_error" if code < 500 else "server_error"
