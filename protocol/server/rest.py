"""Sessions over REST: create, send frames, delete."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from protocol.errors import InvalidRequest, SessionError, UnsupportedMedia
from protocol.host import Refused, SessionHost
from protocol.limits import MAX_CONFIG_BYTES, MAX_FRAME_BYTES, MAX_JSON_BODY_BYTES
from protocol.messages import Closed, Created, FrameReply, Sampling, SessionConfig
from protocol.server.answers import answer_error, errors, refusal
from protocol.server.body import media_type, read_body
from protocol.server.examples import CLOSED, CONFIG, CREATED, CREATION, IMAGE_BODY, REPLY
from protocol.server.metrics import Metrics
from protocol.server.openapi import JSON, example, inlined_schema
from protocol.server.readiness import Readiness
from protocol.server.service import StreamingConfig
from protocol.server.settings import ServerSettings
from protocol.wire import FrameBody, read_config, read_frame, read_object

PICTURES: Final = ("image/jpeg", "image/png")
SMALLER: Final = "resize the picture or encode it smaller"
TRANSPORT: Final = "rest"


def rest_routes(
    host: SessionHost | None, readiness: Readiness, metrics: Metrics, settings: ServerSettings
) -> APIRouter:
    """The streaming routes that take a request and give an answer."""
    routes = APIRouter(prefix="/v1/streaming", tags=["streaming"])

    @routes.get(
        "/config",
        summary="Model, and what a session that names nothing gets",
        responses={**example(200, CONFIG), **errors(401, 403, 501, 503)},
    )
    async def config() -> StreamingConfig:
        _sessions(host)
        served = readiness.require()
        retention = readiness.retention or served.retention
        return StreamingConfig(model=served.model, retention=retention, sampling=Sampling())

    @routes.post(
        "/sessions",
        summary="Open a session",
        status_code=201,
        response_model=Created,
        responses={**example(201, CREATED), **errors(400, 401, 403, 404, 413, 415, 500, 501, 503)},
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {JSON: {"schema": inlined_schema(SessionConfig), "example": CREATION}},
            }
        },
    )
    async def create(request: Request) -> Response:
        sessions = _sessions(host)
        if media_type(request) != JSON:
            raise UnsupportedMedia(f"a session is opened with {JSON}", hint=f"send Content-Type: {JSON}")
        body = await read_body(request, MAX_CONFIG_BYTES, "the configuration")
        metrics.received(TRANSPORT, len(body))
        wanted = readiness.admit(read_config(body))
        outcome = await sessions.open(wanted, idle_timeout_s=settings.rest_idle_timeout_s)
        if isinstance(outcome, Refused):
            return answer_error(outcome.error)
        return _answer(outcome, 201)

    @routes.post(
        "/sessions/{session_id}/frame",
        summary="Send one picture and wait for its caption",
        response_model=FrameReply,
        responses={**example(200, REPLY), **errors(400, 401, 403, 404, 409, 413, 415, 500, 501, 503)},
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {
                    JSON: {"schema": inlined_schema(FrameBody), "example": IMAGE_BODY},
                    **{each: {"schema": {"type": "string", "format": "binary"}} for each in PICTURES},
                },
            }
        },
    )
    async def frame(session_id: str, request: Request) -> Response:
        sessions = _sessions(host)
        image = await _read_image(request, metrics)
        outcome = await sessions.frame(session_id, image)
        if not isinstance(outcome, FrameReply):
            return answer_error(outcome.error)
        return _answer(outcome)

    @routes.delete(
        "/sessions/{session_id}",
        summary="Close a session",
        response_model=Closed,
        responses={**example(200, CLOSED), **errors(401, 403, 404, 501, 503)},
    )
    async def delete(session_id: str) -> Response:
        outcome = await _sessions(host).close(session_id)
        return _answer(outcome) if isinstance(outcome, Closed) else answer_error(outcome.error)

    return routes


class NoSessions(Exception):
    """The server has streaming routes, and nothing behind them (501)."""


def answer_no_sessions(_request: Request, _error: Exception) -> Response:
    """The answer to `NoSessions`."""
    return refusal(501, "this server offers no streaming sessions")


def answer_session_error(request: Request, error: Exception) -> Response:
    """The answer to a `SessionError` that a handler raised."""
    assert isinstance(error, SessionError)
    return answer_error(error, request.scope["path"])


def _sessions(host: SessionHost | None) -> SessionHost:
    if host is None:
        raise NoSessions
    return host


async def _read_image(request: Request, metrics: Metrics) -> bytes | str:
    """The picture in a request: a file's bytes, or their base64.

    Raises:
        UnsupportedMedia: it is declared to be neither JSON nor a picture of a kind we take.
        FrameTooLarge: it is over its limit.
        InvalidRequest: it is empty, or JSON without a picture.
    """
    kind = media_type(request)
    if kind in PICTURES:
        body = await read_body(request, MAX_FRAME_BYTES, "the picture", hint=SMALLER)
    elif kind == JSON:
        body = await read_body(request, MAX_JSON_BODY_BYTES, "the frame's JSON", hint=SMALLER)
    else:
        said = f"not {kind}" if kind else "and the request does not say what it is"
        raise UnsupportedMedia(
            f"a frame is {JSON}, {' or '.join(PICTURES)}, {said}", hint="send it with its Content-Type"
        )
    metrics.received(TRANSPORT, len(body))
    if not body:
        raise InvalidRequest("the request has no body")
    return read_frame(read_object(body)) if kind == JSON else body


def _answer(body: BaseModel, status: int = 200) -> Response:
    return Response(body.model_dump_json(), status_code=status, media_type=JSON)
