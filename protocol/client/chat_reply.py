"""What a server of chat completions answers, as chunks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from protocol.chat_server import Chunk, Usage
from protocol.errors import EngineFailure
from protocol.server_message import read_error
from protocol.wire import quoted

if TYPE_CHECKING:
    from protocol.client.event_stream import Event

DONE = "[DONE]"
"""The data of a stream's last event."""


def read_event(event: Event) -> Chunk | None:
    """The chunk in an event; None if there is nothing of a reply in it.

    Raises:
        EngineFailure: it is an error, or makes no sense.
    """
    body = _object(event.data)
    if event.type == "error" or body.get("error"):
        raise EngineFailure(f"it failed in mid-answer: {read_error(500, event.data).message}")
    return _chunk(body, "delta")


def read_whole(body: bytes) -> Chunk:
    """The reply of a server that does not stream.

    Raises:
        EngineFailure: it is an error, or makes no sense.
    """
    found = _object(body.decode("utf-8", "replace"))
    if found.get("error"):
        raise EngineFailure(f"it failed: {read_error(500, body).message}")
    chunk = _chunk(found, "message")
    if chunk is None or not found.get("choices"):
        raise EngineFailure(f"it answered with JSON that is no reply: {quoted(found)}")
    return chunk


def _chunk(body: dict[str, Any], key: str) -> Chunk | None:
    choices, usage = body.get("choices"), body.get("usage")
    choice = choices[0] if isinstance(choices, list) and choices else None
    counted = _usage(usage) if isinstance(usage, dict) else None
    if not isinstance(choice, dict):
        return Chunk(usage=counted) if counted else None
    said = choice.get(key)
    said = said if isinstance(said, dict) else {}
    finish = choice.get("finish_reason")
    return Chunk(
        text=_text(said.get("content")),
        finish_reason=finish if isinstance(finish, str) and finish else None,
        usage=counted,
        thought=bool(said.get("reasoning_content") or said.get("reasoning")),
    )


def _text(content: object) -> str:
    if isinstance(content, list):  # parts, as messages have them
        texts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _usage(given: dict[str, Any]) -> Usage | None:
    details = given.get("prompt_tokens_details")
    usage = Usage(
        prompt_tokens=_count(given.get("prompt_tokens")),
        completion_tokens=_count(given.get("completion_tokens")),
        cached_tokens=_count(details.get("cached_tokens")) if isinstance(details, dict) else None,
    )
    # A server that counts nothing may say 0: no prompt is empty.
    return usage if usage.prompt_tokens or usage.completion_tokens else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EngineFailure(f"it sent what is not JSON: {quoted(text)}") from error
    if not isinstance(value, dict):
        raise EngineFailure(f"it sent {quoted(value)} where a JSON object was expected")
    return value
