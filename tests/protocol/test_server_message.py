"""What servers say, ours and others', read leniently."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import (
    Conflict,
    EngineFailure,
    FrameTooLarge,
    InvalidRequest,
    NotFound,
    SessionError,
    Unavailable,
    UnsupportedMedia,
)
from protocol.messages import SERVER_RETENTION, Closed, Created, FrameReply, Retention
from protocol.server_message import (
    ErrorMessage,
    SessionCreated,
    read_closed,
    read_created,
    read_error,
    read_reply,
    read_server_message,
    session_error,
)
from protocol.wire import closed_text, created_text, error_text, frame_text

CREATED = Created(session_id="s", model="m", fps=2.0, retention=SERVER_RETENTION)
REPLY = FrameReply(frame_index=3, text="A cat.", token_count=2, latency_s=0.5)
CLOSED = Closed(session_id="s", frames=4)


def error(message: dict[str, object]) -> ErrorMessage:
    said = read_server_message(json.dumps({"op": "error", **message}))
    assert isinstance(said, ErrorMessage)
    return said


def test_our_own_servers_messages() -> None:
    assert read_server_message(created_text(CREATED, "base64")) == SessionCreated(
        **CREATED.model_dump(), frame_format="base64"
    )
    assert read_server_message(frame_text(REPLY)) == REPLY
    assert read_server_message(closed_text(CLOSED)) == CLOSED


def test_our_own_servers_answers_over_rest() -> None:
    assert read_created(CREATED.model_dump_json()) == CREATED
    assert read_reply(REPLY.model_dump_json().encode()) == REPLY
    assert read_closed(CLOSED.model_dump_json()) == CLOSED


@pytest.mark.parametrize(
    "kind", [InvalidRequest, NotFound, Conflict, FrameTooLarge, UnsupportedMedia, EngineFailure, Unavailable]
)
def test_errors_keep_their_kind(kind: type[SessionError]) -> None:
    for fatal in (True, False):
        said = read_server_message(error_text(kind("words", hint="more"), fatal=fatal))
        assert isinstance(said, ErrorMessage)
        assert type(said.error) is kind
        assert said.fatal is fatal
        assert str(said.error) == "words; more"


def test_unknown_fields_are_ignored() -> None:
    said = read_server_message('{"op":"frame","frame_index":0,"text":"x","token_count":1,"logprobs":[1]}')
    assert said == FrameReply(frame_index=0, text="x", token_count=1)


def test_what_makes_no_sense_is_left_at_its_default() -> None:
    said = read_reply(
        '{"frame_index":0,"text":"x","token_count":null,"finish_reason":null,"latency_s":"fast","ttft_s":NaN}'
    )
    assert said == FrameReply(frame_index=0, text="x", token_count=0)


def test_a_created_with_little_in_it() -> None:
    assert read_created('{"session_id":"s","model":"m"}') == CREATED.model_copy(update={"fps": 1.0})


@pytest.mark.parametrize(
    ("given_retention", "expected"),
    [
        ({"max_video_segments": 4, "eviction_policy": "ring"}, Retention(max_video_segments=4)),
        ({"max_video_segments": 4, "max_session_tokens": None}, Retention(max_video_segments=4)),
        ({"max_text_tokens": 9000, "max_session_tokens": 2000}, SERVER_RETENTION),
        (None, SERVER_RETENTION),
        ("all", SERVER_RETENTION),
    ],
)
def test_a_retention_of_another_kind(given_retention: object, expected: Retention) -> None:
    body = json.dumps({"session_id": "s", "model": "m", "retention": given_retention})
    assert read_created(body).retention == expected


@pytest.mark.parametrize(
    ("read", "body", "words"),
    [
        (read_created, '{"model":"m"}', "session_id: Field required"),
        (read_reply, '{"text":"x"}', "frame_index: Field required"),
        (read_reply, '{"frame_index":-1,"text":"x"}', "frame_index: Field required"),
        (read_reply, "<html>", "not JSON"),
        (read_reply, b"\xff", "not JSON"),
        (read_reply, "[" * 100_000, "not JSON"),
        (read_closed, "[]", "a list where a JSON object was expected"),
        (read_server_message, '{"op":"pong"}', "unknown kind: 'pong'"),
        (read_server_message, "{}", "unknown kind: None"),
    ],
)
def test_what_cannot_be_understood(read: object, body: str | bytes, words: str) -> None:
    with pytest.raises(EngineFailure, match=words):
        read(body)  # type: ignore[operator]


def test_errors_of_other_servers_over_websocket() -> None:
    assert not error({"message": "m", "code": 400}).fatal
    assert error({"message": "m", "code": "503", "fatal": True}).error.code == 503
    assert str(error({"message": "m", "code": 418}).error) == "m (code 418)"
    assert isinstance(error({"message": "m", "code": 418}).error, InvalidRequest)
    assert isinstance(error({"message": "m", "code": None}).error, EngineFailure)
    assert isinstance(error({"message": "m", "code": [1]}).error, EngineFailure)
    assert isinstance(error({"message": "m", "code": 10**300}).error, EngineFailure)
    assert str(error({"code": 404}).error) == "no reason given"


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (404, '{"error":{"message":"no such session","code":404}}', NotFound, "no such session"),
        (400, '{"error":{"message":"m","type":"BadRequestError","code":400}}', InvalidRequest, "m"),
        (400, '{"error":"too wide"}', InvalidRequest, "too wide"),
        (422, '{"detail":[{"loc":["body"]}]}', InvalidRequest, '[{"loc": ["body"]}] (code 422)'),
        (404, '{"detail":"Not Found"}', NotFound, "Not Found"),
        (503, '{"message":"loading"}', Unavailable, "loading"),
        (503, "upstream\n is away", Unavailable, "upstream is away"),
        (502, "<html>Bad Gateway</html>", EngineFailure, "HTTP status 502 without a reason (code 502)"),
        (500, b"", EngineFailure, "HTTP status 500 without a reason"),
        (409, "{}", Conflict, "HTTP status 409 without a reason"),
        (500, b"\xff\xfe", EngineFailure, "��"),
    ],
)
def test_errors_of_any_server_over_rest(
    status: int, body: str | bytes, kind: type[SessionError], words: str
) -> None:
    said = read_error(status, body)
    assert type(said) is kind
    assert str(said) == words


def test_a_long_answer_is_shortened() -> None:
    assert len(str(read_error(500, "x" * 10_000_000))) < 600


def test_a_code_is_never_trusted_to_be_a_number() -> None:
    for code in (None, "x", "٤٠٠", "9" * 5000, 4.0, True, {}, []):
        assert isinstance(session_error(code, "m"), SessionError)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from(
    ["session_id", "model", "fps", "retention", "frame_index", "text", "token_count", "frames", "closed",
     "message", "code", "fatal", "error", "latency_s", "finish_reason", "frame_format"]
)  # fmt: skip


@given(st.sampled_from(["created", "frame", "closed", "error"]) | JSON, st.dictionaries(FIELDS, JSON))
@settings(max_examples=300, deadline=None)
def test_any_message_is_understood_or_refused(op: object, fields: dict[str, object]) -> None:
    try:
        said = read_server_message(json.dumps({"op": op, **fields}))
    except EngineFailure:
        return
    assert isinstance(said, SessionCreated | FrameReply | Closed | ErrorMessage)
