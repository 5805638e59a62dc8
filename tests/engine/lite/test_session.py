import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from engine.lite.describer import Describer
from engine.lite.session import LiteSession
from protocol.errors import Conflict, EngineError, EngineFailure, InvalidRequest, NotFound
from protocol.frame import Frame
from protocol.messages import SERVER_RETENTION, Created

CREATED = Created(session_id="s", model="lite-1", fps=1.0, retention=SERVER_RETENTION)


@pytest.fixture
def executor():
    with ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.fixture
def session(scene, executor):
    return LiteSession(CREATED, Describer(scene, None, frames=8), executor, max_words=24)


async def test_replies_count_and_are_timed(session, cat):
    first = await session.caption(Frame(pixels=cat))
    second = await session.caption(Frame(pixels=cat))
    assert (first.frame_index, first.text, first.finish_reason, first.token_count) == (0, "A cat.", "stop", 2)
    assert (second.frame_index, second.text) == (1, "Nothing moves, with a cat in view.")
    assert first.ttft_s == first.latency_s > first.engine_ms / 1000 > 0
    assert first.inqueue_ms >= 0
    assert first.decode_ms is None
    assert first.build_ms is None


async def test_an_encoded_picture_is_decoded_and_that_is_timed(session, cat):
    data = Frame(pixels=cat).encoded("png")
    reply = await session.caption(Frame(encoded=data))
    assert reply.text == "A cat."
    assert reply.decode_ms > 0


async def test_captions_are_cut_at_a_word(scene, executor, cat):
    session = LiteSession(CREATED, Describer(scene, None, frames=8), executor, max_words=1)
    reply = await session.caption(Frame(pixels=cat))
    assert (reply.text, reply.finish_reason, reply.token_count) == ("A", "length", 1)


async def test_a_damaged_picture_is_refused_and_the_session_goes_on(session, cat):
    data = Frame(pixels=cat).encoded("png")
    with pytest.raises(InvalidRequest, match="picture"):
        await session.caption(Frame(encoded=data[: len(data) // 2]))
    assert (await session.caption(Frame(pixels=cat))).frame_index == 0


async def test_one_frame_at_a_time(session, cat):
    first = asyncio.create_task(session.caption(Frame(pixels=cat)))
    await asyncio.sleep(0)
    with pytest.raises(Conflict, match="under way"):
        await session.caption(Frame(pixels=cat))
    assert (await first).frame_index == 0


async def test_waiting_for_others_is_counted(session, executor, cat):
    executor.submit(threading.Event().wait, 0.05)
    reply = await session.caption(Frame(pixels=cat))
    assert reply.inqueue_ms >= 40
    assert reply.latency_s * 1000 >= reply.inqueue_ms + reply.engine_ms


async def test_a_cancelled_frame_is_forgotten(session, executor, cat):
    release = threading.Event()
    executor.submit(release.wait)
    task = asyncio.create_task(session.caption(Frame(pixels=cat)))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()
    reply = await session.caption(Frame(pixels=cat))
    assert (reply.frame_index, reply.text) == (0, "A cat.")


async def test_closing_twice_gives_the_same_answer(session, cat):
    await session.caption(Frame(pixels=cat))
    closed = await session.close()
    assert (closed.session_id, closed.frames) == ("s", 1)
    assert await session.close() == closed
    with pytest.raises(NotFound, match="closed"):
        await session.caption(Frame(pixels=cat))


async def test_a_failure_ends_the_session(executor, cat):
    class Broken(Describer):
        def look(self, pixels, **_):
            raise ZeroDivisionError("by zero")

    session = LiteSession(CREATED, Broken(None, None, frames=8), executor, max_words=24)
    with pytest.raises(EngineFailure, match="by zero"):
        await session.caption(Frame(pixels=cat))
    with pytest.raises(Conflict, match="by zero"):
        await session.caption(Frame(pixels=cat))


async def test_a_failure_without_words_is_named(executor, cat):
    class Broken(Describer):
        def look(self, pixels, **_):
            raise ZeroDivisionError

    session = LiteSession(CREATED, Broken(None, None, frames=8), executor, max_words=24)
    with pytest.raises(EngineFailure, match="failed: ZeroDivisionError"):
        await session.caption(Frame(pixels=cat))


async def test_a_closed_engine_is_told(session, executor, cat):
    executor.shutdown()
    with pytest.raises(EngineError, match="closed"):
        await session.caption(Frame(pixels=cat))


async def test_the_loop_is_free_while_a_frame_is_analysed(session):
    picture = np.zeros((720, 1280, 3), np.uint8)
    picture[100:200, 100:200] = 255
    task = asyncio.create_task(session.caption(Frame(pixels=picture)))
    turns = 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 10
