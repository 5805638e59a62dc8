"""Bodies of requests, and what gives way when a server does not take it."""

import json
from typing import Any

import pytest

from engine.openai.options import OpenAIOptions
from engine.openai.requests import ChatRequests
from protocol.errors import FrameRefused
from protocol.messages import Sampling

PLAIN = Sampling(repetition_penalty=1)


def requests(owner: str = "", **options: Any) -> tuple[ChatRequests, list[str]]:
    said: list[str] = []
    return ChatRequests("m", owner, OpenAIOptions(**options), said.append), said


def fields(asked: ChatRequests, sampling: Sampling = PLAIN) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(asked.body([b'{"role":"user"}', b'{"role":"assistant"}'], sampling))
    assert body.pop("messages") == [{"role": "user"}, {"role": "assistant"}]
    return body


def test_a_plain_request() -> None:
    assert fields(requests()[0]) == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 24,
        "temperature": 0.3,
        "top_p": 0.9,
    }


def test_what_was_asked_for_is_there() -> None:
    asked, _ = requests("llamacpp", seed=7, extra_body={"top_k": 20, "top_p": 0.5, "é": [1]})
    found = fields(asked, Sampling(frequency_penalty=0.5, repetition_penalty=1.2))
    assert (found["frequency_penalty"], found["repeat_penalty"], found["seed"]) == (0.5, 1.2, 7)
    assert (found["top_k"], found["top_p"], found["é"]) == (20, 0.5, [1])


def test_a_wrapped_reply_has_room_for_its_wrapping() -> None:
    asked, _ = requests()
    choice = Sampling(guided_choice=["a"])
    assert fields(asked, choice)["max_tokens"] == 24 + 16
    assert asked.guide(choice).wrapped
    assert not asked.guide(PLAIN).wrapped


@pytest.mark.parametrize(
    ("said", "field", "warned"),
    [
        ("Unrecognized request argument supplied: repetition_penalty", "repetition_penalty", True),
        ("body.repetition_penalty: Extra inputs are not permitted", "repetition_penalty", True),
        ("Unsupported value: 'temperature' does not support 0.3 with this model.", "temperature", True),
        ("unknown field stream_options", "stream_options", False),
        ("'response_format' is not supported by this model", "response_format", True),
        ("seed is not supported", "seed", True),
    ],
)
def test_what_the_server_does_not_take_is_left_out_from_then_on(said: str, field: str, warned: bool) -> None:
    asked, warnings = requests(seed=1)
    sampling = Sampling(guided_json={"type": "object"}, repetition_penalty=1.3)
    assert field in fields(asked, sampling)
    revision = asked.revision
    assert asked.give_way(FrameRefused(said, code=400), sampling)
    assert asked.revision == revision + 1
    assert field not in fields(asked, sampling)
    assert not asked.give_way(FrameRefused(said, code=400), sampling)
    assert bool(warnings) == warned
    assert all(field in warning for warning in warnings)


def test_the_usual_repetition_penalty_is_left_out_without_a_word() -> None:
    asked, warnings = requests()
    refusal = FrameRefused("Unrecognized request argument supplied: repetition_penalty", code=400)
    assert asked.give_way(refusal, Sampling())
    assert warnings == []


def test_newer_models_of_openai_have_another_name_for_the_limit() -> None:
    asked, warnings = requests()
    said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'"
    assert asked.give_way(FrameRefused(said, code=400), PLAIN)
    found = fields(asked)
    assert found["max_completion_tokens"] == 24
    assert "max_tokens" not in found
    assert not asked.give_way(FrameRefused(said, code=400), PLAIN)
    assert warnings == []


def test_nothing_else_gives_way() -> None:
    asked, _ = requests(extra_body={"top_p": 0.5})
    for said in (
        "the picture is too large",
        "temperature must be between 0 and 2",
        "unsupported image",
        "top_p is not supported",  # what a person asked for by name stays
        "'max_tokens' is too large: 500. This model's maximum context length is 400 tokens",
    ):
        assert not asked.give_way(FrameRefused(said, code=400), PLAIN)


def test_a_guide_that_is_not_taken_leaves_replies_as_they_are() -> None:
    asked, warnings = requests()
    choice = Sampling(guided_choice=["a"])
    assert asked.give_way(FrameRefused("response_format is not supported", code=400), choice)
    assert not asked.guide(choice).wrapped
    assert fields(asked, choice)["max_tokens"] == 24
    assert warnings == ["the server takes no response_format: replies are not guided"]
