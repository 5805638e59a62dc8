import asyncio
import threading
import time

import pytest

from cli.video.lookahead import Exhausted, Lookahead


def in_thread(work, *arguments) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


async def test_items_arrive_in_order_and_then_the_end() -> None:
    queue: Lookahead[int] = Lookahead(3)

    def work() -> None:
        for number in range(100):
            queue.put(number)
        queue.finish()

    in_thread(work)
    assert [await queue.get() for _ in range(100)] == list(range(100))
    with pytest.raises(Exhausted):
        await queue.get()


async def test_a_full_queue_makes_the_thread_wait() -> None:
    queue: Lookahead[int] = Lookahead(2)
    done: list[int] = []

    def work() -> None:
        for number in range(5):
            queue.put(number)
            done.append(number)

    in_thread(work)
    await asyncio.sleep(0.1)
    assert done == [0, 1]
    await queue.get()
    await asyncio.sleep(0.1)
    assert done == [0, 1, 2]
    queue.close()


async def test_the_threads_error_comes_after_its_items() -> None:
    queue: Lookahead[int] = Lookahead(2)
    queue.put(1)
    queue.finish(ValueError("broken"))
    assert await queue.get() == 1
    with pytest.raises(ValueError, match="broken"):
        await queue.get()


async def test_close_frees_a_waiting_thread_and_a_waiting_consumer() -> None:
    queue: Lookahead[int] = Lookahead(1)
    accepted: list[bool] = []
    queue.put(0)
    thread = in_thread(lambda: accepted.append(queue.put(1)))
    await asyncio.sleep(0.05)
    queue.close()
    thread.join(1)
    assert accepted == [False]
    assert queue.closed
    with pytest.raises(Exhausted):
        await queue.get()

    empty: Lookahead[int] = Lookahead(1)
    waiting = asyncio.create_task(empty.get())
    await asyncio.sleep(0)
    empty.close()
    with pytest.raises(Exhausted):
        await waiting


async def test_waiting_can_be_cancelled_at_once() -> None:
    queue: Lookahead[int] = Lookahead(1)
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0.01)
    before = time.perf_counter()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert time.perf_counter() - before < 0.1


async def test_finished_tells_a_thread_that_hangs() -> None:
    queue: Lookahead[int] = Lookahead(1)
    assert not await queue.finished(0.05)
    in_thread(lambda: (time.sleep(0.05), queue.finish()))
    assert await queue.finished(5)


def test_a_loop_that_is_gone_wants_nothing() -> None:
    async def make() -> Lookahead[int]:
        return Lookahead(2)

    queue = asyncio.run(make())
    assert queue.put(1) is False
    queue.finish()
