"""From the thread of a live source to the event loop."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any
from unittest.mock import Mock

import pytest

from cli.video.lookahead import Exhausted
from cli.video.mailbox import MAX_WAITING, Arrival, Given, Mailbox
from protocol.source import Away, Dropped, Ended, Event, Gap


def arrival(number: int) -> Arrival:
    return Arrival(Mock(), float(number), datetime.now(UTC), float(number), Mock())


def told(item: Event | Given) -> Any:
    return (int(item.arrival.time_s), item.dropped) if isinstance(item, Given) else item


async def test_the_newest_frame_wins_and_those_that_were_due_are_counted() -> None:
    box = Mailbox(newest_only=True)
    for number in range(10):
        assert box.offer(arrival(number), due=number % 3 == 0)  # 0, 3, 6, 9
    assert told(await box.get()) == (9, 3)
    box.offer(arrival(10), due=False)
    waiting = asyncio.create_task(box.get())
    await asyncio.sleep(0)
    assert not waiting.done()  # none is due
    box.offer(arrival(11), due=True)
    assert told(await waiting) == (11, 0)


async def test_what_happens_keeps_its_place_among_the_frames() -> None:
    box = Mailbox(newest_only=True)
    away, gap = Away(1.0, "gone"), Gap(1.0, 5.0, "gone")
    box.offer(arrival(0), due=True)
    box.offer(arrival(1), due=True)
    box.put(away)
    box.put(gap)
    box.offer(arrival(5), due=True)
    assert [told(await box.get()) for _ in range(4)] == [(1, 1), away, gap, (5, 0)]


async def test_what_went_by_before_the_consumer_began_is_not_dropped() -> None:
    box = Mailbox(newest_only=True)
    for number in range(5):
        box.offer(arrival(number), due=True)
    await box.filled()
    box.begin()
    assert told(await box.get()) == (4, 0)


async def test_at_the_end_a_busy_consumer_gets_no_old_frame() -> None:
    box, ended = Mailbox(newest_only=True), Ended(5.0, 5)
    box.offer(arrival(0), due=True)
    assert told(await box.get()) == (0, 0)
    for number in range(1, 5):
        box.offer(arrival(number), due=True)
    box.put(ended)
    assert [await box.get() for _ in range(2)] == [Dropped(4), ended]


async def test_at_the_end_a_consumer_that_waits_gets_the_last_frame() -> None:
    box, ended = Mailbox(newest_only=True), Ended(5.0, 5)
    box.offer(arrival(0), due=True)
    box.put(ended)  # before the consumer had any
    assert [told(await box.get()) for _ in range(2)] == [(0, 0), ended]
    box = Mailbox(newest_only=True)
    box.offer(arrival(0), due=True)
    assert told(await box.get()) == (0, 0)
    waiting = asyncio.create_task(box.get())
    await asyncio.sleep(0)
    box.offer(arrival(1), due=True)
    box.put(ended)
    assert told(await waiting) == (1, 0)
    assert await box.get() == ended


async def test_where_all_count_the_thread_waits_for_room() -> None:
    box = Mailbox(newest_only=False)

    def offer_all() -> None:
        for number in range(MAX_WAITING + 4):
            box.offer(arrival(number), due=number != 1)

    thread = asyncio.create_task(asyncio.to_thread(offer_all))
    expected = [number for number in range(MAX_WAITING + 4) if number != 1]
    assert [told(await box.get()) for _ in expected] == [(number, 0) for number in expected]
    await thread


async def test_closing_lets_go_of_the_frame_and_of_the_thread() -> None:
    box = Mailbox(newest_only=True)
    box.offer(arrival(0), due=True)
    box.close()
    assert not box.offer(arrival(1), due=True)
    assert not box.put(Away(0.0, "gone"))
    with pytest.raises(Exhausted):
        await box.get()


async def test_the_end_comes_after_the_last_frame() -> None:
    box = Mailbox(newest_only=True)
    box.offer(arrival(0), due=True)
    box.finish(OSError("broken"))
    assert told(await box.get()) == (0, 0)
    with pytest.raises(OSError, match="broken"):
        await box.get()
    with pytest.raises(OSError, match="broken"):
        await box.filled()
