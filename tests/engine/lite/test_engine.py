import asyncio
import subprocess
import sys

import numpy as np
import pytest

from engine.lite.engine import MODEL, LiteEngine
from protocol.context import Image, Text, Turn
from protocol.errors import EngineError, InvalidRequest, NotFound
from protocol.frame import Frame
from protocol.messages import SERVER_RETENTION, Retention, Sampling, SessionConfig


@pytest.fixture
async def engine():
    engine = LiteEngine()
    yield engine
    await engine.close()


def config(**fields):
    return SessionConfig(system_prompt="Describe the video.", **fields)


async def captions(session, *pictures):
    return [(await session.caption(Frame(pixels=picture))).text for picture in pictures]


async def test_a_session_tells_what_is_in_effect(engine):
    session = await engine.open(config(fps=2.0))
    assert session.created.model == MODEL == "lite-1"
    assert session.created.fps == 2.0
    assert session.created.retention == SERVER_RETENTION
    other = await engine.open(config(model="lite-1", retention=Retention(max_video_segments=3)))
    assert other.created.retention.max_video_segments == 3
    assert other.created.session_id != session.created.session_id


async def test_it_loads_without_a_session(engine):
    served = await engine.load()
    assert (served.model, served.retention) == ("lite-1", SERVER_RETENTION)


def test_what_the_engine_is():
    assert LiteEngine.name == "lite"
    assert LiteEngine.follows_instructions is False


@pytest.mark.parametrize(
    "guide", [{"guided_json": {"type": "object"}}, {"guided_choice": ["a", "b"]}, {"guided_regex": "a+"}]
)
async def test_guided_output_is_refused_with_a_way_out(engine, guide):
    with pytest.raises(InvalidRequest) as caught:
        await engine.open(config(sampling=Sampling(**guide)))
    assert next(iter(guide)) in str(caught.value)
    assert "needs a language-model engine (vllm, openai or a NIM)" in str(caught.value)


async def test_another_model_is_not_found(engine):
    with pytest.raises(NotFound, match="lite-1"):
        await engine.open(config(model="nvidia/cosmos-reason2-8b"))


async def test_instructions_and_sampling_change_nothing(engine, cat):
    plain = await engine.open(config())
    told = await engine.open(
        SessionConfig(
            system_prompt="Answer in French.",
            question="Is it raining?",
            sampling=Sampling(temperature=2.0, top_p=0.1, repetition_penalty=3),
        )
    )
    assert await captions(plain, cat, cat) == await captions(told, cat, cat)


async def test_max_tokens_counts_words(engine, cat):
    session = await engine.open(config(sampling=Sampling(max_tokens=3)))
    replies = [await session.caption(Frame(pixels=cat)) for _ in range(2)]
    assert [(r.text, r.finish_reason, r.token_count) for r in replies] == [
        ("A cat.", "stop", 2),
        ("Nothing moves, with", "length", 3),
    ]


async def test_the_same_frames_get_the_same_captions(engine, tour):
    pictures = [tour(time_s) for time_s in (0.0, 1.0, 2.0, 4.0, 6.0, 7.0, 10.0, 11.0)]
    first = await captions(await engine.open(config()), *pictures)
    assert await captions(await engine.open(config()), *pictures) == first
    other = LiteEngine()
    assert await captions(await other.open(config()), *pictures) == first
    await other.close()


async def test_sessions_at_once_do_not_see_each_other(engine, cat, astronaut, tour):
    one, two = await engine.open(config()), await engine.open(config())
    coffee = tour(2.0)
    together = await asyncio.gather(captions(one, cat, cat, cat), captions(two, astronaut, coffee, coffee))
    alone = [
        await captions(await engine.open(config()), cat, cat, cat),
        await captions(await engine.open(config()), astronaut, coffee, coffee),
    ]
    assert together == alone


async def test_no_more_frames_are_kept_than_retained(engine, cat):
    session = await engine.open(config(retention=Retention(max_video_segments=2)))
    await captions(session, *(np.roll(cat, 30 * n, axis=1) for n in range(5)))
    assert session._describer.remembered == 1


async def test_text_can_be_left_unread(write):
    engine = LiteEngine(reads_text=False)
    (said,) = await captions(await engine.open(config()), write("EXIT 12"))
    assert said == "A blue picture with something bright at the top left."
    await engine.close()


async def test_a_closed_engine_opens_nothing(engine):
    await engine.close()
    await engine.close()
    with pytest.raises(EngineError, match="closed"):
        await engine.open(config())


async def test_nothing_is_printed(engine, write, capfd):
    await captions(await engine.open(config()), write("EXIT 12"), write("EXIT 13"))
    assert capfd.readouterr() == ("", "")


def test_importing_the_engine_is_cheap():
    heavy = ("cv2", "numpy", "onnxruntime", "rapidocr", "PIL", "av")
    script = f"import sys; import engine.lite.engine; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_it_describes_the_last_picture_of_a_conversation(engine):
    red, blue = (
        Frame(pixels=np.full((90, 160, 3), colour, np.uint8)) for colour in ((200, 0, 0), (0, 0, 200))
    )
    turns = [
        Turn("system", (Text("be brief"),)),
        Turn("user", (Image(red, "a"), Image(blue, "b"))),
        Turn("assistant", (Text("so"),)),
        Turn("user", (Text("sure?"),)),
    ]
    (delta,) = [delta async for delta in engine.complete(turns, Sampling())]
    alone = await (await engine.open(config())).caption(blue)
    assert (delta.text, delta.token_count, delta.finish_reason) == (alone.text, alone.token_count, "stop")
    for wrong, sampling in ((turns[3:], Sampling()), (turns, Sampling(guided_choice=["a"]))):
        with pytest.raises(InvalidRequest):
            [delta async for delta in engine.complete(wrong, sampling)]
