"""Chat completions over HTTP, as OpenAI's API has them."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request, Response

from protocol.errors import NotFound, UnsupportedMedia
from protocol.limits import (
    DEFAULT_CHAT_MAX_TOKENS,
    MAX_CHAT_BODY_BYTES,
    MAX_CHAT_PICTURES,
    MAX_CHAT_PIXELS,
    MAX_FRAME_BYTES,
    MAX_FRAME_PIXELS,
)
from protocol.server.answers import errors, refusal
from protocol.server.body import media_type, read_body
from protocol.server.chat_answer import ChatAnswer, ChatCompletion
from protocol.server.chat_examples import CHAT, CHAT_STREAM, COMPLETION
from protocol.server.chat_flight import ChatFlight
from protocol.server.chat_host import ChatHost
from protocol.server.chat_request import ChatRequest, read_chat
from protocol.server.event_stream import MEDIA_TYPE, EventStream
from protocol.server.leaving import unless_gone
from protocol.server.metrics import Metrics
from protocol.server.openapi import JSON, inlined_schema
from protocol.server.readiness import Readiness
from protocol.wire import quoted

PATH: Final = "/v1/chat/completions"
TRANSPORT: Final = "chat"

_DESCRIPTION: Final = f"""
Answers a conversation; nothing of it is kept. With `stream: true` the answer comes as server-sent events.

**Pictures** are JPEG or PNG, told by their content, in `data:` URLs of user messages: at most
{MAX_CHAT_PICTURES} of them, each of at most {MAX_FRAME_BYTES:,} bytes and {MAX_FRAME_PIXELS:,} pixels,
{MAX_CHAT_PIXELS:,} pixels together, in a body of at most {MAX_CHAT_BODY_BYTES:,} bytes. A server started
with `--allow-image-urls` also fetches http(s) URLs, from the public internet only and without following
redirects.

**The lite engine** has no language model. It describes the last picture in one sentence, whatever the words
say; without a picture it answers 400, and to a field that constrains the answer as well.

**Defaults** are OpenAI's, but for `max_tokens`, which is {DEFAULT_CHAT_MAX_TOKENS}.

**Not supported**, and answered 400 where they would change the answer: `n` over 1, tools and functions,
`logprobs`, `logit_bias`, `presence_penalty`, `seed` (unless `temperature` is 0), audio, and
vLLM's other sampling fields. Fields that change nothing (`user`, `metadata`, `store`, `detail`) are ignored.
"""


def chat_routes(host: ChatHost | None, readiness: Readiness, metrics: Metrics) -> APIRouter:
    """The one route; without a `host` it answers 501."""
    routes = APIRouter(tags=["chat"])

    @routes.post(
        PATH,
        summary="Answer a conversation with pictures in it",
        description=_DESCRIPTION,
        response_model=ChatCompletion,
        responses={
            200: {
                "description": "The answer; a stream of `chat.completion.chunk` where that was asked for",
                "content": {
                    JSON: {"example": COMPLETION},
                    MEDIA_TYPE: {"schema": {"type": "string"}, "example": CHAT_STREAM},
                },
            },
            **errors(400, 401, 403, 404, 413, 415, 500, 501, 503, openai=True),
        },
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {JSON: {"schema": inlined_schema(ChatRequest), "example": CHAT}},
            }
        },
    )
    async def complete(request: Request) -> Response:
        if host is None:
            return refusal(501, "this server answers no chat completions", PATH)
        flight, answer, stream, include_usage = await begin(host, request)
        try:
            if not stream:
                async with flight:
                    whole = await unless_gone(request.receive, answer.whole(flight))
                return Response(whole.model_dump_json(), media_type=JSON)
            first = await unless_gone(request.receive, flight.next())
        except BaseException:
            flight.give_up()
            raise
        # From here on the status is 200, and an error is an event.
        return EventStream(flight, answer.events(flight, first, include_usage=include_usage), metrics.error)

    async def begin(host: ChatHost, request: Request) -> tuple[ChatFlight, ChatAnswer, bool, bool]:
        """The flight and its form. What was asked, base64 and all, is not kept beyond this."""
        served = readiness.require()
        host.require_room()  # before the body is read: it is large
        if media_type(request) != JSON:
            raise UnsupportedMedia(f"a chat completion is {JSON}", hint=f"send Content-Type: {JSON}")
        body = await read_body(
            request, MAX_CHAT_BODY_BYTES, "a chat completion", hint="send smaller pictures"
        )
        metrics.received(TRANSPORT, len(body))
        asked = read_chat(body)
        if asked.model not in (None, served.model):
            raise NotFound(f"no model {quoted(asked.model)} here", hint=f"this server has {served.model!r}")
        readiness.require()
        flight = host.complete(asked.messages, asked.sampling(), stops=asked.stops)
        return flight, ChatAnswer(served.model), bool(asked.stream), asked.include_usage

    return routes
