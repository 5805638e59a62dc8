"""Fields, defaults and rules of the session messages, as NVIDIA's streaming API gives them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from protocol.messages import (
    SERVER_RETENTION,
    Closed,
    FrameReply,
    Retention,
    Sampling,
    SessionConfig,
    describe_invalid,
)


def test_session_defaults() -> None:
    config = SessionConfig(system_prompt="Describe.")
    assert config.model_dump() == {
        "system_prompt": "Describe.",
        "question": "",
        "fps": 1.0,
        "model": None,
        "retention": None,
        "sampling": {
            "max_tokens": 24,
            "temperature": 0.3,
            "top_p": 0.9,
            "repetition_penalty": 1.1,
            "frequency_penalty": 0.0,
            "guided_json": None,
            "guided_choice": None,
            "guided_regex": None,
        },
    }


def test_a_supplied_retention_object_is_not_merged_with_the_servers() -> None:
    assert SERVER_RETENTION.max_video_segments == 8
    assert Retention.model_validate({}).max_video_segments == 30
    assert Retention.model_validate({"max_video_segments": 4}).model_dump() == {
        "max_video_segments": 4,
        "max_text_tokens": None,
        "max_session_tokens": 7000,
        "eviction_policy": "sliding_window",
        "reprefill_threshold": 0.7,
    }


def test_unknown_fields_are_ignored() -> None:
    config = SessionConfig.model_validate(
        {"op": "create", "system_prompt": "x", "new": 1, "retention": {"new": 2}, "sampling": {"new": 3}}
    )
    assert "new" not in config.model_dump_json()


def test_system_prompt_is_required() -> None:
    with pytest.raises(ValidationError, match="system_prompt"):
        SessionConfig.model_validate({"question": "What?"})


@pytest.mark.parametrize(
    "fields",
    [
        {"max_video_segments": 0},
        {"max_video_segments": 2**31},
        {"max_text_tokens": 10**30, "max_session_tokens": 10**30},
        {"max_session_tokens": 10**400},
        {"max_text_tokens": 0},
        {"max_text_tokens": 7001},
        {"max_text_tokens": 2000, "max_session_tokens": 1999},
        {"max_session_tokens": 1023},
        {"max_session_tokens": None},
        {"eviction_policy": "fifo"},
        {"reprefill_threshold": 0},
        {"reprefill_threshold": 1},
        {"reprefill_threshold": -0.5},
        {"reprefill_threshold": float("nan")},
    ],
)
def test_retention_refuses(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Retention.model_validate(fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"max_video_segments": 1},
        {"max_text_tokens": 1},
        {"max_text_tokens": 7000},
        {"max_session_tokens": 1024},
        {"reprefill_threshold": 0.0001},
        {"reprefill_threshold": 0.9999},
    ],
)
def test_retention_takes_the_edges(fields: dict[str, object]) -> None:
    Retention.model_validate(fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": 0},
        {"max_tokens": 10**30},
        {"temperature": -0.1},
        {"temperature": float("inf")},
        {"top_p": 0},
        {"top_p": 1.01},
        {"repetition_penalty": 0},
        {"frequency_penalty": 2.5},
        {"guided_choice": []},
        {"guided_regex": "("},
        {"guided_choice": ["a"], "guided_regex": "a"},
        {"guided_json": {}, "guided_choice": ["a"]},
    ],
)
def test_sampling_refuses(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Sampling.model_validate(fields)


def test_sampling_names_its_guide() -> None:
    assert Sampling().guide is None
    assert Sampling(guided_choice=["clear", "hazard"]).guide == "guided_choice"
    assert Sampling(guided_json={"type": "object"}).guide == "guided_json"


def test_reply_and_closed_have_the_documented_shape() -> None:
    reply = json.loads(FrameReply(frame_index=0, text="A person.", token_count=2).model_dump_json())
    assert reply == {
        "frame_index": 0,
        "text": "A person.",
        "finish_reason": "stop",
        "token_count": 2,
        "ttft_s": None,
        "latency_s": None,
        "decode_ms": None,
        "build_ms": None,
        "engine_ms": None,
        "inqueue_ms": None,
    }
    assert Closed(session_id="s", frames=2).model_dump() == {"session_id": "s", "frames": 2, "closed": True}


def test_an_invalid_message_is_described_in_one_line() -> None:
    with pytest.raises(ValidationError) as caught:
        SessionConfig.model_validate(
            {"system_prompt": "x", "fps": 0, "retention": {"max_text_tokens": 9000}, "sampling": {"top_p": 7}}
        )
    line = describe_invalid(caught.value)
    assert "\n" not in line
    assert "fps: " in line
    assert "sampling.top_p: " in line
    assert "(got 7)" in line
    assert "max_text_tokens (9000) must not exceed max_session_tokens (7000)" in line


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: (
    st.lists(inner) | st.dictionaries(st.sampled_from([*SessionConfig.model_fields, *Retention.model_fields,
                                                       *Sampling.model_fields, "x"]), inner)
)))  # fmt: skip
def test_whatever_arrives_is_taken_or_refused(message: object) -> None:
    try:
        config = SessionConfig.model_validate(message)
    except ValidationError as error:
        line = describe_invalid(error)
    else:
        assert SessionConfig.model_validate_json(config.model_dump_json()) == config
        return
    assert line
