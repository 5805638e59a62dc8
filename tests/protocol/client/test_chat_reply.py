"""What servers answer, sense and nonsense."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.chat_server import Chunk, Usage
from protocol.client.chat_reply import read_event, read_whole
from protocol.client.event_stream import Event
from protocol.errors import EngineFailure

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "message",
                    "content",
                    "text",
                    "usage",
                    "prompt_tokens",
                    "error",
                    "finish_reason",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def event(body: object, kind: str = "message") -> Event:
    return Event(json.dumps(body), kind)


@given(JSON, st.sampled_from(["message", "error"]))
def test_anything_is_a_chunk_or_a_failure(body: object, kind: str) -> None:
    with suppress(EngineFailure):
        chunk = read_event(event(body, kind))
        assert chunk is None or isinstance(chunk.text, str)
    with suppress(EngineFailure):
        assert isinstance(read_whole(json.dumps(body).encode()), Chunk)


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 2}, Usage(5, 2)),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3}}, Usage(5, None, 3)),
        ({"prompt_tokens": 5, "prompt_tokens_details": None}, Usage(5)),
        ({"prompt_tokens": "5", "completion_tokens": 2}, Usage(None, 2)),
        ({"prompt_tokens": True, "completion_tokens": -1}, None),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({}, None),
    ],
)
def test_counts(usage: dict[str, object], found: Usage | None) -> None:
    chunk = read_event(event({"choices": [], "usage": usage}))
    assert (chunk.usage if chunk else None) == found


def test_thinking_is_no_part_of_the_reply() -> None:
    for field in ("reasoning", "reasoning_content"):
        chunk = read_event(event({"choices": [{"delta": {field: "Hm.", "content": None}}]}))
        assert chunk == Chunk(thought=True)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (event({"error": {"message": "no memory"}}), "it failed in mid-answer: no memory"),
        (event({"error": "no memory"}), "it failed in mid-answer: no memory"),
        (event({"message": "no memory"}, "error"), "it failed in mid-answer: no memory"),
        (Event("[" * 100_000), "what is not JSON"),
        (event(None), "where a JSON object was expected"),
    ],
)
def test_failures(found: Event, said: str) -> None:
    with pytest.raises(EngineFailure, match=said):
        read_event(found)
