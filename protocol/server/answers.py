"""Errors as the server answers them, and as OpenAPI documents them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from starlette.responses import JSONResponse

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


def refusal(code: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An error that is not the session protocol's own, in its shape all the same."""
    return JSONResponse({"error": {"message": message, "code": code}}, code, headers)


def answer_error(error: SessionError) -> JSONResponse:
    """An error of the session protocol."""
    return JSONResponse(error_body(error), error.code)


def errors(*codes: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of these statuses."""
    return {
        code: {
            "model": ErrorBody,
            "description": MEANINGS[code],
            "content": {
                "application/json": {"example": {"error": {"message": f"{MEANINGS[code]}.", "code": code}}}
            },
        }
        for code in codes
    }
