"""Sessions by id over an engine: who is admitted, what a frame can come to, and that nothing is left over."""

import asyncio
import base64
import io
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from protocol.errors import (
    Conflict,
    EngineError,
    EngineFailure,
    FrameRefused,
    FrameTooLarge,
    InputError,
    InvalidRequest,
    NotFound,
    SessionError,
    SessionLost,
    StreamError,
    Unavailable,
)
from protocol.frame import Frame
from protocol.host import Busy, Dead, Failed, FrameOutcome, Gone, Refused, SessionHost
from protocol.messages import Closed, Created, FrameReply, SessionConfig
from protocol.server import held_session, session_table
from protocol.server.engine_host import EngineHost
from protocol.server.host_observer import HostObserver
from tests.fake_engine import FakeEngine, FakeSession

CONFIG = SessionConfig(system_prompt="Describe.")
IDLE_S = 100.0


def picture(size: int = 8) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (size, size), (200, 100, 50)).save(buffer, "PNG")
    return buffer.getvalue()


IMAGE = picture()
NO_IMAGE = b"GIF89a"


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Observer(HostObserver):
    """Keeps what it hears, and lets a test wait for the end of a session."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.has_ended = asyncio.Event()

    def opened(self) -> None:
        self.heard.append("opened")

    def refused(self, error: SessionError) -> None:
        self.heard.append(f"refused {error.code}")

    def ended(self, how: str) -> None:
        self.heard.append(f"ended: {how}")
        self.has_ended.set()

    def answered(self, reply: FrameReply) -> None:
        self.heard.append(f"answered {reply.frame_index}")

    def failed(self, error: SessionError) -> None:
        self.heard.append(f"failed {error.code}")

    def engine_lost(self, reason: str) -> None:
        self.heard.append(f"lost: {reason}")


class GatedEngine(FakeEngine):
    """Opens and closes sessions when its gates are open, and fails when it is told to."""

    def __init__(self, *, failures: dict[int, BaseException] | None = None, gated: bool = False) -> None:
        super().__init__(failures=failures, gated=gated)
        self.opening = asyncio.Event()
        self.open_gate = asyncio.Event()
        self.open_gate.set()
        self.close_gate = asyncio.Event()
        self.close_gate.set()
        self.open_error: BaseException | None = None

    async def open(self, config: SessionConfig) -> FakeSession:
        self.opening.set()
        await self.open_gate.wait()
        if self.open_error is not None:
            raise self.open_error
        session = await super().open(config)
        gate, close = self.close_gate, session.close

        async def close_when_open() -> Closed:
            await gate.wait()
            return await close()

        session.close = close_when_open  # type: ignore[method-assign]
        return session

    @property
    def left_open(self) -> int:
        return sum(not session.closed for session in self.sessions)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@asynccontextmanager
async def hosting(engine: FakeEngine, **options: object) -> AsyncIterator[EngineHost]:
    """A host that at its end must have let go of everything."""
    host = EngineHost(engine, **options)  # type: ignore[arg-type]
    try:
        yield host
    finally:
        await host.shut_down()
        assert host.open_sessions == 0
        assert host.frames_in_flight == 0
        assert all(session.closed for session in engine.sessions)
        await asyncio.sleep(0)  # for the callbacks of tasks that have just ended
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def opened(host: EngineHost, idle_timeout_s: float = IDLE_S) -> str:
    created = await host.open(CONFIG, idle_timeout_s=idle_timeout_s)
    assert isinstance(created, Created)
    return created.session_id


async def refusal(host: EngineHost) -> SessionError:
    outcome = await host.open(CONFIG, idle_timeout_s=IDLE_S)
    assert isinstance(outcome, Refused)
    return outcome.error


def started(host: EngineHost, session_id: str) -> asyncio.Task[FrameOutcome]:
    return asyncio.create_task(host.frame(session_id, IMAGE))


class Held:
    """An engine whose frames wait, and one that is waiting."""

    def __init__(self) -> None:
        self.engine = GatedEngine(gated=True)

    def let_go(self) -> None:
        """Lets the engine answer."""
        assert self.engine.gate is not None
        self.engine.gate.set()

    async def frame(self, host: EngineHost, session_id: str) -> asyncio.Task[FrameOutcome]:
        """A frame that has reached the engine."""
        self.engine.reached.clear()
        task = started(host, session_id)
        await self.engine.reached.wait()
        return task


# Opening.


async def test_it_is_a_session_host() -> None:
    async with hosting(FakeEngine()) as host:
        assert isinstance(host, SessionHost)


async def test_the_host_mints_the_ids() -> None:
    engine = FakeEngine()
    async with hosting(engine) as host:
        ids = {await opened(host) for _ in range(50)}
        assert len(ids) == 50
        assert not ids & {session.created.session_id for session in engine.sessions}
        assert all(len(session_id) >= 32 for session_id in ids)


async def test_created_is_the_engines_but_for_the_id() -> None:
    async with hosting(FakeEngine()) as host:
        created = await host.open(CONFIG, idle_timeout_s=IDLE_S)
        assert isinstance(created, Created)
        assert (created.model, created.fps, created.retention.max_video_segments) == ("fake-1", 1.0, 8)


async def test_no_more_sessions_than_there_is_room_for() -> None:
    async with hosting(FakeEngine(), max_sessions=2) as host:
        first = await opened(host)
        await opened(host)
        error = await refusal(host)
        assert error.code == 503
        assert "all 2 sessions are in use" in str(error)
        await host.close(first)
        await opened(host)


async def test_a_session_that_is_being_opened_takes_room() -> None:
    engine = GatedEngine()
    async with hosting(engine, max_sessions=1) as host:
        engine.open_gate.clear()
        first = asyncio.create_task(opened(host))
        await engine.opening.wait()
        assert (await refusal(host)).code == 503
        engine.open_gate.set()
        assert await first
        assert len(engine.sessions) == 1


async def test_admission_waits_for_a_session_that_is_being_released() -> None:
    engine = GatedEngine()
    async with hosting(engine, max_sessions=1) as host:
        session_id = await opened(host)
        engine.close_gate.clear()
        await host.close(session_id, abort=True)
        second = asyncio.create_task(opened(host))
        await asyncio.sleep(0)
        assert len(engine.sessions) == 1
        engine.close_gate.set()
        await second
        assert engine.left_open == 1


async def test_admission_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protocol.server.engine_host.PATIENCE_S", 0.01)
    engine = GatedEngine()
    async with hosting(engine, max_sessions=1) as host:
        session_id = await opened(host)
        engine.close_gate.clear()
        await host.close(session_id, abort=True)
        assert (await refusal(host)).code == 503
        engine.close_gate.set()


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (InvalidRequest("too wide"), 400, "too wide"),
        (NotFound("no such model"), 404, "no such model"),
        (Unavailable("no encoder budget"), 503, "no encoder budget"),
        (SessionLost("the server behind it closed"), 503, "the server behind it closed"),
        (ZeroDivisionError("division by zero"), 500, "failed to open a session: division by zero"),
    ],
)
async def test_what_the_engine_refuses_is_refused(error: Exception, code: int, words: str) -> None:
    engine = GatedEngine()
    async with hosting(engine, max_sessions=1) as host:
        engine.open_error = error
        refused = await refusal(host)
        assert refused.code == code
        assert words in str(refused)
        engine.open_error = None
        await opened(host)  # the room is free again


async def test_an_open_cancelled_midway_leaves_nothing() -> None:
    engine = GatedEngine()
    async with hosting(engine, max_sessions=1) as host:
        engine.open_gate.clear()
        opening = asyncio.create_task(host.open(CONFIG, idle_timeout_s=IDLE_S))
        await engine.opening.wait()
        opening.cancel()
        await asyncio.wait([opening])
        assert opening.cancelled()
        engine.open_gate.set()
        assert host.open_sessions == 0
        await opened(host)
        assert len(engine.sessions) == 1


# Frames.


@pytest.mark.parametrize("image", [IMAGE, base64.b64encode(IMAGE).decode()], ids=["binary", "base64"])
async def test_a_frame_is_decoded_and_answered(image: bytes | str) -> None:
    seen: list[Frame] = []

    class Session(FakeSession):
        async def caption(self, frame: Frame) -> FrameReply:
            seen.append(frame)
            return await super().caption(frame)

    engine = FakeEngine()
    async with hosting(engine) as host:
        session_id = await opened(host)
        engine.sessions[0].__class__ = Session
        reply = await host.frame(session_id, image)
        assert isinstance(reply, FrameReply)
        assert (reply.frame_index, reply.text) == (0, "frame 0 at None")
        assert reply.decode_ms is not None
        assert reply.decode_ms > 0
        assert reply.inqueue_ms is not None
        assert reply.engine_ms is None
        [frame] = seen
        assert frame.decoded
        assert frame.pixels[0, 0].tolist() == [200, 100, 50]


async def test_a_frame_is_timed_from_when_it_was_submitted() -> None:
    class Session(FakeSession):
        async def caption(self, frame: Frame) -> FrameReply:
            reply = await super().caption(frame)
            return reply.model_copy(update={"ttft_s": 0.0, "latency_s": 1.0})

    engine = FakeEngine()
    async with hosting(engine) as host:
        session_id = await opened(host)
        engine.sessions[0].__class__ = Session
        reply = await host.frame(session_id, IMAGE)
        assert isinstance(reply, FrameReply)
        assert reply.ttft_s is not None
        assert reply.decode_ms is not None
        assert reply.latency_s == pytest.approx(1.0 + reply.ttft_s)
        assert reply.ttft_s >= reply.decode_ms / 1000


async def test_the_engines_own_times_are_kept() -> None:
    class Session(FakeSession):
        async def caption(self, frame: Frame) -> FrameReply:
            reply = await super().caption(frame)
            return reply.model_copy(update={"decode_ms": 1234.0, "inqueue_ms": 5000.0, "engine_ms": 7.0})

    engine = FakeEngine()
    async with hosting(engine) as host:
        session_id = await opened(host)
        engine.sessions[0].__class__ = Session
        reply = await host.frame(session_id, IMAGE)
        assert isinstance(reply, FrameReply)
        assert (reply.decode_ms, reply.engine_ms) == (1234.0, 7.0)
        assert reply.inqueue_ms is not None
        assert 5000 < reply.inqueue_ms < 6000


@pytest.mark.parametrize(
    ("image", "code"), [(NO_IMAGE, 400), (b"", 400), ("!", 400), (bytes(9_000_000), 413)]
)
async def test_a_picture_that_is_refused_ends_nothing(image: bytes | str, code: int) -> None:
    async with hosting(FakeEngine()) as host:
        session_id = await opened(host)
        outcome = await host.frame(session_id, image)
        assert isinstance(outcome, Failed)
        assert outcome.error.code == code
        assert not outcome.ends_session
        reply = await host.frame(session_id, IMAGE)
        assert isinstance(reply, FrameReply)
        assert reply.frame_index == 0
        assert await host.close(session_id) == Closed(session_id=session_id, frames=1)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (InputError("damaged picture"), InvalidRequest),
        (FrameTooLarge("too many tokens"), FrameTooLarge),
        (FrameRefused("no", code=400), InvalidRequest),
        (FrameRefused("no", code=413), FrameTooLarge),
        (FrameRefused("no"), Unavailable),
    ],
)
async def test_a_frame_that_fails_alone_ends_nothing(error: StreamError, kind: type[SessionError]) -> None:
    async with hosting(FakeEngine(failures={0: error})) as host:
        session_id = await opened(host)
        outcome = await host.frame(session_id, IMAGE)
        assert isinstance(outcome, Failed)
        assert type(outcome.error) is kind
        assert outcome.error.message == error.message
        assert isinstance(await host.frame(session_id, IMAGE), FrameReply)


async def test_an_unknown_session_is_gone_whatever_the_picture() -> None:
    async with hosting(FakeEngine()) as host:
        for image in (IMAGE, NO_IMAGE):
            assert await host.frame("sess-x", image) == Gone()
        assert await host.close("sess-x") == Gone()


async def test_one_frame_is_in_flight() -> None:
    held = Held()
    async with hosting(held.engine) as host:
        session_id = await opened(host)
        first = await held.frame(host, session_id)
        assert host.frames_in_flight == 1
        assert await host.frame(session_id, IMAGE) == Busy()
        held.let_go()
        assert isinstance(await first, FrameReply)
        assert host.frames_in_flight == 0
        assert isinstance(await host.frame(session_id, IMAGE), FrameReply)


async def test_the_next_frame_may_come_with_the_reply() -> None:
    async with hosting(FakeEngine()) as host:
        session_id = await opened(host)
        for index in range(20):
            reply = await host.frame(session_id, IMAGE)
            assert isinstance(reply, FrameReply)
            assert reply.frame_index == index


async def test_a_caller_that_leaves_does_not_take_the_frame_with_it() -> None:
    held = Held()
    async with hosting(held.engine) as host:
        session_id = await opened(host)
        caller = await held.frame(host, session_id)
        caller.cancel()
        await asyncio.wait([caller])
        assert await host.frame(session_id, IMAGE) == Busy()
        held.let_go()
        while host.frames_in_flight:
            await asyncio.sleep(0)
        reply = await host.frame(session_id, IMAGE)
        assert isinstance(reply, FrameReply)
        assert reply.frame_index == 1
        assert held.engine.sessions[0].cancelled == 0


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (EngineFailure("out of memory"), 500, "out of memory"),
        (ZeroDivisionError("division by zero"), 500, "the engine failed: division by zero"),
        (SessionLost("the server behind it closed"), 500, "the server behind it closed"),
        (Conflict("broken before"), 409, "broken before"),
        (NotFound("expired"), 404, "expired"),
        (asyncio.CancelledError(), 500, "cancelled"),
    ],
)
async def test_an_engine_that_fails_ends_the_session(error: BaseException, code: int, words: str) -> None:
    engine = FakeEngine(failures={1: error})
    async with hosting(engine) as host:
        session_id, other = await opened(host), await opened(host)
        await host.frame(session_id, IMAGE)
        outcome = await host.frame(session_id, IMAGE)
        assert isinstance(outcome, Failed)
        assert outcome.ends_session
        assert outcome.error.code == code
        assert words in str(outcome.error)
        dead = await host.frame(session_id, IMAGE)
        assert isinstance(dead, Dead)
        assert words in dead.reason
        assert dead.error.code == 409
        assert isinstance(await host.frame(other, IMAGE), FrameReply)
        assert await host.close(session_id) == Closed(session_id=session_id, frames=1)
        assert await host.frame(session_id, IMAGE) == Gone()
        assert engine.sessions[0].closed


async def test_a_frame_that_takes_too_long_ends_the_session(clock: Clock) -> None:
    held = Held()
    async with hosting(held.engine, frame_timeout_s=0.05, max_sessions=1, clock=clock) as host:
        session_id = await opened(host)
        outcome = await host.frame(session_id, IMAGE)
        assert outcome == Dead("a frame took longer than 0.05 s")
        assert await host.frame(session_id, IMAGE) == outcome
        await opened(host)  # it takes no room
        assert held.engine.sessions[0].cancelled == 1
        assert held.engine.sessions[0].closed
        clock.now += IDLE_S
        host.reap()
        assert await host.frame(session_id, IMAGE) == Gone()


async def test_the_dead_are_not_remembered_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_table, "MAX_GRAVES", 3)
    async with hosting(FakeEngine(failures={0: EngineFailure("x")})) as host:
        ids = [await opened(host) for _ in range(5)]
        for session_id in ids:
            await host.frame(session_id, IMAGE)
        outcomes = [await host.frame(session_id, IMAGE) for session_id in ids]
        assert [isinstance(outcome, Dead) for outcome in outcomes] == [False, False, True, True, True]


async def test_an_engine_that_is_gone_takes_all_sessions_with_it() -> None:
    observer = Observer()
    engine = GatedEngine(failures={0: EngineError("the engine died", hint="restart it")}, gated=True)
    async with hosting(engine, observer=observer) as host:
        ids = [await opened(host) for _ in range(3)]
        in_flight = []
        for session_id in ids[:2]:
            engine.reached.clear()
            in_flight.append(started(host, session_id))
            await engine.reached.wait()
        assert engine.gate is not None
        engine.gate.set()
        for frame in in_flight:
            outcome = await frame
            assert isinstance(outcome, Failed)
            assert outcome.error.code == 500
            assert str(outcome.error) == "the engine died; restart it"
        for session_id in ids:
            assert await host.frame(session_id, IMAGE) == Dead("the engine died; restart it")
        assert host.open_sessions == 0
        assert host.lost == "the engine died; restart it"
        error = await refusal(host)
        assert error.code == 503
        assert "the engine is gone: the engine died" in str(error)
        assert observer.heard.count("lost: the engine died; restart it") == 1


async def test_an_engine_found_gone_on_opening_takes_all_sessions_with_it() -> None:
    engine = GatedEngine()
    async with hosting(engine) as host:
        session_id = await opened(host)
        engine.open_error = EngineError("the engine died")
        assert (await refusal(host)).code == 503
        assert host.lost == "the engine died"
        assert await host.frame(session_id, IMAGE) == Dead("the engine died")


# Closing.


async def test_close_counts_the_frames_answered() -> None:
    engine = FakeEngine()
    async with hosting(engine) as host:
        session_id = await opened(host)
        for _ in range(3):
            await host.frame(session_id, IMAGE)
        assert await host.close(session_id) == Closed(session_id=session_id, frames=3)
        assert engine.sessions[0].closed
        assert await host.close(session_id) == Gone()
        assert await host.frame(session_id, IMAGE) == Gone()


async def test_close_waits_for_the_frame_in_flight() -> None:
    held = Held()
    async with hosting(held.engine) as host:
        session_id = await opened(host)
        frame = await held.frame(host, session_id)
        closing = asyncio.create_task(host.close(session_id))
        await asyncio.sleep(0)
        assert await host.frame(session_id, IMAGE) == Gone()
        assert not closing.done()
        held.let_go()
        assert isinstance(await frame, FrameReply)
        assert await closing == Closed(session_id=session_id, frames=1)


async def test_a_frame_that_outlives_its_time_while_its_session_is_closed() -> None:
    held = Held()
    async with hosting(held.engine, frame_timeout_s=0.05) as host:
        session_id = await opened(host)
        frame = await held.frame(host, session_id)
        assert await host.close(session_id) == Closed(session_id=session_id, frames=0)
        assert isinstance(await frame, Dead)
        assert await host.frame(session_id, IMAGE) == Gone()


async def test_a_caller_that_leaves_does_not_keep_the_session_open() -> None:
    engine = GatedEngine()
    async with hosting(engine) as host:
        session_id = await opened(host)
        engine.close_gate.clear()
        closing = asyncio.create_task(host.close(session_id))
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])
        engine.close_gate.set()
        await host.shut_down()
        assert engine.left_open == 0


async def test_an_abort_cancels_the_frame_in_the_engine() -> None:
    held = Held()
    async with hosting(held.engine) as host:
        session_id = await opened(host)
        frame = await held.frame(host, session_id)
        assert await host.close(session_id, abort=True) == Closed(session_id=session_id, frames=0)
        assert await frame == Gone()
        await host.shut_down()
        assert held.engine.sessions[0].cancelled == 1


async def test_an_abort_before_the_frame_has_begun() -> None:
    async with hosting(FakeEngine()) as host:
        session_id = await opened(host)
        frame = started(host, session_id)
        await asyncio.sleep(0)  # the call is made, and its work is not begun
        await host.close(session_id, abort=True)
        assert await frame == Gone()
        assert host.frames_in_flight == 0


async def test_an_abort_does_not_wait_for_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_session, "PATIENCE_S", 0.01)
    let_go = asyncio.Event()
    reached = asyncio.Event()

    class Stubborn(FakeSession):
        async def caption(self, frame: Frame) -> FrameReply:
            reached.set()
            while not let_go.is_set():
                try:
                    await let_go.wait()
                except asyncio.CancelledError:
                    self.cancelled += 1
            return FrameReply(frame_index=0, text="too late", token_count=2)

    engine = FakeEngine()
    async with hosting(engine, frame_timeout_s=60) as host:
        session_id = await opened(host)
        engine.sessions[0].__class__ = Stubborn
        frame = started(host, session_id)
        await reached.wait()
        assert isinstance(await host.close(session_id, abort=True), Closed)
        assert await frame == Gone()
        await host.shut_down()  # ends with the engine's patience
        assert engine.sessions[0].closed
        assert engine.sessions[0].cancelled == 1
        let_go.set()
        while host.frames_in_flight:
            await asyncio.sleep(0)


async def test_a_session_that_cannot_be_closed_is_gone_all_the_same(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = FakeEngine()
    host = EngineHost(engine, max_sessions=1)
    session_id = await opened(host)

    async def fail() -> Closed:
        raise RuntimeError("stuck")

    monkeypatch.setattr(engine.sessions[0], "close", fail)
    with caplog.at_level(logging.WARNING):
        assert isinstance(await host.close(session_id), Closed)
    assert "stuck" in caplog.text
    await opened(host)
    await host.shut_down()


# Idle sessions.


async def test_an_idle_session_expires(clock: Clock) -> None:
    engine = FakeEngine()
    async with hosting(engine, clock=clock) as host:
        session_id, longer = await opened(host, 100), await opened(host, 200)
        clock.now += 99
        assert host.reap() == 0
        clock.now += 1
        assert await host.frame(session_id, IMAGE) == Gone()
        assert await host.close(session_id) == Gone()
        assert isinstance(await host.frame(longer, IMAGE), FrameReply)
        assert host.open_sessions == 1


async def test_frames_keep_a_session_alive(clock: Clock) -> None:
    async with hosting(FakeEngine(), clock=clock) as host:
        session_id = await opened(host)
        for _ in range(5):
            clock.now += IDLE_S - 1
            assert isinstance(await host.frame(session_id, IMAGE), FrameReply)


async def test_pictures_that_are_refused_do_not(clock: Clock) -> None:
    async with hosting(FakeEngine(), clock=clock) as host:
        session_id = await opened(host)
        clock.now += IDLE_S - 1
        assert isinstance(await host.frame(session_id, NO_IMAGE), Failed)
        clock.now += 1
        assert await host.frame(session_id, IMAGE) == Gone()


async def test_the_idle_clock_stands_still_while_a_frame_is_in_flight(clock: Clock) -> None:
    held = Held()
    async with hosting(held.engine, clock=clock) as host:
        session_id = await opened(host)
        frame = await held.frame(host, session_id)
        clock.now += 10 * IDLE_S
        assert host.reap() == 0
        held.let_go()
        assert isinstance(await frame, FrameReply)
        clock.now += IDLE_S - 1
        assert host.reap() == 0
        clock.now += 1
        assert host.reap() == 1


async def test_admission_reaps_the_expired_first(clock: Clock) -> None:
    engine = FakeEngine()
    async with hosting(engine, max_sessions=1, clock=clock) as host:
        await opened(host)
        assert (await refusal(host)).code == 503
        clock.now += IDLE_S
        await opened(host)
        assert engine.sessions[0].closed


async def test_a_timer_reaps_too() -> None:
    observer = Observer()
    engine = FakeEngine()
    async with hosting(engine, observer=observer) as host:
        await opened(host, 3600)
        await opened(host, 0.01)  # later opened and earlier over
        await observer.has_ended.wait()
        assert observer.heard == ["opened", "opened", "ended: expired"]
        assert host.open_sessions == 1


async def test_the_timer_waits_for_a_frame_in_flight() -> None:
    observer = Observer()
    held = Held()
    async with hosting(held.engine, observer=observer) as host:
        session_id = await opened(host, 0.02)
        frame = await held.frame(host, session_id)
        other = await opened(host, 0.01)
        await observer.has_ended.wait()
        assert await host.frame(other, IMAGE) == Gone()
        observer.has_ended.clear()
        held.let_go()
        assert isinstance(await frame, FrameReply)
        await observer.has_ended.wait()
        assert host.open_sessions == 0


# Ending.


async def test_a_drain_finishes_frames_and_admits_nothing() -> None:
    held = Held()
    async with hosting(held.engine) as host:
        session_id, idle = await opened(host), await opened(host)
        frame = await held.frame(host, session_id)
        draining = asyncio.create_task(host.drain(60))
        await asyncio.sleep(0)
        assert (await refusal(host)).code == 503
        outcome = await host.frame(idle, IMAGE)
        assert isinstance(outcome, Failed)
        assert outcome.error.code == 503
        assert not outcome.ends_session
        assert not draining.done()
        held.let_go()
        assert isinstance(await frame, FrameReply)
        await draining
        assert isinstance(await host.close(session_id), Closed)


async def test_a_drain_aborts_what_outlives_it() -> None:
    held = Held()
    async with hosting(held.engine) as host:
        session_id = await opened(host)
        frame = await held.frame(host, session_id)
        await host.drain(0.01)
        outcome = await frame
        assert isinstance(outcome, Failed)
        assert outcome.error.code == 503
        assert isinstance(await host.frame(session_id, IMAGE), Dead)


async def test_a_shutdown_releases_everything() -> None:
    held = Held()
    async with hosting(held.engine) as host:
        ids = [await opened(host) for _ in range(3)]
        frame = await held.frame(host, ids[0])
        closing = asyncio.create_task(host.close(ids[0]))
        await asyncio.sleep(0)
        await host.shut_down()
        assert isinstance(await frame, Failed)
        assert isinstance(await closing, Closed)
        assert held.engine.left_open == 0
        assert await host.frame(ids[1], IMAGE) == Gone()
        await host.shut_down()


async def test_a_session_that_opens_after_the_shutdown_is_released() -> None:
    engine = GatedEngine()
    async with hosting(engine) as host:
        engine.open_gate.clear()
        opening = asyncio.create_task(refusal(host))
        await engine.opening.wait()
        await host.shut_down()
        engine.open_gate.set()
        assert (await opening).code == 503
        assert len(engine.sessions) == 1


async def test_what_happens_is_told_once() -> None:
    observer = Observer()
    async with hosting(
        FakeEngine(failures={1: EngineFailure("x")}), observer=observer, max_sessions=1
    ) as host:
        session_id = await opened(host)
        await refusal(host)
        await host.frame(session_id, IMAGE)
        await host.frame(session_id, NO_IMAGE)
        await host.frame(session_id, IMAGE)
        await host.close(session_id)
        await host.close(await opened(host))
        await host.close(await opened(host), abort=True)
    assert observer.heard == [
        "opened", "refused 503", "answered 0", "failed 400", "failed 500", "ended: failed",
        "opened", "ended: closed", "opened", "ended: aborted",
    ]  # fmt: skip


# Any order of anything.

OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["open", "open", "frame", "frame", "answered frame", "answered frame", "bad frame", "close",
             "abort", "leave", "cancel open", "wait", "wait", "wait", "time", "gate", "fail", "drain"]
        ),
        st.integers(0, 5),
    ),
    min_size=5,
    max_size=40,
)  # fmt: skip


async def play(operations: list[tuple[str, int]], *, engine_dies: bool) -> None:
    clock = Clock()
    error = EngineError("died") if engine_dies else EngineFailure("failed")
    engine = GatedEngine(failures={2: error, 3: ValueError("odd"), 4: InputError("bad")}, gated=True)
    gates = [gate for gate in (engine.gate, engine.open_gate, engine.close_gate) if gate is not None]
    observer = Observer()
    host = EngineHost(engine, max_sessions=3, clock=clock, observer=observer)
    openings: list[asyncio.Task[object]] = []
    calls: list[asyncio.Task[object]] = []
    ids: list[str] = []
    for gate in gates:
        gate.set()

    def one(of: list[asyncio.Task[object]], number: int) -> Iterator[asyncio.Task[object]]:
        if of:
            yield of[number % len(of)]

    for name, number in [("open", 0), ("wait", 1), *operations]:
        known = [held.id for held in host._sessions] or ids or ["sess-unknown"]
        session_id = known[number % len(known)]
        match name:
            case "open":
                openings.append(asyncio.create_task(host.open(CONFIG, idle_timeout_s=10 + number)))
            case "frame" | "bad frame":
                image = IMAGE if name == "frame" else NO_IMAGE
                calls.append(asyncio.create_task(host.frame(session_id, image)))
            case "answered frame":
                calls.append(asyncio.create_task(host.frame(session_id, IMAGE)))
                await asyncio.wait(calls[-1:], timeout=0.02)
            case "close" | "abort":
                calls.append(asyncio.create_task(host.close(session_id, abort=name == "abort")))
            case "leave":
                for call in one(calls, number):
                    call.cancel()
            case "cancel open":
                for call in one(openings, number):
                    call.cancel()
            case "wait":  # long enough, as a rule, for pictures to be decoded
                await asyncio.sleep(0.001 * number)
            case "time":
                clock.now += 3 * number
            case "gate":
                gate = gates[number % 3]
                gate.clear() if gate.is_set() else gate.set()
            case "fail":
                engine.open_error = [None, InvalidRequest("no"), ValueError("odd")][number % 3]
            case "drain" if number == 0:
                calls.append(asyncio.create_task(host.drain(0)))
        assert host.open_sessions <= 3
        ids = [
            done.session_id
            for opening in openings
            if opening.done() and not opening.cancelled() and isinstance(done := opening.result(), Created)
        ]
    for gate in gates:
        gate.set()
    await host.shut_down()
    outcomes = await asyncio.gather(*openings, *calls, return_exceptions=True)
    assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    await host.shut_down()
    assert host.open_sessions == 0
    assert host.frames_in_flight == 0
    assert engine.left_open == 0
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    count = Counter(said.split(":")[0].split(" ")[0] for said in observer.heard)
    assert count["opened"] == count["ended"]
    frames = sum(isinstance(outcome, FrameReply) for outcome in outcomes)
    assert frames <= count["answered"]


@given(OPERATIONS, st.booleans())
@settings(max_examples=200, deadline=None)
def test_nothing_is_left_over_whatever_happens(operations: list[tuple[str, int]], engine_dies: bool) -> None:
    logging.disable(logging.CRITICAL)
    try:
        asyncio.run(play(operations, engine_dies=engine_dies))
    finally:
        logging.disable(logging.NOTSET)
