"""The client of chat completions, over real sockets, with servers that answer well and badly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from protocol.chat_server import Chunk, ListedModel, Usage
from protocol.client.address import ServerAddress
from protocol.client.backoff import Backoff
from protocol.client.chat_client import ChatClient
from protocol.client.connection import Connection
from protocol.client.settings import ClientSettings
from protocol.errors import EngineError, EngineFailure, FrameRefused, Unavailable
from protocol.frame import Frame
from tests import chat_server as bad
from tests.chat_server import ChatServer, chat_server, events, piece, refuse, say, status

BODY = b'{"model":"m","messages":[],"stream":true}'
QUICK = Backoff(first_s=0.001, tries=3)


@asynccontextmanager
async def client_of(url: str, **options: Any) -> AsyncIterator[ChatClient]:
    client = ChatClient(Connection(ClientSettings.choose(ServerAddress.parse(url), **options)), backoff=QUICK)
    try:
        yield client
    finally:
        await client.close()


async def chunks(server: ChatServer, **options: Any) -> list[Chunk]:
    async with client_of(f"{server.url}/v1", **options) as client:
        return [chunk async for chunk in client.reply(BODY)]


async def text(server: ChatServer, **options: Any) -> str:
    return "".join(chunk.text for chunk in await chunks(server, **options))


async def listed(server: ChatServer, path: str = "/v1", **options: Any) -> list[ListedModel] | None:
    async with client_of(f"{server.url}{path}", **options) as client:
        return await client.models()


# Models.


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("", "/v1"), ("/", "/v1"), ("/v1", "/v1"), ("/v1/", "/v1"), ("/a/prefix", "/a/prefix/v1"),
        ("/a/prefix/v1/", "/a/prefix/v1"), ("/api/v3", "/api/v3"), ("/v1beta/openai", "/v1beta/openai"),
    ],
)  # fmt: skip
async def test_the_version_may_be_there_or_not(path: str, root: str) -> None:
    with chat_server([say("yes")], root=root) as server:
        async with client_of(f"{server.url}{path}") as client:
            assert await client.models() == [ListedModel("m")]
            assert [chunk.text async for chunk in client.reply(BODY)][1] == "yes"


async def test_what_a_server_tells_of_its_models() -> None:
    data = {"data": [{"id": "a", "owned_by": "vllm", "max_model_len": 4096}, {"id": "b"}, {"name": "c"}, 3]}
    with chat_server(listed=status(200, data)) as server:
        assert await listed(server) == [ListedModel("a", "vllm", 4096), ListedModel("b")]


async def test_a_server_without_a_list_is_one_if_it_chats() -> None:
    for answer in (refuse(400, "messages is missing"), refuse(404, "no such model"), refuse(422, "no")):
        with chat_server([answer], listed=bad.NOT_THERE) as server:
            assert await listed(server) is None


@pytest.mark.parametrize("path", ["", "/v1", "/wrong"])
async def test_a_wrong_path_is_told_of(path: str) -> None:
    with (
        chat_server(root="/elsewhere") as server,
        pytest.raises(EngineError, match=r"no OpenAI-compatible server: neither .*usually in /v1"),
    ):
        await listed(server, path)


async def test_a_route_that_is_not_there_says_so_in_many_ways() -> None:
    for answer in (
        refuse(404, "Invalid URL (POST /v1/chat/completions)"),
        status(404, {"detail": "Not Found"}),
    ):
        with (
            chat_server([answer], listed=bad.NOT_THERE) as server,
            pytest.raises(EngineError, match="no OpenAI-compatible server"),
        ):
            await listed(server)


async def test_something_else_is_told_of() -> None:
    with (
        chat_server(listed=status(200, "<html>hello</html>", "text/html")) as server,
        pytest.raises(EngineError, match=r"no OpenAI-compatible server: /models is a web page"),
    ):
        await listed(server)


async def test_a_refused_key_is_told_of_and_not_repeated() -> None:
    answer = refuse(401, "Incorrect API key provided: sk-secret")
    with chat_server([answer], listed=answer) as server:
        with pytest.raises(EngineError, match=r"refuses access \(401: Incorrect API key provided: \*\*\*\)"):
            await listed(server, api_key="sk-secret")
        assert server.requests[0].headers["authorization"] == "Bearer sk-secret"
        with pytest.raises(EngineFailure, match=r"provided: \*\*\*\); give a key with"):
            await chunks(server, api_key="sk-secret")
    with (
        chat_server([answer], listed=bad.NOT_THERE) as server,
        pytest.raises(EngineError, match="refuses access"),
    ):
        await listed(server)


async def test_nobody_there_and_still_loading() -> None:
    async with client_of("http://127.0.0.1:1") as client:
        with pytest.raises(Unavailable, match="nothing listens there"):
            await client.models()
        with pytest.raises(EngineFailure, match=r"nothing listens there.*start the server"):
            [chunk async for chunk in client.reply(BODY)]
    with (
        chat_server(listed=refuse(503, "Loading model")) as server,
        pytest.raises(Unavailable, match=r"not ready \(503: Loading model\)"),
    ):
        await listed(server)


# Replies.


async def test_a_reply_in_pieces_with_its_count() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
    with chat_server([say("A ", "door.", usage=usage)]) as server:
        assert await chunks(server) == [
            Chunk(), Chunk("A "), Chunk("door."), Chunk(finish_reason="stop"), Chunk(usage=Usage(9, 3, 4)),
        ]  # fmt: skip
        assert server.chats[0].body == BODY


@pytest.mark.parametrize(
    "answer",
    [
        say("A door.", done=False),
        say("A door.", finish=None),
        say("A door.", counts=False),
        events(piece("A door.", finish="stop"), kind="text/event-stream; charset=utf-8"),
        status(200, {"choices": [{"message": {"content": "A door."}, "finish_reason": "stop"}]}),
        events(piece(content=[{"type": "text", "text": "A door."}], finish="stop")),
        bad.raw(
            b'data: {"choices":[{"delta":{"content":"A "}}]}\r\n\r\n: x\r\n\r\n'
            b'data: {"choices":[{"delta":\r\ndata: {"content":"door."},"finish_reason":"stop"}]}\r\n\r\n'
            b"data: [DONE]\r\n\r\n"
        ),
    ],
)
async def test_what_is_near_enough_is_understood(answer: bad.Answer) -> None:
    with chat_server([answer]) as server:
        assert await text(server) == "A door."


async def test_the_first_piece_comes_before_the_rest_is_there() -> None:
    with chat_server([bad.held("first", " rest")]) as server:
        async with client_of(f"{server.url}/v1") as client:
            reply = client.reply(BODY)
            assert (await anext(reply)).text == "first"
            server.open_gate()
            assert "".join([chunk.text async for chunk in reply]) == " rest"


async def test_the_connection_is_used_again() -> None:
    ports = set()

    async def answer(exchange: bad.Exchange) -> None:
        ports.add(exchange.writer.get_extra_info("peername")[1])
        await say("yes")(exchange)

    with chat_server([answer]) as server:
        async with client_of(f"{server.url}/v1") as client:
            for _ in range(3):
                assert [chunk async for chunk in client.reply(BODY)]
    assert len(ports) == 1


@pytest.mark.parametrize(
    "trouble",
    [
        refuse(429, "slow down"),
        refuse(503, "busy", Retry_After="0"),
        refuse(429, "slow down", Retry_After="0.01"),
        bad.cut(head=False),
    ],
)
async def test_what_may_be_better_later_is_tried_again(trouble: bad.Answer) -> None:
    with chat_server([trouble, trouble, say("yes")]) as server:
        assert await text(server) == "yes"
        assert len(server.chats) == 3


@pytest.mark.parametrize(("code", "said"), [(429, "asked too often"), (503, "has no room now")])
async def test_there_is_an_end_to_trying(code: int, said: str) -> None:
    with chat_server([refuse(code, "come back")]) as server:
        with pytest.raises(
            FrameRefused, match=rf"{said} \({code}\): come back; it was asked 3 times"
        ) as caught:
            await chunks(server)
        assert (caught.value.code, len(server.chats)) == (code, 3)
    with chat_server([refuse(code, "come back", Retry_After="3600")]) as server:
        with pytest.raises(FrameRefused, match="it asks to be left alone for 3600 s"):
            await chunks(server)
        assert len(server.chats) == 1
    with chat_server([refuse(code, "come back", Retry_After="30")]) as server:
        with pytest.raises(FrameRefused, match="come back"):
            await chunks(server, frame_timeout_s=20)
        assert len(server.chats) == 1


async def test_a_long_wait_is_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protocol.client.chat_client._LONG_S", 0.002)
    told: list[str] = []
    with chat_server([refuse(503, "loading")] * 3 + [say("yes")]) as server:
        settings = ClientSettings.choose(ServerAddress.parse(server.url))
        client = ChatClient(Connection(settings), backoff=Backoff(first_s=0.003, tries=4), warn=told.append)
        assert [chunk async for chunk in client.reply(BODY)]
        await client.close()
    assert told == [f"{server.url}: has no room now (503): loading; it is waited for"]


@pytest.mark.parametrize("code", [400, 413, 415, 422])
async def test_a_request_that_is_refused_is_not_sent_again(code: int) -> None:
    with chat_server([refuse(code, "the picture is too large")]) as server:
        with pytest.raises(
            FrameRefused, match=rf"refuses the request \({code}\): the picture is too large"
        ) as caught:
            await chunks(server)
        assert (caught.value.code, len(server.chats)) == (code, 1)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (refuse(500, "CUDA error"), r"did not answer \(500\): CUDA error"),
        (refuse(404, "the model `m` does not exist"), r"did not answer \(404\): the model `m`"),
        (status(502, "<html>Bad gateway</html>", "text/html"), r"did not answer \(502\): HTTP status 502"),
        (bad.NOT_THERE, r"did not answer \(404\)"),
        (status(302, "", Location="http://user:pass@other/"), r"redirects to http://\*\*\*@other/"),
        (status(200, "<html>hello</html>", "text/html"), "answered with a web page"),
        (status(200, "A door.", "text/plain"), "answered with text/plain and not with a stream"),
        (status(200, "{", "application/json"), "what is not JSON"),
        (status(200, {"error": {"message": "bad day"}}), "it failed: bad day"),
        (status(200, {"hello": "there"}), "JSON that is no reply"),
        (events("{]"), "what is not JSON: '{]'"),
        (events([1, 2]), "where a JSON object was expected"),
        (events({"hello": 1}, "[DONE]"), "broke off before its end"),
        (events({"usage": {"prompt_tokens": 3}}, "[DONE]"), "broke off before its end"),
        (events("[DONE]"), "broke off before its end"),
        (events(), "broke off before its end"),
        (
            events(piece("A"), {"error": {"message": "out of memory", "code": 500}}),
            "in mid-answer: out of mem",
        ),
        (bad.raw(b'error: {"code":500,"message":"slot lost"}\n\n'), "in mid-answer: slot lost"),
        (events(piece("A")), "broke off before its end"),
        (bad.cut("A", " door"), "broke off before its end"),
        (events(piece("A" * 100), *["x" * 2**20] * 9), "what is not JSON"),
    ],
)
async def test_what_failed_is_told_once(answer: bad.Answer, said: str) -> None:
    with chat_server([answer]) as server:
        with pytest.raises(EngineFailure, match=said):
            await chunks(server)
        assert len(server.chats) == 1


async def test_an_endless_answer_is_given_up() -> None:
    with (
        chat_server([events(*[piece("x" * 2**20)] * 9)]) as server,
        pytest.raises(EngineFailure, match="has no end"),
    ):
        await chunks(server)


@pytest.mark.parametrize("answer", [bad.silence(), bad.silence("A door")])
async def test_silence_has_an_end(answer: bad.Answer) -> None:
    with chat_server([answer]) as server:
        with pytest.raises(
            EngineFailure, match=r"no whole answer within 0.3 s; --frame-timeout waits longer"
        ):
            await chunks(server, frame_timeout_s=0.3)
        assert len(server.chats) == 1


async def test_a_reply_that_is_given_up_is_closed() -> None:
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def answer(exchange: bad.Exchange) -> None:
        await exchange.head()
        await exchange.event(piece("A"))
        try:
            while True:
                await exchange.event(piece("b"))
                await asyncio.sleep(0.01)
        finally:
            loop.call_soon_threadsafe(gone.set)

    with chat_server([answer]) as server:
        async with client_of(f"{server.url}/v1") as client:
            reply = client.reply(BODY)
            assert (await anext(reply)).text == "A"
            await reply.aclose()
            await gone.wait()


async def test_a_picture_travels_as_a_data_url() -> None:
    frame = Frame(pixels=np.zeros((4, 6, 3), np.uint8))
    async with client_of("http://127.0.0.1:1") as client:
        picture = client.picture(frame)
        assert picture.url.startswith("data:image/jpeg;base64,/9j/")
        assert picture.size == (6, 4)
    async with client_of("http://127.0.0.1:1", frame_encoding="png") as client:
        assert client.picture(frame).url.startswith("data:image/png;base64,iVBOR")
