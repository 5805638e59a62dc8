"""When the sessions of a host are called over."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock

from protocol.server.held_session import HeldSession
from protocol.server.session_table import SessionTable


def held(name: str, *, idle_since: float, idle_timeout_s: float = 1.0) -> HeldSession:
    return HeldSession(name, Mock(), idle_timeout_s=idle_timeout_s, now=idle_since)


async def test_a_second_session_may_come_while_the_first_is_about_to_be_called() -> None:
    called = asyncio.Event()
    table = SessionTable(lambda: 2.0, called.set)
    table.add(held("over already", idle_since=0.0))
    table.add(held("over later", idle_since=1.5))
    async with asyncio.timeout(5):
        await called.wait()
    assert [each.id for each in table.expired()] == ["over already"]
    table.clear()


async def test_the_session_that_is_over_first_is_called_first() -> None:
    called = asyncio.Event()
    table = SessionTable(lambda: 2.0, called.set)
    table.add(held("over in an hour", idle_since=2.0, idle_timeout_s=3600.0))
    table.add(held("over already", idle_since=0.0))
    async with asyncio.timeout(5):
        await called.wait()
    table.clear()
