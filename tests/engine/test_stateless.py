"""One answer to a whole conversation, over the context that the sessions' tests have."""

import numpy as np
import pytest

from engine.stateless import complete_once
from protocol.context import Image, Text, Turn
from protocol.errors import EngineFailure, InvalidRequest
from protocol.frame import Frame
from protocol.messages import Sampling
from tests.engine.test_caption_session import FakeContext

PICTURE = Image(Frame(pixels=np.zeros((2, 2, 3), np.uint8)), "a")
TURNS = [
    Turn("system", (Text("be brief"),)),
    Turn("user", (PICTURE, Text("and this"), PICTURE)),
    Turn("assistant", (Text("a door"),)),
    Turn("user", (Text("sure?"),)),
]


async def test_all_turns_are_answered_and_nothing_is_kept() -> None:
    context = FakeContext()
    admitted: list[tuple[int, int]] = []
    deltas = [
        delta
        async for delta in complete_once(context, TURNS, Sampling(), lambda *size: admitted.append(size))
    ]
    assert context.seen == [TURNS]
    assert admitted == [(2 + 2 + 2 * 16 + 2 + 1, 2)]
    assert "".join(delta.text for delta in deltas).strip() == "reply 0"
    assert deltas[-1].finish_reason == "stop"
    assert context.closed


async def test_what_is_not_admitted_is_not_generated() -> None:
    context = FakeContext()

    def refuse(tokens: int, images: int) -> None:
        raise InvalidRequest("too long")

    with pytest.raises(InvalidRequest, match="too long"):
        [delta async for delta in complete_once(context, TURNS, Sampling(), refuse)]
    assert (context.seen, context.closed) == ([], True)


async def test_a_failure_closes_the_context() -> None:
    context = FakeContext(failing=0)
    with pytest.raises(EngineFailure):
        [delta async for delta in complete_once(context, TURNS, Sampling())]
    assert context.closed
