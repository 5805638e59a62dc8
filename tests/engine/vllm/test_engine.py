"""Real vLLM with the sample model: captions right, motion only where it can be known, nothing mixed up."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import av
import pytest
import pytest_asyncio
from numpy.typing import NDArray

from engine.vllm.context import VllmContext
from engine.vllm.engine import VllmEngine
from engine.vllm.options import VllmOptions
from protocol.context import Image, Text, Turn
from protocol.errors import EngineError, InvalidRequest, NotFound, Unavailable
from protocol.frame import Frame
from protocol.messages import FrameReply, Retention, Sampling, SessionConfig

SHAPES = Path(__file__).parents[3] / "samples" / "shapes"
MODEL = str(SHAPES / "model")
GREEDY = Sampling(temperature=0, repetition_penalty=1)
OPTIONS = VllmOptions(
    max_images=16,
    max_model_len=12_000,
    dtype="float32",
    extra={"block_size": 32, "enforce_eager": True, "max_num_seqs": 8},
)

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed"),
    pytest.mark.filterwarnings("default"),  # vLLM's and torch's own
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module", autouse=True)
def environment() -> Iterator[None]:
    settings = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    os.environ.update(settings)
    yield
    for name in settings:
        del os.environ[name]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[VllmEngine]:
    loaded = VllmEngine(MODEL, OPTIONS)
    yield loaded
    await loaded.close()


@pytest.fixture(scope="module")
def pictures() -> list[NDArray]:
    with av.open(str(SHAPES / "shapes.mp4")) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


@pytest.fixture(scope="module")
def truth() -> list[dict[str, str]]:
    return [json.loads(line) for line in (SHAPES / "shapes.jsonl").read_text(encoding="utf-8").splitlines()]


def config(window: int = 8, sampling: Sampling = GREEDY, **changes: object) -> SessionConfig:
    fields = {
        "system_prompt": "Describe each frame in one short sentence.",
        "retention": Retention(max_video_segments=window),
        "sampling": sampling,
    }
    return SessionConfig.model_validate({**fields, **changes})


async def replies(engine: VllmEngine, pictures: list[NDArray], asked: SessionConfig) -> list[FrameReply]:
    async with await engine.open(asked) as session:
        return [await session.caption(Frame(pixels=picture)) for picture in pictures]


@pytest.mark.parametrize("window", [2, 4, 8, 16])
async def test_captions_are_right_and_tell_motion(
    engine: VllmEngine, pictures: list[NDArray], truth: list[dict[str, str]], window: int
) -> None:
    said = [reply.text for reply in await replies(engine, pictures, config(window))]
    right = sum(text == line["caption"] for text, line in zip(said, truth, strict=True))
    assert right >= 0.9 * len(said), said


async def test_no_motion_is_claimed_without_a_frame_before(
    engine: VllmEngine, pictures: list[NDArray], truth: list[dict[str, str]]
) -> None:
    said = [reply.text for reply in await replies(engine, pictures, config(window=1))]
    assert not [text for text in said if "," in text]
    assert sum(text == line["alone"] for text, line in zip(said, truth, strict=True)) >= 0.9 * len(said)


async def test_a_reply_is_complete_and_timed(engine: VllmEngine, pictures: list[NDArray]) -> None:
    first, second = await replies(engine, pictures[:2], config())
    assert (first.frame_index, second.frame_index) == (0, 1)
    assert first.finish_reason == "stop"
    assert 3 <= first.token_count <= 24
    assert 0 < (first.ttft_s or 0) <= (first.latency_s or 0)
    (cut,) = await replies(engine, pictures[:1], config(sampling=Sampling(max_tokens=1, temperature=0)))
    assert (cut.token_count, cut.finish_reason) == (1, "length")


async def test_sessions_side_by_side_do_not_mix(engine: VllmEngine, pictures: list[NDArray]) -> None:
    alone = [
        [reply.text for reply in await replies(engine, pictures[start:], config(4))] for start in range(8)
    ]
    together = await asyncio.gather(*(replies(engine, pictures[start:], config(4)) for start in range(8)))
    assert [[reply.text for reply in each] for each in together] == alone


async def test_a_session_without_a_request_kept_open_says_the_same(
    engine: VllmEngine, pictures: list[NDArray]
) -> None:
    """Half as many sessions as vLLM runs requests keep theirs open; those that come later do not."""
    kept_open = [reply.text for reply in await replies(engine, pictures[:12], config(4))]
    async with contextlib.AsyncExitStack() as others:
        for _ in range(4):
            await others.enter_async_context(await engine.open(config(4)))
        session = await others.enter_async_context(await engine.open(config(4)))
        assert not session._context._resumable
        said = [(await session.caption(Frame(pixels=picture))).text for picture in pictures[:12]]
    assert said == kept_open


async def test_what_is_prepared_ahead_changes_nothing(engine: VllmEngine, pictures: list[NDArray]) -> None:
    plain = [reply.text for reply in await replies(engine, pictures, config(4))]
    frames = [Frame(pixels=picture) for picture in pictures]
    said = []
    async with await engine.open(config(4)) as session:
        for index, frame in enumerate(frames):
            coming = frames[index + 1 : index + 2]
            reply, *_ = await asyncio.gather(session.caption(frame), *map(session.prepare, coming))
            said.append(reply.text)
    assert said == plain


async def test_only_what_is_new_is_computed(engine: VllmEngine, pictures: list[NDArray]) -> None:
    """Between evictions, a prompt is computed from the end of the last reply on, to the token."""
    async with await engine.open(config(16)) as session:
        context = session._context
        computed = []
        for picture in pictures[:10]:
            await context.append(Turn("user", (Image(Frame(pixels=picture), uuid4().hex),)))
            text = ""
            async with contextlib.aclosing(context.generate(GREEDY)) as deltas:
                async for delta in deltas:
                    text += delta.text
            await context.append(Turn("assistant", (Text(text.strip()),)))
            computed.append((delta.prompt_tokens or 0) - (delta.cached_tokens or 0))
    # A turn is 22 tokens, and the end of the reply before it was sampled but never computed.
    assert set(computed[1:]) == {23}


async def test_a_conversation_from_caches_is_one_computed_anew(
    engine: VllmEngine, pictures: list[NDArray]
) -> None:
    """Over several evictions, each reply is that of a conversation whose pictures vLLM has never seen."""
    async with await engine.open(config(4)) as session:
        context = session._context
        for picture in pictures[:12]:
            reply = await session.caption(Frame(pixels=picture))
            anew = VllmContext(context._llm, context._prompter, context._sizes)
            for turn in context._turns[:-1]:
                parts = [
                    replace(part, uuid=uuid4().hex) if isinstance(part, Image) else part
                    for part in turn.parts
                ]
                await anew.append(Turn(turn.role, tuple(parts)))
            text = ""
            async with contextlib.aclosing(anew.generate(GREEDY)) as deltas:
                async for delta in deltas:
                    text += delta.text
            assert text.strip() == reply.text


async def test_the_prompt_is_as_long_as_was_reckoned(engine: VllmEngine, pictures: list[NDArray]) -> None:
    async with await engine.open(config(4, question="What is there?")) as session:
        for picture in pictures[:10]:
            await session.caption(Frame(pixels=picture))
            reckoned = session._window.tokens
            turns = session._context._turns
            real = await session._context._prompter.length([*turns])
            # The template opens an answer after the last reply, which the reckoning has for the next frame.
            assert abs(real - reckoned) <= 2


async def test_guided_replies_obey(engine: VllmEngine, pictures: list[NDArray]) -> None:
    choices = ["clear", "hazard"]
    for reply in await replies(engine, pictures[:3], config(sampling=Sampling(guided_choice=choices))):
        assert reply.text in choices
    for reply in await replies(
        engine, pictures[:2], config(sampling=Sampling(guided_regex=r"[a-z]{3}-\d\d"))
    ):
        assert len(reply.text) == 6
        assert reply.text[3] == "-"
    schema = {
        "type": "object",
        "properties": {"caption": {"type": "string"}},
        "required": ["caption"],
        "additionalProperties": False,
    }
    guided = Sampling(guided_json=schema, temperature=0, repetition_penalty=1, max_tokens=64)
    (reply,) = await replies(engine, pictures[:1], config(sampling=guided))
    assert "square" in json.loads(reply.text)["caption"]


async def test_a_seed_makes_sampling_repeatable(engine: VllmEngine, pictures: list[NDArray]) -> None:
    wild = Sampling(temperature=2, top_p=1, repetition_penalty=1)

    async def said(seed: int) -> str:
        async with await engine.open(config()) as session:
            held = session._context
            context = VllmContext(held._llm, held._prompter, held._sizes, seed=seed)
            await context.append(Turn("user", (Image(Frame(pixels=pictures[0]), uuid4().hex),)))
            async with contextlib.aclosing(context.generate(wild)) as deltas:
                return "".join([delta.text async for delta in deltas])

    assert await said(7) == await said(7)
    assert len({await said(seed) for seed in range(8)}) > 1


async def test_a_cancelled_frame_leaves_the_session_usable(
    engine: VllmEngine, pictures: list[NDArray], truth: list[dict[str, str]]
) -> None:
    async with await engine.open(config()) as session:
        running = asyncio.create_task(session.caption(Frame(pixels=pictures[5])))
        await asyncio.sleep(0.005)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        reply = await session.caption(Frame(pixels=pictures[0]))
    assert (reply.frame_index, reply.text) == (0, truth[0]["alone"])


async def test_admission(engine: VllmEngine) -> None:
    with pytest.raises(NotFound, match="this engine has"):
        await engine.open(config(model="another"))
    with pytest.raises(InvalidRequest, match="max_video_segments"):
        await engine.open(config(window=17))
    with pytest.raises(InvalidRequest, match="below the model's context"):
        await engine.open(config(retention=Retention(max_session_tokens=11_980)))
    async with contextlib.AsyncExitStack() as held:
        with pytest.raises(Unavailable, match="beside the sessions open now"):  # noqa: PT012 - one of them
            for _ in range(100):
                await held.enter_async_context(await engine.open(config()))
    await (await engine.open(config())).close()
    inherited = await engine.open(config(retention=None))
    assert inherited.created.retention == Retention(max_video_segments=8)
    await inherited.close()


async def test_an_engine_that_dies_is_noticed(pictures: list[NDArray]) -> None:
    mortal = VllmEngine(MODEL, OPTIONS)
    try:
        sessions = [await mortal.open(config()) for _ in range(2)]
        for session in sessions:
            await session.caption(Frame(pixels=pictures[0]))
        for process in mortal._llm.engine_core.resources.engine_manager.processes:
            os.kill(process.pid, signal.SIGKILL)
        for session in sessions:
            with pytest.raises(EngineError, match="the vLLM engine died"):
                await session.caption(Frame(pixels=pictures[1]))
        with pytest.raises(EngineError, match="the vLLM engine died"):
            await mortal.open(config())
        for session in sessions:
            await session.close()
    finally:
        await mortal.close()


async def test_a_conversation_is_answered_and_nothing_is_kept_of_it(
    engine: VllmEngine, pictures: list[NDArray]
) -> None:
    async with await engine.open(config()) as session:
        caption = await session.caption(Frame(pixels=pictures[0]))
    picture = Image(Frame(pixels=pictures[0]), uuid4().hex)
    system = Turn("system", (Text("Describe each frame in one short sentence."),))
    deltas = [delta async for delta in engine.complete([system, Turn("user", (picture,))], GREEDY)]
    assert "".join(delta.text for delta in deltas).strip() == caption.text
    assert deltas[-1].finish_reason == "stop"
    assert deltas[-1].token_count == caption.token_count
    many = Turn("user", tuple(Image(Frame(pixels=pictures[0]), uuid4().hex) for _ in range(17)))
    for turn, sampling in ((many, GREEDY), (Turn("user", (picture,)), Sampling(max_tokens=12_000))):
        with pytest.raises(InvalidRequest):
            [delta async for delta in engine.complete([turn], sampling)]
    assert engine._reserved == {}
