"""Every rule of the contract about a WebSocket connection, without a socket."""

import json
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.effects import (
    CancelOpen,
    CloseSocket,
    Effect,
    OpenSession,
    ReleaseSession,
    SendText,
    SubmitFrame,
)
from protocol.errors import (
    Conflict,
    EngineFailure,
    FrameTooLarge,
    InvalidRequest,
    NotFound,
    SessionError,
    Unavailable,
)
from protocol.host import (
    Busy,
    CloseOutcome,
    Dead,
    Failed,
    FrameOutcome,
    Gone,
    OpenOutcome,
    OwnerLost,
    Refused,
)
from protocol.messages import SERVER_RETENTION, Closed, Created, FrameReply, SessionConfig
from protocol.session_protocol import SessionProtocol, State

CREATED = Created(session_id="sess-1", model="fake-1", fps=1.0, retention=SERVER_RETENTION)
REPLY = FrameReply(frame_index=0, text="A cat.", token_count=2)
CLOSED = Closed(session_id="sess-1", frames=1)
IMAGE = b"\xff\xd8\xffimage"
RELEASED = ReleaseSession("sess-1", abort=True)


def create(**fields: object) -> str:
    return json.dumps({"op": "create", "system_prompt": "Describe.", **fields})


def frame(image: object = "aW1hZ2U=") -> str:
    return json.dumps({"op": "frame", "image_b64": image})


DELETE = json.dumps({"op": "delete"})


def awaiting_create() -> SessionProtocol:
    return SessionProtocol()


def opening(**fields: object) -> SessionProtocol:
    protocol = awaiting_create()
    protocol.receive_text(create(**fields))
    protocol.effects()
    return protocol


def idle(**fields: object) -> SessionProtocol:
    protocol = opening(**fields)
    protocol.opened(CREATED)
    protocol.effects()
    return protocol


def in_flight() -> SessionProtocol:
    protocol = idle()
    protocol.receive_binary(IMAGE)
    protocol.effects()
    return protocol


def closing() -> SessionProtocol:
    protocol = idle()
    protocol.receive_text(DELETE)
    protocol.effects()
    return protocol


def closed() -> SessionProtocol:
    protocol = closing()
    protocol.released(CLOSED)
    protocol.effects()
    return protocol


def dead() -> SessionProtocol:
    protocol = in_flight()
    protocol.answered(Gone())
    protocol.effects()
    return protocol


STATES: dict[State, Callable[[], SessionProtocol]] = {
    State.AWAITING_CREATE: awaiting_create,
    State.OPENING: opening,
    State.IDLE: idle,
    State.IN_FLIGHT: in_flight,
    State.CLOSING: closing,
    State.CLOSED: closed,
    State.DEAD: dead,
}


def sent(effects: list[Effect]) -> list[dict[str, object]]:
    return [json.loads(effect.text) for effect in effects if isinstance(effect, SendText)]


def assert_recoverable(protocol: SessionProtocol, code: int, words: str) -> None:
    [effect] = protocol.effects()
    [message] = sent([effect])
    assert list(message) == ["op", "message", "code", "fatal"]
    assert message["op"] == "error"
    assert message["code"] == code
    assert message["fatal"] is False
    assert words in str(message["message"])
    assert protocol.state is State.IDLE


def assert_fatal(protocol: SessionProtocol, code: int, words: str, close: int, *before: Effect) -> None:
    *others, said, closes = protocol.effects()
    [message] = sent([said])
    assert message["op"] == "error"
    assert message["code"] == code
    assert message["fatal"] is True
    assert words in str(message["message"])
    assert closes == CloseSocket(close)
    assert others == list(before)
    assert protocol.state is State.DEAD
    assert protocol.over


# Creating.


def test_each_state_is_reached() -> None:
    for state, reach in STATES.items():
        assert reach().state is state


def test_create_opens_a_session() -> None:
    protocol = awaiting_create()
    protocol.receive_text(create(question="What?", fps=2))
    assert protocol.effects() == [
        OpenSession(SessionConfig(system_prompt="Describe.", question="What?", fps=2.0))
    ]
    assert protocol.state is State.OPENING


def test_created_is_answered_with_the_session_and_the_frame_format() -> None:
    protocol = opening(frame_format="base64")
    protocol.opened(CREATED)
    [message] = sent(protocol.effects())
    assert message == {
        "op": "created",
        "session_id": "sess-1",
        "model": "fake-1",
        "fps": 1.0,
        "retention": {
            "max_video_segments": 8,
            "max_text_tokens": None,
            "max_session_tokens": 7000,
            "eviction_policy": "sliding_window",
            "reprefill_threshold": 0.7,
        },
        "frame_format": "base64",
    }
    assert protocol.session_id == "sess-1"


def test_the_first_message_may_lack_its_op() -> None:
    protocol = awaiting_create()
    protocol.receive_text('{"system_prompt":"Describe."}')
    assert protocol.effects() == [OpenSession(SessionConfig(system_prompt="Describe."))]


def test_a_later_message_may_not_lack_its_op() -> None:
    protocol = idle()
    protocol.receive_text('{"image_b64":"aW1hZ2U="}')
    assert_recoverable(protocol, 400, "no op; expected 'frame' or 'delete'")


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ('{"op":"delete"}', "must be 'create', not 'delete'"),
        ('{"op":"frame","image_b64":""}', "must be 'create', not 'frame'"),
        ('{"op":null,"system_prompt":""}', "must be 'create', not None"),
        ('{"op":"create"}', "system_prompt: Field required"),
        ('{"system_prompt":"","fps":-1}', "fps"),
        (
            '{"system_prompt":"","frame_format":"hex"}',
            "frame_format: expected 'binary' or 'base64', not 'hex'",
        ),
        ('{"system_prompt":"","frame_format":["binary"]}', "frame_format"),
        ("[]", "expected a JSON object, not a list"),
        ("{", "not JSON"),
        ("", "not JSON"),
    ],
)
def test_an_invalid_first_message_is_fatal(first: str, words: str) -> None:
    protocol = awaiting_create()
    protocol.receive_text(first)
    assert_fatal(protocol, 400, words, 1008)


def test_a_binary_first_message_is_fatal() -> None:
    protocol = awaiting_create()
    protocol.receive_binary(IMAGE)
    assert_fatal(protocol, 400, "first message must be 'create'", 1008)


@pytest.mark.parametrize(
    ("error", "close"),
    [
        (InvalidRequest("too wide"), 1008),
        (NotFound("no such model"), 1008),
        (Unavailable("full"), 1008),
        (EngineFailure("broke"), 1011),
    ],
)
def test_a_session_that_is_not_admitted_is_fatal(error: SessionError, close: int) -> None:
    protocol = opening()
    protocol.opened(Refused(error))
    assert_fatal(protocol, error.code, error.message, close)


def test_a_second_create_is_recoverable_and_changes_nothing() -> None:
    protocol = idle()
    protocol.receive_text(create(frame_format="base64"))
    assert_recoverable(protocol, 400, "session already")
    protocol.receive_binary(IMAGE)
    assert protocol.effects() == [SubmitFrame("sess-1", IMAGE)]


# Frames.


def test_a_binary_frame_is_submitted() -> None:
    protocol = idle()
    protocol.receive_binary(IMAGE)
    assert protocol.effects() == [SubmitFrame("sess-1", IMAGE)]
    assert protocol.state is State.IN_FLIGHT


def test_a_base64_frame_is_submitted_as_it_is() -> None:
    protocol = idle(frame_format="base64")
    protocol.receive_text(frame("aW1hZ2U="))
    assert protocol.effects() == [SubmitFrame("sess-1", "aW1hZ2U=")]


def test_a_frame_is_answered_in_one_message() -> None:
    protocol = in_flight()
    protocol.answered(REPLY)
    [message] = sent(protocol.effects())
    assert list(message) == [
        "op", "frame_index", "text", "finish_reason", "token_count",
        "ttft_s", "latency_s", "decode_ms", "build_ms", "engine_ms", "inqueue_ms",
    ]  # fmt: skip
    assert message["op"] == "frame"
    assert message["text"] == "A cat."
    assert protocol.state is State.IDLE


def test_base64_in_a_binary_session_is_recoverable() -> None:
    protocol = idle()
    protocol.receive_text(frame())
    assert_recoverable(protocol, 400, "takes binary frames")


def test_binary_in_a_base64_session_is_recoverable() -> None:
    protocol = idle(frame_format="base64")
    protocol.receive_binary(IMAGE)
    assert_recoverable(protocol, 400, "takes base64 frames")


@pytest.mark.parametrize("text", ['{"op":"frame"}', frame(None), frame(3), frame(["aa"])])
def test_a_frame_without_a_picture_is_recoverable(text: str) -> None:
    protocol = idle(frame_format="base64")
    protocol.receive_text(text)
    assert_recoverable(protocol, 400, "image_b64")


def test_an_unknown_op_is_recoverable() -> None:
    protocol = idle()
    protocol.receive_text('{"op":"update"}')
    [effect] = protocol.effects()
    assert effect == SendText(
        '{"op":"error","message":"unknown op \'update\'; expected \'frame\' or \'delete\'",'
        '"code":400,"fatal":false}'
    )


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", '"frame"', "null", '{"op":["frame"]}', '{"op":{}}', '{"a":NaN}']
)
def test_a_message_that_makes_no_sense_is_recoverable(text: str) -> None:
    protocol = idle()
    protocol.receive_text(text)
    assert_recoverable(protocol, 400, "")


@pytest.mark.parametrize(
    "outcome",
    [
        Failed(InvalidRequest("no picture")),
        Failed(FrameTooLarge("9 MiB")),
        Failed(Unavailable("shutting down")),
        Busy(),
    ],
)
def test_a_frame_that_fails_alone_is_recoverable(outcome: FrameOutcome) -> None:
    protocol = in_flight()
    protocol.answered(outcome)
    assert_recoverable(protocol, outcome.error.code, outcome.error.message)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("outcome", "code", "close"),
    [
        (Gone(), 404, 1008),
        (Dead("it took too long"), 409, 1008),
        (OwnerLost("the worker left"), 503, 1008),
        (Failed(NotFound("expired")), 404, 1008),
        (Failed(Conflict("broken before")), 409, 1008),
        (Failed(EngineFailure("out of memory")), 500, 1011),
    ],
)
def test_a_frame_that_ends_its_session_is_fatal(outcome: FrameOutcome, code: int, close: int) -> None:
    protocol = in_flight()
    protocol.answered(outcome)
    assert_fatal(protocol, code, "", close, RELEASED)


# Messages sent ahead.


def test_frames_sent_ahead_wait_for_their_turn() -> None:
    protocol = in_flight()
    protocol.receive_binary(b"second")
    protocol.receive_binary(b"third")
    assert protocol.effects() == []
    protocol.answered(REPLY)
    assert protocol.effects()[1:] == [SubmitFrame("sess-1", b"second")]
    protocol.answered(REPLY)
    assert protocol.effects()[1:] == [SubmitFrame("sess-1", b"third")]


def test_a_frame_sent_before_created_waits_for_it() -> None:
    protocol = opening()
    protocol.receive_binary(IMAGE)
    assert protocol.effects() == []
    protocol.opened(CREATED)
    said, submitted = protocol.effects()
    assert sent([said])[0]["op"] == "created"
    assert submitted == SubmitFrame("sess-1", IMAGE)


def test_mistakes_sent_ahead_are_answered_in_their_turn() -> None:
    protocol = in_flight()
    protocol.receive_text("{")
    protocol.receive_text(frame())
    protocol.receive_binary(b"second")
    protocol.answered(REPLY)
    *messages, submitted = protocol.effects()
    assert [message["op"] for message in sent(messages)] == ["frame", "error", "error"]
    assert submitted == SubmitFrame("sess-1", b"second")


def test_delete_sent_ahead_waits_for_the_reply() -> None:
    protocol = in_flight()
    protocol.receive_text(DELETE)
    assert protocol.effects() == []
    protocol.answered(REPLY)
    assert protocol.effects()[1:] == [ReleaseSession("sess-1", abort=False)]


def test_nothing_counts_after_delete() -> None:
    protocol = in_flight()
    protocol.receive_text(DELETE)
    protocol.receive_binary(b"too late")
    protocol.answered(REPLY)
    protocol.receive_binary(b"later still")
    protocol.effects()
    protocol.released(CLOSED)
    assert protocol.effects()[1:] == [CloseSocket(1000)]


def test_what_waits_is_bounded_in_bytes() -> None:
    protocol = SessionProtocol(max_queued_bytes=100_000)
    protocol.receive_text(create())
    protocol.receive_binary(bytes(60_000))
    assert protocol.wants_messages
    protocol.receive_binary(bytes(60_000))
    assert not protocol.wants_messages
    protocol.opened(CREATED)  # the first of them is taken
    assert protocol.wants_messages


def test_empty_messages_fill_the_queue_too() -> None:
    protocol = SessionProtocol(max_queued_bytes=100_000)
    protocol.receive_text(create())
    for _ in range(98):
        protocol.receive_binary(b"")
    assert not protocol.wants_messages


@pytest.mark.parametrize("state", [State.CLOSING, State.CLOSED, State.DEAD])
def test_a_connection_at_its_end_is_read_to_its_end(state: State) -> None:
    protocol = STATES[state]()
    protocol.receive_binary(bytes(20_000_000))
    assert protocol.wants_messages
    assert protocol.effects() == []


# Ending.


def test_delete_releases_the_session() -> None:
    protocol = idle()
    protocol.receive_text(DELETE)
    assert protocol.effects() == [ReleaseSession("sess-1", abort=False)]
    assert protocol.state is State.CLOSING


def test_closed_is_the_last_message() -> None:
    protocol = closing()
    protocol.released(CLOSED)
    assert protocol.effects() == [
        SendText('{"op":"closed","session_id":"sess-1","frames":1,"closed":true}'),
        CloseSocket(1000),
    ]
    assert protocol.state is State.CLOSED


@pytest.mark.parametrize(("outcome", "code"), [(Gone(), 404), (OwnerLost("the worker left"), 503)])
def test_a_session_gone_before_delete_is_fatal(outcome: CloseOutcome, code: int) -> None:
    protocol = closing()
    protocol.released(outcome)
    assert_fatal(protocol, code, "", 1008)


@pytest.mark.parametrize(
    ("state", "effects"),
    [
        (State.AWAITING_CREATE, []),
        (State.OPENING, [CancelOpen()]),
        (State.IDLE, [RELEASED]),
        (State.IN_FLIGHT, [RELEASED]),
        (State.CLOSING, []),
        (State.CLOSED, []),
        (State.DEAD, []),
    ],
)
def test_a_disconnect_releases_the_session(state: State, effects: list[Effect]) -> None:
    protocol = STATES[state]()
    protocol.disconnected()
    assert protocol.effects() == effects
    assert protocol.over


def test_a_session_that_opens_after_the_disconnect_is_released() -> None:
    protocol = opening()
    protocol.disconnected()
    protocol.effects()
    protocol.opened(CREATED)
    assert protocol.effects() == [RELEASED]


def test_a_refusal_after_the_disconnect_is_of_no_interest() -> None:
    protocol = opening()
    protocol.disconnected()
    protocol.effects()
    protocol.opened(Refused(Unavailable("full")))
    assert protocol.effects() == []


def test_an_answer_after_the_disconnect_is_of_no_interest() -> None:
    protocol = in_flight()
    protocol.disconnected()
    protocol.effects()
    protocol.answered(REPLY)
    protocol.released(CLOSED)
    assert protocol.effects() == []


@pytest.mark.parametrize(
    ("state", "effects"),
    [
        (State.AWAITING_CREATE, [CloseSocket(1001)]),
        (State.OPENING, [CancelOpen(), CloseSocket(1001)]),
        (State.IDLE, [RELEASED, CloseSocket(1001)]),
        (State.IN_FLIGHT, []),
        (State.CLOSING, []),
        (State.CLOSED, []),
        (State.DEAD, []),
    ],
)
def test_a_shutdown_closes_what_is_not_at_work(state: State, effects: list[Effect]) -> None:
    protocol = STATES[state]()
    protocol.shut_down()
    assert protocol.effects() == effects


@pytest.mark.parametrize(
    "outcome", [REPLY, Failed(InvalidRequest("damaged")), Failed(Unavailable("aborted"))]
)
def test_a_shutdown_lets_the_frame_in_flight_end_and_takes_no_other(outcome: FrameOutcome) -> None:
    protocol = in_flight()
    protocol.receive_binary(b"second")
    protocol.shut_down()
    protocol.answered(outcome)
    said, *others = protocol.effects()
    assert len(sent([said])) == 1
    assert others == [RELEASED, CloseSocket(1001)]


def test_a_shutdown_lets_delete_end() -> None:
    protocol = closing()
    protocol.shut_down()
    protocol.released(CLOSED)
    assert protocol.effects()[1:] == [CloseSocket(1000)]


def test_a_client_that_creates_nothing_is_sent_away() -> None:
    protocol = awaiting_create()
    protocol.expired(timeout_s=900)
    assert_fatal(protocol, 400, "no 'create' message came within 900 s", 1008)


def test_an_idle_session_expires() -> None:
    protocol = idle()
    protocol.expired(timeout_s=900)
    assert_fatal(protocol, 404, "expired after 900 s", 1008, RELEASED)


@pytest.mark.parametrize("state", [State.OPENING, State.IN_FLIGHT, State.CLOSING, State.CLOSED, State.DEAD])
def test_nothing_expires_where_it_is_not_the_clients_turn(state: State) -> None:
    protocol = STATES[state]()
    protocol.expired(timeout_s=900)
    assert protocol.effects() == []
    assert protocol.state is state


@pytest.mark.parametrize(
    ("state", "before"),
    [
        (State.AWAITING_CREATE, []),
        (State.OPENING, [CancelOpen()]),
        (State.IDLE, [RELEASED]),
        (State.IN_FLIGHT, [RELEASED]),
        (State.CLOSING, []),
    ],
)
def test_an_internal_error_is_fatal(state: State, before: list[Effect]) -> None:
    protocol = STATES[state]()
    protocol.broke()
    assert_fatal(protocol, 500, "internal error", 1011, *before)


def test_an_internal_error_at_the_end_says_nothing() -> None:
    for state in (State.CLOSED, State.DEAD):
        protocol = STATES[state]()
        protocol.broke()
        assert protocol.effects() == []


def test_an_outcome_that_was_not_asked_for_is_the_callers_mistake() -> None:
    protocol = idle()
    with pytest.raises(RuntimeError, match="reported in IN_FLIGHT, not in IDLE"):
        protocol.answered(REPLY)
    with pytest.raises(RuntimeError, match="OPENING"):
        protocol.opened(CREATED)
    with pytest.raises(RuntimeError, match="CLOSING"):
        protocol.released(CLOSED)


# Any order of anything.

TEXTS = st.one_of(
    st.sampled_from(
        [
            create(), create(frame_format="base64"), create(fps=0), frame(), frame(None), DELETE,
            '{"op":"update"}', '{"system_prompt":"x"}', "[]", "{", "",
            '{"op":"frame","image_b64":"' + "A" * 3000 + '"}',
        ]
    ),
    st.text(max_size=20),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    ).map(lambda value: json.dumps({"op": "create", "system_prompt": "x", "sampling": value})),
)  # fmt: skip
ERRORS = st.sampled_from(
    [
        InvalidRequest("a"),
        NotFound("b"),
        Conflict("c"),
        FrameTooLarge("d"),
        EngineFailure("e"),
        Unavailable("f"),
    ]
)
OPENED: st.SearchStrategy[OpenOutcome] = st.just(CREATED) | ERRORS.map(Refused)
ANSWERED: st.SearchStrategy[FrameOutcome] = st.one_of(
    st.just(REPLY),
    st.just(REPLY),
    ERRORS.map(Failed),
    st.sampled_from([Busy(), Gone(), Dead("x"), OwnerLost("y")]),
)
RELEASES: st.SearchStrategy[CloseOutcome] = st.sampled_from([CLOSED, CLOSED, Gone(), OwnerLost("y")])
STEPS = st.one_of(
    TEXTS.map(lambda text: ("text", text)),
    st.binary(max_size=5).map(lambda data: ("binary", data)),
    st.sampled_from(["host", "host", "host", "disconnected", "shut_down", "expired", "broke"]).map(
        lambda name: (name, None)
    ),
)


class Peer:
    """Plays the layer of I/O and the host, and keeps the books."""

    def __init__(self, draw: Callable[[st.SearchStrategy[object]], object]) -> None:
        self.protocol = SessionProtocol(max_queued_bytes=4096)
        self.draw = draw
        self.asked: list[Effect] = []
        self.count: Counter[str] = Counter()
        self.open_sessions = 0
        self.closed_with: int | None = None

    def perform(self) -> None:
        for effect in self.protocol.effects():
            assert self.closed_with is None or isinstance(effect, ReleaseSession)
            match effect:
                case OpenSession():
                    assert not self.count["opens"]
                    self.count["opens"] += 1
                    self.asked.append(effect)
                case SubmitFrame():
                    assert self.open_sessions == 1
                    assert not any(isinstance(other, SubmitFrame) for other in self.asked)
                    self.count["submitted"] += 1
                    self.asked.append(effect)
                case ReleaseSession(_, abort):
                    self.open_sessions -= 1
                    if not abort:
                        self.asked.append(effect)
                case SendText(text):
                    message = json.loads(text)
                    self.count[message["op"]] += 1
                    if message["op"] == "error":
                        self.count["fatal"] += message["fatal"]
                case CloseSocket(code):
                    self.closed_with = code
                case CancelOpen():
                    assert any(isinstance(other, OpenSession) for other in self.asked)

    def host_acts(self) -> None:
        if not self.asked:
            return
        match self.asked.pop(0):
            case OpenSession():
                outcome = self.draw(OPENED)
                self.open_sessions += isinstance(outcome, Created)
                self.protocol.opened(outcome)
            case SubmitFrame():
                self.count["replied"] += 1
                self.protocol.answered(self.draw(ANSWERED))
            case ReleaseSession():
                self.protocol.released(self.draw(RELEASES))

    def step(self, name: str, value: object) -> None:
        match name:
            case "text":
                self.protocol.receive_text(value)
            case "binary":
                self.protocol.receive_binary(value)
            case "host":
                self.host_acts()
            case "expired":
                self.protocol.expired(timeout_s=1)
            case _:
                getattr(self.protocol, name)()
        self.perform()
        assert self.open_sessions in (0, 1)

    def check(self) -> None:
        count = self.count
        in_flight = sum(isinstance(effect, SubmitFrame) for effect in self.asked)
        assert count["submitted"] == count["replied"] + in_flight
        assert count["frame"] <= count["replied"]
        assert count["fatal"] <= 1
        assert count["closed"] <= 1
        assert count["fatal"] + count["closed"] <= 1
        if count["fatal"]:
            assert self.protocol.state is State.DEAD
            assert self.closed_with in (1008, 1011)
        if count["closed"]:
            assert self.closed_with == 1000
        if self.protocol.over:
            assert self.open_sessions == 0
        assert (self.closed_with is not None) <= self.protocol.over


@given(st.data(), st.lists(STEPS, max_size=40))
@settings(max_examples=400, deadline=None)
def test_nothing_raises_and_nothing_is_left_open(
    data: st.DataObject, steps: list[tuple[str, object]]
) -> None:
    peer = Peer(data.draw)
    if data.draw(st.booleans()):
        peer.step("text", create(frame_format=data.draw(st.sampled_from(["binary", "base64"]))))
    for name, value in steps:
        peer.step(name, value)
        peer.check()
    # Whatever it was, it can be brought to its end.
    peer.step("disconnected", None)
    while peer.asked:
        peer.step("host", None)
    peer.check()
    assert peer.open_sessions == 0


@given(st.data(), st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_each_message_has_one_reply_in_order(data: st.DataObject, number: int) -> None:
    """Frames and mistakes, sent at any time ahead of their replies, are answered one for one."""
    protocol = idle()
    replies: list[str] = []
    expected: list[str] = []
    next_index = 0
    waiting = False

    def perform() -> Iterator[str]:
        nonlocal waiting
        for effect in protocol.effects():
            if isinstance(effect, SubmitFrame):
                waiting = True
            elif isinstance(effect, SendText):
                message = json.loads(effect.text)
                yield f"frame {message['frame_index']}" if message["op"] == "frame" else "error"

    answered = 0
    while next_index < number or waiting:
        if waiting and (next_index == number or data.draw(st.booleans())):
            waiting = False
            protocol.answered(FrameReply(frame_index=answered, text="", token_count=0))
            answered += 1
        elif data.draw(st.booleans()):
            protocol.receive_binary(IMAGE)
            expected.append(f"frame {sum(item != 'error' for item in expected)}")
            next_index += 1
        else:
            protocol.receive_text('{"op":"update"}')
            expected.append("error")
            next_index += 1
        replies += perform()
    assert replies == expected
