"""The policy that turns frames into a conversation, over a context that writes down what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import numpy as np
import pytest

from engine.caption_session import CaptionSession
from protocol.context import Delta, Image, Text, Turn, TurnSize
from protocol.errors import Conflict, EngineFailure, FrameTooLarge, NotFound
from protocol.frame import Frame
from protocol.messages import Created, Retention, Sampling, SessionConfig


class FakeContext:
    """Holds turns, counts a word as a token and a picture as `picture_tokens`, replies with a counter."""

    def __init__(self, *, picture_tokens: int = 16, failing: int | None = None, delay_s: float = 0.0) -> None:
        self.turns: list[Turn] = []
        self.seen: list[list[Turn]] = []
        self.closed = False
        self.prepared: list[Image] = []
        self._picture_tokens = picture_tokens
        self._failing = failing
        self._delay_s = delay_s

    async def prepare(self, image: Image) -> None:
        self.prepared.append(image)

    async def append(self, turn: Turn) -> TurnSize:
        self.turns.append(turn)
        words = sum(len(part.text.split()) for part in turn.parts if isinstance(part, Text))
        pictures = sum(isinstance(part, Image) for part in turn.parts)
        return TurnSize(words + self._picture_tokens * pictures, words)

    async def generate(self, sampling: Sampling) -> AsyncGenerator[Delta, None]:
        number = len(self.seen)
        self.seen.append(list(self.turns))
        yield Delta(" ", 1)
        await asyncio.sleep(self._delay_s)
        if number == self._failing:
            raise EngineFailure("it broke")
        yield Delta(f"reply {number}", 3)
        yield Delta("\n", 4, "stop")

    def drop(self, start: int, stop: int | None) -> None:
        del self.turns[start:stop]

    async def cancel(self) -> None:
        raise AssertionError("not called")

    async def close(self) -> None:
        self.closed = True


async def opened(context: FakeContext, *, question: str = "", **retention: int) -> CaptionSession:
    limits = Retention(**{"max_video_segments": 4, **retention})
    config = SessionConfig(system_prompt="Say what you see.", question=question, retention=limits)
    created = Created(session_id="s", model="m", fps=1.0, retention=limits)
    return await CaptionSession.open(context, created, config, lambda: None)


def frame() -> Frame:
    return Frame(pixels=np.zeros((2, 2, 3), np.uint8))


def said(turns: list[Turn]) -> list[str]:
    """The conversation in short: S and R<n> for what is said, F for a frame, F? with a question."""
    short = []
    for turn in turns:
        words = [part.text for part in turn.parts if isinstance(part, Text)]
        if turn.role == "system":
            short.append("S")
        elif turn.role == "assistant":
            short.append("R" + words[0].removeprefix("reply "))
        else:
            short.append("F?" if words else "F")
    return short


async def test_the_conversation_grows_and_its_oldest_turns_leave_in_blocks() -> None:
    context = FakeContext()
    session = await opened(context, question="Is it red?")
    replies = [await session.caption(frame()) for _ in range(7)]
    assert [said(turns) for turns in context.seen] == [
        ["S", "F?"],
        ["S", "F?", "R0", "F"],
        ["S", "F?", "R0", "F", "R1", "F"],
        ["S", "F?", "R0", "F", "R1", "F", "R2", "F"],
        ["S", "F", "R3", "F"],
        ["S", "F", "R3", "F", "R4", "F"],
        ["S", "F", "R3", "F", "R4", "F", "R5", "F"],
    ]
    assert [reply.text for reply in replies] == [f"reply {n}" for n in range(7)]
    assert [reply.frame_index for reply in replies] == list(range(7))
    assert all(reply.token_count == 4 and reply.finish_reason == "stop" for reply in replies)
    assert all(0 < (reply.ttft_s or 0) <= (reply.latency_s or 0) for reply in replies)


async def test_every_picture_has_a_name_of_its_own() -> None:
    context = FakeContext()
    session = await opened(context)
    for _ in range(3):
        await session.caption(frame())
    names = {part.uuid for turn in context.turns for part in turn.parts if isinstance(part, Image)}
    assert len(names) == 3


async def test_a_prepared_picture_goes_in_under_the_name_it_was_prepared_under() -> None:
    context = FakeContext()
    session = await opened(context)
    first, second = frame(), frame()
    await session.prepare(first)
    await session.caption(first)
    await session.prepare(first)
    await session.caption(second)
    pictures = [part for turn in context.turns for part in turn.parts if isinstance(part, Image)]
    assert pictures[0] is context.prepared[0]
    assert (pictures[1].frame, pictures[1] in context.prepared) == (second, False)


async def test_a_frame_too_large_leaves_the_session_as_it_was() -> None:
    context = FakeContext(picture_tokens=2000)
    session = await opened(context, max_session_tokens=1024)
    with pytest.raises(FrameTooLarge):
        await session.caption(frame())
    assert said(context.turns) == ["S"]
    context._picture_tokens = 16
    assert (await session.caption(frame())).frame_index == 0


async def test_after_a_failure_the_session_is_over() -> None:
    context = FakeContext(failing=1)
    session = await opened(context)
    await session.caption(frame())
    with pytest.raises(EngineFailure, match="it broke"):
        await session.caption(frame())
    with pytest.raises(Conflict, match="an earlier frame of this session failed: it broke"):
        await session.caption(frame())
    assert (await session.close()).frames == 1


async def test_a_cancelled_frame_is_not_remembered() -> None:
    context = FakeContext(delay_s=10)
    session = await opened(context, question="Red?")
    running = asyncio.create_task(session.caption(frame()))
    await asyncio.sleep(0.01)
    with pytest.raises(Conflict, match="another frame of this session is under way"):
        await session.caption(frame())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert said(context.turns) == ["S"]
    context._delay_s = 0
    await session.caption(frame())
    assert said(context.seen[-1]) == ["S", "F?"]  # the question was not answered yet


async def test_closing_twice_says_the_same_and_ends_it() -> None:
    context = FakeContext()
    session = await opened(context)
    await session.caption(frame())
    assert await session.close() == await session.close()
    assert context.closed
    with pytest.raises(NotFound):
        await session.caption(frame())
