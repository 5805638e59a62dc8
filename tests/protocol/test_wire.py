"""Messages as they stand on the wire, read strictly from clients."""

import json
import random
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import Conflict, InvalidRequest, Unavailable
from protocol.limits import (
    MAX_BASE64_BYTES,
    MAX_CONFIG_BYTES,
    MAX_FRAME_BYTES,
    MAX_JSON_BODY_BYTES,
    MAX_WEBSOCKET_MESSAGE_BYTES,
)
from protocol.messages import (
    SERVER_RETENTION,
    Closed,
    Created,
    FrameReply,
    Retention,
    Sampling,
    SessionConfig,
)
from protocol.wire import (
    DELETE_TEXT,
    ErrorBody,
    closed_text,
    config_body,
    create_text,
    created_text,
    error_body,
    error_text,
    frame_text,
    image_body,
    image_text,
    read_config,
    read_create,
    read_frame,
    read_object,
)

CREATED = Created(session_id="sess-example", model="cosmos", fps=1.0, retention=SERVER_RETENTION)


def refused(text: str | bytes) -> str:
    with pytest.raises(InvalidRequest) as caught:
        read_object(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Reading what a client sent.


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "{", "}", "{}x", "{'a':1}", '{"a":1,}', '{"a":NaN}', '{"a":Infinity}', '{"a":-Infinity}',
        '{"a":"\\ud800"}', '{"a":"\ud800"}', '{"a":01}', '{"a":"\n"}', "\ufeff{}", "\0", "[" * 100_000,
        '{"a":' * 5000 + "1" + "}" * 5000, '{"a":' + "9" * 5000 + "}",
        b"\xff", b'{"a":"\xff"}', b'{"a":"\xed\xa0\x80"}', "{}".encode("utf-16"),
    ],
)  # fmt: skip
def test_what_is_not_json_is_refused(text: str | bytes) -> None:
    assert refused(text).startswith("not JSON: ")


@pytest.mark.parametrize(
    ("text", "kind"),
    [("null", "null"), ("true", "a boolean"), ("1.5", "a number"), ('"{}"', "a string"), ("[{}]", "a list")],
)
def test_what_is_no_object_is_refused(text: str, kind: str) -> None:
    assert refused(text) == f"expected a JSON object, not {kind}"


@given(st.text() | st.binary())
@settings(max_examples=200, deadline=None)
def test_any_text_is_an_object_or_refused(text: str | bytes) -> None:
    try:
        assert isinstance(read_object(text), dict)
    except InvalidRequest:
        with pytest.raises((ValueError, AssertionError)):  # our parser refuses nothing that Python's takes
            assert isinstance(json.loads(text, parse_constant=lambda _: json.loads("")), dict)


def test_a_config_is_read() -> None:
    config = read_config(b'{"system_prompt":"Describe.","fps":2,"unknown":{"a":[1]},"op":"create"}')
    assert config == SessionConfig(system_prompt="Describe.", fps=2.0)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "system_prompt: Field required"),
        ({"system_prompt": None}, "system_prompt"),
        ({"system_prompt": "x", "fps": 0}, "fps: Input should be greater than 0 (got 0)"),
        ({"system_prompt": "x", "retention": {"max_session_tokens": None}}, "retention.max_session_tokens"),
        ({"system_prompt": "x", "sampling": {"max_tokens": 0}}, "sampling.max_tokens"),
        (
            {"system_prompt": "x", "sampling": {"guided_regex": "a", "guided_choice": ["a"]}},
            "at most one of guided_json, guided_choice, guided_regex",
        ),
        ({"system_prompt": "x", "sampling": {"guided_regex": "("}}, "not a regular expression"),
        ({"system_prompt": "x", "sampling": {"guided_regex": "(" * 5000 + ")" * 5000}}, "not a regular expr"),
        ({"system_prompt": "x", "sampling": {"guided_regex": "a" * 10_001}}, "at most 10000 characters"),
        ({"system_prompt": "x", "sampling": {"guided_regex": "a{99999999999}"}}, "not a regular expression"),
    ],
)
def test_a_wrong_config_names_its_field(fields: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_config(json.dumps(fields))
    assert words in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_config_is_bounded() -> None:
    text = json.dumps({"system_prompt": "x" * MAX_CONFIG_BYTES})
    for read in (read_config, read_create):
        with pytest.raises(InvalidRequest, match="over the limit of 1,048,576"):
            read(text)


def test_create_may_lack_op_and_frame_format() -> None:
    assert read_create('{"system_prompt":"x"}') == (SessionConfig(system_prompt="x"), "binary")
    assert read_create('{"op":"create","system_prompt":"x","frame_format":"base64"}')[1] == "base64"


@pytest.mark.parametrize("op", ["delete", "frame", "Create", "", None, 1, ["create"], {"op": "create"}])
def test_create_is_nothing_else(op: object) -> None:
    with pytest.raises(InvalidRequest, match="the first message must be 'create', not"):
        read_create(json.dumps({"op": op, "system_prompt": "x"}))


def test_what_is_repeated_of_a_message_is_short() -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_create(json.dumps({"op": "x" * 100_000}))
    assert len(str(caught.value)) < 150


def test_a_frame_is_read() -> None:
    assert read_frame({"op": "frame", "image_b64": "AAAA"}) == "AAAA"


@pytest.mark.parametrize(
    ("message", "words"),
    [({}, "which is missing"), ({"image_b64": None}, "not null"), ({"image_b64": {}}, "not an object")],
)
def test_a_frame_without_a_picture_says_so(message: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        read_frame(message)


# Writing what a server says: keys and their order are those of the contract's examples.


def test_created() -> None:
    assert created_text(CREATED, "binary") == (
        '{"op":"created","session_id":"sess-example","model":"cosmos","fps":1.0,"retention":'
        '{"max_video_segments":8,"max_text_tokens":null,"max_session_tokens":7000,'
        '"eviction_policy":"sliding_window","reprefill_threshold":0.7},"frame_format":"binary"}'
    )


def test_frame() -> None:
    reply = FrameReply(frame_index=0, text="Ein Bär.", token_count=8, latency_s=0.25)
    assert frame_text(reply) == (
        '{"op":"frame","frame_index":0,"text":"Ein Bär.","finish_reason":"stop","token_count":8,'
        '"ttft_s":null,"latency_s":0.25,"decode_ms":null,"build_ms":null,"engine_ms":null,"inqueue_ms":null}'
    )


def test_closed() -> None:
    assert closed_text(Closed(session_id="sess-example", frames=2)) == (
        '{"op":"closed","session_id":"sess-example","frames":2,"closed":true}'
    )


def test_error() -> None:
    error = InvalidRequest("unknown op 'update'", hint="expected 'frame' or 'delete'")
    message = "unknown op 'update'; expected 'frame' or 'delete'"
    assert (
        error_text(error, fatal=False) == f'{{"op":"error","message":"{message}","code":400,"fatal":false}}'
    )
    assert json.dumps(error_body(error)) == f'{{"error": {{"message": "{message}", "code": 400}}}}'
    assert ErrorBody.model_validate(error_body(error)).error.code == 400


def test_an_error_is_one_short_line_without_credentials() -> None:
    said = json.loads(
        error_text(Unavailable("a\nb\x1b[31m  rtsp://me:secret@cam/x " + "y" * 900), fatal=True)
    )
    assert said["message"].startswith("a b [31m rtsp://***@cam/x yyy")
    assert len(said["message"]) <= 501


def test_an_error_without_words_has_its_name() -> None:
    assert error_body(Conflict(""))["error"]["message"] == "Conflict"


def test_half_a_character_does_not_break_a_reply() -> None:
    text = frame_text(FrameReply.model_construct(frame_index=0, text="a\ud83d", token_count=1))
    assert json.loads(text.encode())["text"] == "a?"


# Writing what a client says, and reading it.


def test_create_is_written_in_the_contracts_order() -> None:
    config = SessionConfig(
        system_prompt="Describe.",
        question="What?",
        fps=2.0,
        retention=Retention(max_video_segments=8),
        sampling=Sampling(max_tokens=48),
    )
    message = json.loads(create_text(config, "base64"))
    assert list(message) == [
        "op", "frame_format", "system_prompt", "question", "fps", "retention", "sampling",
    ]  # fmt: skip
    assert message["sampling"] == {"max_tokens": 48}
    assert read_create(create_text(config, "base64")) == (config, "base64")


def test_what_is_left_unset_is_left_out() -> None:
    assert config_body(SessionConfig(system_prompt="x")) == {"system_prompt": "x"}
    assert config_body(SessionConfig(system_prompt="x", model=None, retention=None)) == {"system_prompt": "x"}


def test_a_retention_is_sent_whole() -> None:
    config = SessionConfig(system_prompt="x", retention=Retention(max_session_tokens=5000))
    assert config_body(config)["retention"] == {
        "max_video_segments": 30,
        "max_session_tokens": 5000,
        "eviction_policy": "sliding_window",
        "reprefill_threshold": 0.7,
    }


def test_a_picture_is_written_and_read() -> None:
    message = read_object(image_text(b"picture"))
    assert message["op"] == "frame"
    assert read_frame(message) == read_frame(read_object(image_body(b"picture"))) == "cGljdHVyZQ=="


def test_the_largest_picture_fits_its_json_however_it_is_written() -> None:
    body = image_body(b"\xff" * MAX_FRAME_BYTES)
    assert len(body) == len('{"image_b64":""}') + MAX_BASE64_BYTES
    noise = image_text(random.Random(0).randbytes(MAX_FRAME_BYTES))
    assert len(noise.replace("/", "\\/")) < MAX_JSON_BODY_BYTES < MAX_WEBSOCKET_MESSAGE_BYTES


def test_delete() -> None:
    assert read_object(DELETE_TEXT) == {"op": "delete"}


CONFIGS = st.builds(
    SessionConfig,
    system_prompt=st.text(st.characters(exclude_categories=["Cs"])),
    question=st.text(st.characters(exclude_categories=["Cs"])),
    fps=st.floats(0.01, 1000),
    retention=st.none() | st.builds(Retention, max_video_segments=st.integers(1, 1000)),
    sampling=st.builds(
        Sampling,
        temperature=st.floats(0, 10),
        guided_choice=st.none() | st.lists(st.text("abc"), min_size=1, max_size=3),
    ),
)


@given(CONFIGS)
@settings(max_examples=100, deadline=None)
def test_what_a_client_writes_a_server_reads(config: SessionConfig) -> None:
    assert read_create(create_text(config, "binary")) == (config, "binary")
    assert read_config(json.dumps(config_body(config))) == config


def test_nothing_warns_about_a_regular_expression() -> None:
    with warnings.catch_warnings(action="error"):
        assert read_config('{"system_prompt":"x","sampling":{"guided_regex":"[[a]"}}').sampling.guided_regex
