"""Sessions that follow lost ones."""

import asyncio

import pytest

from protocol.client import reconnecting_session
from protocol.client.reconnecting_session import MOST_LOSSES, ReconnectingSession
from protocol.errors import EngineError, FrameRefused, NotFound, SessionLost, Unavailable
from protocol.messages import SessionConfig
from tests.fake_engine import FakeEngine, FakeSession
from tests.protocol.client.pictures import frame

CONFIG = SessionConfig(system_prompt="Describe.")


async def over(
    engine: FakeEngine, *refusals: Exception, warnings: list[str] | None = None
) -> ReconnectingSession:
    """A session over `engine`; reopening first meets `refusals`, one after the other."""
    left = list(refusals)

    async def reopen() -> FakeSession:
        if left:
            raise left.pop(0)
        return await engine.open(CONFIG)

    heard = warnings if warnings is not None else []
    return ReconnectingSession(await engine.open(CONFIG), reopen, heard.append)


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconnecting_session, "_FIRST_PAUSE_S", 0.001)


async def test_the_frame_is_given_up_and_the_next_begins_a_new_session() -> None:
    engine = FakeEngine(failures={1: SessionLost("the connection broke", code=1006)})
    session = await over(engine)
    assert (await session.caption(frame())).frame_index == 0
    with pytest.raises(FrameRefused, match="the connection broke") as caught:
        await session.caption(frame())
    assert (caught.value.code, caught.value.session_lost) == (1006, True)
    assert session.created.session_id == "fake-0"  # the one that was lost
    assert engine.sessions[0].closed
    assert (await session.caption(frame())).frame_index == 0
    assert session.created.session_id == "fake-1"
    assert (await session.close()).frames == 2
    assert engine.sessions[1].closed


async def test_other_errors_are_passed_on() -> None:
    engine = FakeEngine(failures={0: FrameRefused("too large", code=413), 1: EngineError("nonsense")})
    session = await over(engine)
    with pytest.raises(FrameRefused, match="too large"):
        await session.caption(frame())
    with pytest.raises(EngineError, match="nonsense"):
        await session.caption(frame())
    assert len(engine.sessions) == 1


async def test_it_waits_for_a_server_that_is_away_and_says_so_once() -> None:
    engine = FakeEngine(failures={1: SessionLost("lost")})
    warnings: list[str] = []
    session = await over(engine, *[Unavailable("h: nothing listens there")] * 3, warnings=warnings)
    await session.caption(frame())
    with pytest.raises(FrameRefused):
        await session.caption(frame())
    assert (await session.caption(frame())).frame_index == 0
    assert warnings == ["h: nothing listens there; trying again for up to 300 s"]


async def test_it_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconnecting_session, "PATIENCE_S", 0.01)
    session = await over(FakeEngine(failures={0: SessionLost("lost")}), *[Unavailable("h: away")] * 99)
    with pytest.raises(FrameRefused):
        await session.caption(frame())
    with pytest.raises(SessionLost, match=r"h: away, tried for 0\.01 s"):
        await session.caption(frame())
    await session.close()


async def test_a_server_that_has_become_another_is_not_waited_for() -> None:
    session = await over(FakeEngine(failures={0: SessionLost("lost")}), NotFound("no such model"))
    with pytest.raises(FrameRefused):
        await session.caption(frame())
    with pytest.raises(NotFound):
        await session.caption(frame())


async def test_sessions_that_are_all_lost_at_once_come_to_an_end() -> None:
    engine = FakeEngine(failures={0: SessionLost("lost")})
    session = await over(engine)
    for _ in range(MOST_LOSSES - 1):
        with pytest.raises(FrameRefused):
            await session.caption(frame())
    with pytest.raises(SessionLost):
        await session.caption(frame())
    assert len(engine.sessions) == MOST_LOSSES
    assert all(each.closed for each in engine.sessions)


async def test_cancelled_while_waiting_it_ends() -> None:
    session = await over(FakeEngine(failures={0: SessionLost("lost")}), *[Unavailable("h: away")] * 9999)
    with pytest.raises(FrameRefused):
        await session.caption(frame())
    waiting = asyncio.create_task(session.caption(frame()))
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert session.shown_size(frame()) == (64, 48)
    await session.close()
