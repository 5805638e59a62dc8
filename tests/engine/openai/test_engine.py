"""Sessions over a stateless server: what it is sent, what it costs, and what becomes of its failures."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from engine.openai.engine import OpenAIEngine
from engine.openai.options import OpenAIOptions
from protocol.client.address import ServerAddress
from protocol.client.backoff import Backoff
from protocol.client.chat_client import ChatClient
from protocol.client.connection import Connection
from protocol.client.settings import ClientSettings
from protocol.context import Image, Text, Turn
from protocol.errors import (
    Conflict,
    EngineFailure,
    FrameRefused,
    FrameTooLarge,
    InvalidRequest,
    NotFound,
    Unavailable,
    UsageError,
)
from protocol.frame import Frame
from protocol.messages import Retention, Sampling, SessionConfig
from tests import chat_server as bad
from tests.chat_server import ChatServer, chat_server, events, models, piece, refuse, say


def frame(number: int = 0, size: tuple[int, int] = (56, 28)) -> Frame:
    return Frame(pixels=np.full((size[1], size[0], 3), number % 256, np.uint8))


def config(**fields: Any) -> SessionConfig:
    return SessionConfig.model_validate({"system_prompt": "Be brief.", **fields})


@asynccontextmanager
async def engine_of(
    server: ChatServer,
    model: str | None = None,
    warnings: list[str] | None = None,
    connection: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[OpenAIEngine]:
    settings = ClientSettings.choose(ServerAddress.parse(server.url), **(connection or {}))
    client = ChatClient(Connection(settings), backoff=Backoff(first_s=0.001, tries=2))
    warn = (warnings if warnings is not None else []).append
    engine = OpenAIEngine(client, model, OpenAIOptions(**options), warn=warn)
    try:
        yield engine
    finally:
        await engine.close()


def short(server: ChatServer) -> list[list[str]]:
    """The conversations that were sent, a letter for each message."""
    letters = {"system": "S", "user": "F", "assistant": "R"}
    return [[letters[message["role"]] for message in chat.json["messages"]] for chat in server.chats]


async def test_the_window_is_sent_and_slides_frame_by_frame() -> None:
    with chat_server() as server:
        async with engine_of(server) as engine:
            asked = config(question="Is it red?", retention=Retention(max_video_segments=3))
            async with await engine.open(asked) as session:
                replies = [await session.caption(frame(number)) for number in range(5)]
    assert [reply.text for reply in replies] == [
        "reply 0 to 1 pictures", "reply 1 to 2 pictures", "reply 2 to 3 pictures",
        "reply 3 to 3 pictures", "reply 4 to 3 pictures",
    ]  # fmt: skip
    assert short(server)[0] == ["S", "F"]
    assert short(server)[2:] == [["S", "F", "R", "F", "R", "F"]] * 3
    first, *_, last = server.chats
    assert first.json["messages"][0] == {"role": "system", "content": "Be brief."}
    parts = first.json["messages"][1]["content"]
    assert [part["type"] for part in parts] == ["image_url", "text"]
    assert parts[1]["text"] == "Is it red?"
    assert [message["content"] for message in last.json["messages"][2::2]] == [
        "reply 2 to 3 pictures",
        "reply 3 to 3 pictures",
    ]
    # Every picture is what it was when it came first.
    assert last.pictures == [chat.pictures[-1] for chat in server.chats[2:]]
    assert len(set(last.pictures)) == 3


async def test_a_stable_prefix_is_kept_where_it_is_asked_for() -> None:
    with chat_server() as server:
        async with engine_of(server, prefix_friendly=True) as engine:
            asked = config(retention=Retention(max_video_segments=8))
            async with await engine.open(asked) as session:
                for number in range(12):
                    await session.caption(frame(number))
    assert [len(chat.pictures) for chat in server.chats] == [1, 2, 3, 4, 5, 6, 7, 8, 4, 5, 6, 7]


async def test_counts_and_times_are_the_servers() -> None:
    with chat_server([say("a", " door", usage={"prompt_tokens": 40, "completion_tokens": 7})]) as server:
        async with engine_of(server) as engine, await engine.open(config()) as session:
            reply = await session.caption(frame())
    assert (reply.text, reply.token_count, reply.finish_reason) == ("a door", 7, "stop")
    assert reply.ttft_s is not None
    assert reply.latency_s is not None
    assert 0 < reply.ttft_s <= reply.latency_s


async def test_a_server_that_counts_nothing_is_told_of_once() -> None:
    warnings: list[str] = []
    with chat_server([say("a ", "red ", "door", counts=False, finish="length")]) as server:
        async with engine_of(server, warnings=warnings) as engine:
            for _ in range(2):
                async with await engine.open(config()) as session:
                    reply = await session.caption(frame())
    assert (reply.token_count, reply.finish_reason) == (3, "length")
    assert len(warnings) == 1
    assert warnings[0].endswith("the server counts no tokens: pieces of the reply are counted instead")


async def test_the_server_counts_pictures_for_the_window() -> None:
    """100 tokens a picture, as the server says, and not the 2 of the guess: so 1024 hold ten of them."""
    with chat_server() as server:
        async with engine_of(server) as engine:
            asked = config(retention=Retention(max_video_segments=50, max_session_tokens=1024))
            async with await engine.open(asked) as session:
                for number in range(40):
                    await session.caption(frame(number))
    shown = [len(chat.pictures) for chat in server.chats]
    assert max(shown) <= 10
    assert min(shown[20:]) >= 7


async def test_options_are_in_every_request() -> None:
    with chat_server() as server:
        options = {"image_detail": "low", "extra_body": {"top_k": 5}, "seed": 3}
        png = {"frame_encoding": "png"}
        async with (
            engine_of(server, connection=png, **options) as engine,
            await engine.open(config()) as session,
        ):
            prepared = frame()
            await session.prepare(prepared)
            await session.caption(prepared)
    body = server.chats[0].json
    assert body["messages"][1]["content"][0]["image_url"]["detail"] == "low"
    assert body["messages"][1]["content"][0]["image_url"]["url"].startswith("data:image/png")
    assert (body["top_k"], body["seed"], body["model"]) == (5, 3, "m")


async def test_half_a_surrogate_pair_does_no_harm() -> None:
    with chat_server([events(piece("a \ud83d", finish="stop"), "[DONE]")]) as server:
        async with engine_of(server) as engine, await engine.open(config(question="Türe? 猫")) as session:
            await session.caption(frame())
            await session.caption(frame())
    sent = server.chats[1].json["messages"]
    assert sent[1]["content"][1]["text"] == "Türe? 猫"
    assert sent[2]["content"] == "a \ud83d"


async def test_a_large_picture_is_scaled_down_and_its_size_is_known() -> None:
    with chat_server() as server:
        async with engine_of(server) as engine, await engine.open(config()) as session:
            large = frame(size=(4000, 2000))
            await session.caption(large)
            width, height = session.shown_size(large)
    assert width * height <= 4_194_304
    assert (width, height) != large.size


# Guides.


async def test_a_choice_is_wrapped_and_unwrapped() -> None:
    warnings: list[str] = []
    with chat_server([say('{"answer": ', '"clear"}')]) as server:
        async with engine_of(server, warnings=warnings) as engine:
            asked = config(sampling=Sampling(guided_choice=["clear", "hazard"]))
            async with await engine.open(asked) as session:
                assert (await session.caption(frame())).text == "clear"
                await session.caption(frame())
    assert warnings == []
    assert server.chats[0].json["response_format"]["type"] == "json_schema"
    assert server.chats[1].json["messages"][2] == {"role": "assistant", "content": "clear"}


async def test_a_server_that_ignores_guides_is_found_out_once_and_its_captions_stay() -> None:
    warnings: list[str] = []
    with chat_server([say("A door.")], listed=models("m", owned_by="vllm")) as server:
        async with engine_of(server, warnings=warnings) as engine:
            asked = config(sampling=Sampling(guided_choice=["clear", "hazard"]))
            async with await engine.open(asked) as session:
                assert [(await session.caption(frame())).text for _ in range(3)] == ["A door."] * 3
    assert server.chats[0].json["structured_outputs"] == {"choice": ["clear", "hazard"]}
    assert len(warnings) == 1
    assert "a reply is none of the choices: the server does not obey --guided-choice" in warnings[0]


async def test_a_reply_that_was_cut_short_is_not_called_disobedient() -> None:
    warnings: list[str] = []
    with chat_server([say('{"cars": ', finish="length")]) as server:
        async with engine_of(server, warnings=warnings) as engine:
            asked = config(sampling=Sampling(guided_json={"type": "object"}))
            async with await engine.open(asked) as session:
                await session.caption(frame())
    assert len(warnings) == 1
    assert "cut short, and --max-tokens allows more (--guided-json)" in warnings[0]


async def test_what_a_server_does_not_take_is_left_out() -> None:
    refusal = refuse(400, "Unrecognized request argument supplied: repetition_penalty")
    with chat_server([refusal, say("A door.")]) as server:
        async with engine_of(server) as engine, await engine.open(config()) as session:
            assert (await session.caption(frame())).text == "A door."
            await session.caption(frame())
    assert ["repetition_penalty" in chat.json for chat in server.chats] == [True, False, False]


async def test_a_model_that_only_thinks_is_told_of() -> None:
    warnings: list[str] = []
    thinking = events(piece(reasoning_content="Hm."), piece(finish="length"), "[DONE]")
    with chat_server([thinking]) as server:
        async with engine_of(server, warnings=warnings) as engine, await engine.open(config()) as session:
            assert (await session.caption(frame())).text == ""
    assert any("the model thought and said nothing; raise --max-tokens" in each for each in warnings)


# Failures.


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refuse(400, "bad picture"), InvalidRequest),
        (refuse(413, "too large"), FrameTooLarge),
        (refuse(422, "bad picture"), InvalidRequest),
        (refuse(429, "slow down"), Unavailable),
    ],
)
async def test_a_frame_that_is_refused_leaves_no_trace(answer: bad.Answer, kind: type[Exception]) -> None:
    tries = 2 if kind is Unavailable else 1
    with chat_server([say(), *[answer] * tries, say()]) as server:
        async with engine_of(server) as engine, await engine.open(config()) as session:
            await session.caption(frame(1))
            with pytest.raises(kind):
                await session.caption(frame(2))
            reply = await session.caption(frame(3))
    assert reply.frame_index == 1
    assert server.chats[-1].pictures[0] == server.chats[0].pictures[0]
    assert len(server.chats[-1].pictures) == 2


async def test_a_server_that_refuses_frame_after_frame_ends_the_session() -> None:
    with chat_server([refuse(400, "At most 1 image(s) may be provided")]) as server:
        async with engine_of(server) as engine, await engine.open(config()) as session:
            for _ in range(2):
                with pytest.raises(InvalidRequest):
                    await session.caption(frame())
            with pytest.raises(EngineFailure, match=r"3 frames in a row: .*At most 1 image.*--max-video-"):
                await session.caption(frame())
            with pytest.raises(Conflict):
                await session.caption(frame())
    assert len(server.chats) == 3


async def test_a_context_that_is_too_long_is_told_with_what_to_do() -> None:
    said = "This model's maximum context length is 2048 tokens"
    with chat_server([refuse(400, said)]) as server:
        async with engine_of(server) as engine, await engine.open(config()) as session:
            with pytest.raises(EngineFailure, match=f"{said}; lower --max-session-tokens"):
                await session.caption(frame())


@pytest.mark.parametrize("answer", [refuse(500, "bad day"), bad.cut("A"), events("nonsense")])
async def test_any_other_failure_ends_the_session(answer: bad.Answer) -> None:
    with chat_server([answer]) as server:
        async with engine_of(server) as engine, await engine.open(config()) as session:
            with pytest.raises(EngineFailure):
                await session.caption(frame())
            with pytest.raises(Conflict):
                await session.caption(frame())
            async with await engine.open(config()) as other:  # the server may be well again
                with pytest.raises(EngineFailure):
                    await other.caption(frame())


async def test_it_goes_on_after_a_failure_where_that_is_asked_for() -> None:
    failures = [refuse(500, "bad day"), bad.cut("A")]
    with chat_server([say(), *failures, say(), *failures, events("nonsense")]) as server:
        async with engine_of(server, goes_on=True) as engine, await engine.open(config()) as session:
            assert (await session.caption(frame(0))).text == "reply 0 to 1 pictures"
            for _ in range(2):
                with pytest.raises(FrameRefused):
                    await session.caption(frame(1))
            assert (await session.caption(frame(3))).text == "reply 3 to 2 pictures"  # its history is whole
            for _ in range(2):
                with pytest.raises(FrameRefused):
                    await session.caption(frame(1))
            with pytest.raises(EngineFailure, match="not JSON"):
                await session.caption(frame(4))


async def test_a_damaged_picture_is_the_frames_affair() -> None:
    with chat_server() as server:
        async with (
            engine_of(server, connection={"frame_encoding": "png"}) as engine,
            await engine.open(config()) as session,
        ):
            damaged = Frame(encoded=b"\xff\xd8\xff not a picture")
            await session.prepare(damaged)
            with pytest.raises(InvalidRequest):
                await session.caption(damaged)
            assert (await session.caption(frame())).frame_index == 0


# Checks.


async def test_the_model_is_found_out_before_anything_is_sent() -> None:
    with chat_server(listed=models("a", "b")) as server:
        async with engine_of(server) as engine:
            with pytest.raises(UsageError, match="has 2 models: a, b"):
                await engine.check(config())
            await engine.check(config(model="b"))
            assert (await engine.open(config(model="b"))).created.model == "b"
            with pytest.raises(NotFound, match="no model 'a' here"):
                await engine.open(config(model="a"))
        async with engine_of(server, "c") as engine:
            with pytest.raises(NotFound, match=r"--model c: .* has a, b"):
                await engine.load()
        assert server.chats == []


async def test_a_session_has_to_fit_the_model() -> None:
    with chat_server(listed=models("m", max_model_len=4096)) as server:
        async with engine_of(server) as engine:
            assert (await engine.load()).retention.max_session_tokens == 4096 - 25 - 512
            session = await engine.open(config(sampling=Sampling(max_tokens=100)))
            assert session.created.retention.max_session_tokens == 4096 - 101 - 512
            with pytest.raises(InvalidRequest, match="below the model's context"):
                await engine.check(config(retention=Retention()))


async def test_a_conversation_is_passed_on() -> None:
    turns = [
        Turn("system", (Text("be brief"),)),
        Turn("user", (Image(frame(), "a"), Text("and"), Image(frame(1), "b"))),
        Turn("assistant", (Text("a door"),)),
        Turn("user", (Text("sure?"),)),
    ]
    with chat_server([say("Yes", ".")]) as server:
        async with engine_of(server) as engine:
            deltas = [delta async for delta in engine.complete(turns, Sampling())]
            for code, kind in ((400, InvalidRequest), (503, Unavailable), (500, EngineFailure)):
                server.answers[:] = [refuse(code, "no")]
                with pytest.raises(kind):
                    [delta async for delta in engine.complete(turns, Sampling())]
    assert [delta.text for delta in deltas] == ["Yes", ".", ""]
    assert (deltas[-1].prompt_tokens, deltas[-1].token_count, deltas[-1].finish_reason) == (220, 3, "stop")
    sent = server.chats[0].json["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    assert [part["type"] for part in sent[1]["content"]] == ["image_url", "text", "image_url"]
    assert json.dumps(sent[3]) == '{"role": "user", "content": "sure?"}'


async def test_a_reply_can_be_cancelled() -> None:
    from engine.openai.context import OpenAIContext
    from engine.openai.requests import ChatRequests
    from engine.openai.sizes import PromptSizes

    with chat_server([say(*"abcdefgh")]) as server:
        client = ChatClient(Connection(ClientSettings.choose(ServerAddress.parse(server.url))))
        context = OpenAIContext(client, ChatRequests("m", "", OpenAIOptions()), PromptSizes())
        await context.append(Turn("user", (Image(frame(), "a"),)))
        reply = context.generate(Sampling())
        assert (await anext(reply)).text == "a"
        await context.cancel()
        rest = [delta async for delta in reply]
        await context.close()
        await client.close()
    assert rest[-1].finish_reason == "abort"
    assert len(rest) < 4
