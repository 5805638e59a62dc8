"""A session of a live source, and the one after it."""

from __future__ import annotations

import numpy as np

from cli.renewable_session import RenewableSession
from protocol.frame import Frame
from protocol.messages import SessionConfig
from tests.fake_engine import FakeEngine

CONFIG = SessionConfig(system_prompt="Describe.")


def frame(pts_s: float) -> Frame:
    return Frame(pixels=np.zeros((4, 4, 3), np.uint8), pts_s=pts_s)


class Clock:
    """Stands still but for what a test adds."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


async def renewable(
    engine: FakeEngine, told: list[str], clock: Clock, idle_timeout_s: float | None = None
) -> RenewableSession:
    async def open_one() -> object:
        session = await engine.open(CONFIG)
        session.idle_timeout_s = idle_timeout_s
        return session

    return RenewableSession(await open_one(), open_one, told.append, clock)


async def test_it_is_the_first_until_it_is_renewed() -> None:
    engine, told = FakeEngine(), []
    session = await renewable(engine, told, Clock())
    assert (await session.caption(frame(1))).text == "frame 0 at 1"
    assert (await session.caption(frame(2))).text == "frame 1 at 2"
    await session.renew()
    await session.renew()
    assert [each.closed for each in engine.sessions] == [True]
    assert session.created.session_id == "fake-0"
    assert (await session.caption(frame(3))).text == "frame 0 at 3"
    assert session.created.session_id == "fake-1"
    assert (await session.close()).frames == 3
    assert [each.closed for each in engine.sessions] == [True, True]
    assert told == []


async def test_one_that_its_server_has_let_go_is_not_asked_any_more() -> None:
    engine, told, clock = FakeEngine(), [], Clock()
    session = await renewable(engine, told, clock, idle_timeout_s=120)
    await session.caption(frame(1))
    clock.now_s += 119
    await session.caption(frame(2))
    clock.now_s += 120
    await session.caption(frame(3))
    assert session.created.session_id == "fake-1"
    assert told == ["no frame for 120 s, longer than a server keeps a session: a new one begins"]
    await session.close()


async def test_one_that_is_kept_for_ever_is_kept() -> None:
    engine, told, clock = FakeEngine(), [], Clock()
    session = await renewable(engine, told, clock)
    clock.now_s += 1e9
    await session.caption(frame(1))
    await session.close()
    assert (len(engine.sessions), told) == (1, [])
