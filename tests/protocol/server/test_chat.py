from __future__ import annotations

import asyncio
import base64
import json
import socket

import pytest
import pytest_asyncio

from protocol.context import Delta, Image, Text
from protocol.errors import EngineError, EngineFailure, InvalidRequest, Unavailable
from protocol.limits import (
    DEFAULT_CHAT_MAX_TOKENS,
    MAX_CHAT_BODY_BYTES,
    MAX_CHAT_PICTURES,
    MAX_CHAT_PIXELS,
    MAX_FRAME_BYTES,
    MAX_FRAME_PIXELS,
)
from protocol.server.app import create_app
from protocol.server.chat_flight import ChatFlight
from protocol.server.picture_fetcher import PictureFetcher
from protocol.server.readiness import Readiness
from protocol.server.settings import ServerSettings
from tests.fake_engine import FakeEngine
from tests.protocol.server.running import error, picture, running

PATH = "/v1/chat/completions"
FRAME = picture()

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server():
    """One for all tests that leave nothing behind."""
    async with running(FakeEngine()) as server:
        yield server


def url(data: bytes = FRAME) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"


def image(data: bytes | str = FRAME) -> dict:
    return {"type": "image_url", "image_url": {"url": data if isinstance(data, str) else url(data)}}


def words(text: str = "What is this?") -> dict:
    return {"type": "text", "text": text}


def asking(*parts: dict, **fields) -> dict:
    return {"messages": [{"role": "user", "content": list(parts) or [words(), image()]}], **fields}


async def said(server, body: dict) -> dict:
    answer = await server.client.post(PATH, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def asked(server, body: dict):
    """What became of the request: the engine's turns and sampling."""
    await said(server, body)
    return server.engine.conversations[-1]


def events(text: str) -> list[dict]:
    """What was in a stream's events, without the one that ends it."""
    assert text.endswith("\n\n")
    lines = text.removesuffix("\n\n").split("\n\n")
    assert all(line.startswith("data: ") for line in lines)
    assert lines.pop() == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines]


# What is asked and answered.


async def test_a_conversation_is_answered(server):
    completion = await said(server, asking(model="fake-1"))
    assert completion["id"].startswith("chatcmpl-")
    assert (completion["object"], completion["model"]) == ("chat.completion", "fake-1")
    assert completion["created"] > 1_700_000_000
    [choice] = completion["choices"]
    assert (choice["index"], choice["finish_reason"]) == (0, "stop")
    assert choice["message"] == {"role": "assistant", "content": "1 turns and 1 pictures", "refusal": None}
    assert completion["usage"] == {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    assert (await said(server, asking()))["id"] != completion["id"]


async def test_messages_become_turns_in_their_order(server):
    turns, _ = await asked(
        server,
        {
            "messages": [
                {"role": "developer", "content": "Be brief."},
                {"role": "system", "content": [words("Very.")]},
                {"role": "user", "content": [image(), words("And this?"), image(picture(kind="PNG"))]},
                {"role": "assistant", "content": "A picture.", "tool_calls": None, "audio": None},
                {"role": "user", "content": [{"type": "image_url", "image_url": url()}], "name": "me"},
            ]
        },
    )
    assert [turn.role for turn in turns] == ["system", "system", "user", "assistant", "user"]
    assert turns[0].parts == (Text("Be brief."),)
    first, text, second = turns[2].parts
    assert text == Text("And this?")
    assert (first.frame.size, second.frame.size) == ((64, 48), (64, 48))
    again = turns[4].parts[0]
    assert isinstance(again, Image)
    assert again.uuid == first.uuid != second.uuid


async def test_what_is_absent_is_openais_default(server):
    _, usual = await asked(server, asking())
    _, null = await asked(
        server, asking(max_tokens=None, temperature=None, top_p=None, frequency_penalty=None, stream=None)
    )
    assert usual == null
    assert (usual.max_tokens, usual.temperature, usual.top_p) == (DEFAULT_CHAT_MAX_TOKENS, 1.0, 1.0)
    assert (usual.frequency_penalty, usual.repetition_penalty, usual.guide) == (0.0, 1.0, None)


async def test_sampling_is_passed_on(server):
    given = {"temperature": 0, "top_p": 0.5, "frequency_penalty": -1, "repetition_penalty": 1.2}
    _, sampling = await asked(server, asking(max_tokens=7, **given))
    assert sampling.max_tokens == 7
    assert {name: getattr(sampling, name) for name in given} == given
    _, sampling = await asked(server, asking(max_tokens=7, max_completion_tokens=9))
    assert sampling.max_tokens == 9


@pytest.mark.parametrize("stop", [" and", ["pictures", " and"], [" 1", "", "s and"]])
@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_ends_before_a_stop(stop, stream):
    engine = FakeEngine(gated=True)  # the last word never comes
    async with running(engine) as server:
        answer = await server.client.post(PATH, json=asking(stop=stop, stream=stream))
        if stream:
            chunks = [each["choices"][0] for each in events(answer.text)]
            text = "".join(each["delta"].get("content", "") for each in chunks)
            reason = chunks[-1]["finish_reason"]
        else:
            [choice] = answer.json()["choices"]
            text, reason = choice["message"]["content"], choice["finish_reason"]
        assert (text, reason) == ("1 turn" if "s and" in stop else "1 turns", "stop")
        assert engine.given_up == 1


SCHEMA = {"type": "object", "properties": {"kind": {"type": "string"}}}


@pytest.mark.parametrize(
    ("fields", "guide", "value"),
    [
        ({"response_format": {"type": "text"}}, None, None),
        ({"response_format": {"type": "json_object"}}, "guided_json", {"type": "object"}),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}},
            "guided_json",
            SCHEMA,
        ),
        ({"guided_json": SCHEMA}, "guided_json", SCHEMA),
        ({"guided_choice": ["yes", "no"]}, "guided_choice", ["yes", "no"]),
        ({"guided_regex": "a+"}, "guided_regex", "a+"),
        ({"structured_outputs": {"json": SCHEMA}}, "guided_json", SCHEMA),
        ({"structured_outputs": {"json_object": True}}, "guided_json", {"type": "object"}),
        ({"structured_outputs": {"choice": ["a"]}, "guided_json": None}, "guided_choice", ["a"]),
        ({"structured_outputs": {"regex": "b*"}}, "guided_regex", "b*"),
    ],
)
async def test_every_way_to_constrain_the_answer(server, fields, guide, value):
    _, sampling = await asked(server, asking(**fields))
    assert sampling.guide == guide
    assert guide is None or getattr(sampling, guide) == value


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "me", "metadata": {"a": "b"}, "store": True, "service_tier": "auto", "later": {"x": 1}},
        {
            "n": 1,
            "logprobs": False,
            "tools": [],
            "tool_choice": "none",
            "presence_penalty": 0.0,
            "stop": None,
        },
        {"modalities": ["text"], "logit_bias": {}, "top_k": -1, "min_p": 0, "parallel_tool_calls": True},
        {"temperature": 0, "seed": 42},
        {"stream_options": None, "response_format": None},
    ],
)
async def test_what_changes_nothing_is_ignored(server, fields):
    await said(server, asking(**fields))


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"n": 2}, "n other than 1"),
        ({"n": True}, "n"),
        ({"presence_penalty": 0.5}, "presence_penalty"),
        ({"logprobs": True}, "logprobs"),
        ({"logit_bias": {"5": 1}}, "logit_bias"),
        ({"tools": [{"type": "function"}]}, "tools"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"functions": [{}]}, "functions"),
        ({"audio": {"voice": "x"}}, "audio"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"web_search_options": {}}, "web_search_options"),
        ({"seed": 42}, "seed"),
        ({"seed": 42, "temperature": 0.5}, "seed"),
        ({"top_k": 40}, "top_k"),
        ({"guided_grammar": "root ::= 'a'"}, "guided_grammar"),
        ({"structured_outputs": {"grammar": "root ::= 'a'"}}, "structured_outputs.grammar"),
        ({"messages": [{"role": "tool", "content": "4", "tool_call_id": "a"}]}, "messages[0]: tools"),
        (
            {"messages": [{"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]}]},
            "messages[0]: tool_calls",
        ),
    ],
)
async def test_what_is_not_supported_is_said_and_not_ignored(server, fields, named):
    before = len(server.engine.conversations)
    message = error(await server.client.post(PATH, json={**asking(), **fields}), 400)
    assert message.startswith(named)
    assert "not supported" in message
    assert len(server.engine.conversations) == before


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": None}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": []}]}, "messages.0.content"),
        ({"messages": [{"role": "robot", "content": "a"}]}, "messages.0.role"),
        (asking({"type": "input_audio", "input_audio": {}}), "input_audio"),
        (asking({"type": "text"}), "text"),
        (asking({"type": "image_url"}), "image_url"),
        (asking(max_tokens=0), "max_tokens"),
        (asking(temperature=2.5), "temperature"),
        (asking(temperature="warm"), "temperature"),
        (asking(top_p=0), "top_p"),
        (asking(frequency_penalty=3), "frequency_penalty"),
        (asking(repetition_penalty=0), "repetition_penalty"),
        (asking(response_format={"type": "yaml"}), "response_format.type"),
        (asking(response_format={"type": "json_schema"}), "json_schema"),
        (asking(guided_regex="("), "guided_regex"),
        (asking(structured_outputs={"regex": "("}), "structured_outputs.regex"),
        (asking(guided_choice=[]), "guided_choice"),
        (asking(guided_choice=["a"], response_format={"type": "json_object"}), "response_format and guided"),
        (asking(structured_outputs={"regex": "a", "choice": ["a"]}), "at most one"),
        (asking(stop=["."] * 17), "stop"),
        (asking(stop=5), "stop"),
        (asking(guided_choice=[5] * 100_000), "guided_choice"),
        (asking(*[{"type": "text"}] * 1025), "1,024"),
        ({"messages": [{}] * 1025}, "1,024"),
        ([], "object"),
    ],
)  # fmt: skip
async def test_what_is_wrong_is_400_and_named(server, body, named):
    assert named in error(await server.client.post(PATH, json=body), 400)


@pytest.mark.parametrize("body", [b"", b"{", b'{"messages": NaN}', b'{"model": "\\ud800"}'])
async def test_a_body_that_is_not_json_is_400(server, body):
    error(await server.client.post(PATH, content=body, headers={"Content-Type": "application/json"}), 400)


async def test_another_media_type_is_415(server):
    error(await server.client.post(PATH, content=b"{}", headers={"Content-Type": "text/plain"}), 415)


async def test_another_model_is_404_and_the_one_there_is_is_named(server):
    message = error(await server.client.post(PATH, json=asking(model="gpt-4o")), 404)
    assert "gpt-4o" in message
    assert "fake-1" in message


async def test_errors_have_what_openais_clients_read(server):
    answer = await server.client.post(PATH, json=asking(model="gpt-4o"))
    assert answer.json()["error"] == {
        "message": "no model 'gpt-4o' here; this server has 'fake-1'",
        "type": "invalid_request_error",
        "param": None,
        "code": 404,
    }
    error(await server.client.get(PATH), 405)
    error(await server.client.get("/v1/models/gpt-4o"), 404)
    error(await server.client.post("/v1/chat/nowhere", json={}), 404)


# Pictures.


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (image("data:image/jpeg;base64,not base64!"), "not base64"),
        (image("data:image/jpeg;base64,"), "empty"),
        (image(b"GIF89a not a picture"), "JPEG or PNG"),
        (image(FRAME[: len(FRAME) // 2]), "truncated"),
        (image("data:image/jpeg,abc"), "without base64"),
        (image("data:image/jpeg"), "without base64"),
        (image(base64.b64encode(FRAME).decode()), "expected a data: URL"),
        (image("file:///etc/passwd"), "expected a data: URL"),
        (image("http://pictures.example/a.jpg"), "--allow-image-urls"),
        (image("HTTPS://pictures.example/a.jpg"), "--allow-image-urls"),
    ],
)
async def test_a_picture_that_is_none_is_400_and_its_place_is_told(server, part, said):
    message = error(await server.client.post(PATH, json=asking(words(), part)), 400)
    assert message.startswith("messages[0].content[1]: ")
    assert said in message


@pytest.mark.parametrize(
    "start", ["data:image/png;base64,", "DATA:;BASE64,", "data:image/jpeg;name=a;base64,"]
)
async def test_a_picture_is_taken_for_what_it_is_whatever_it_is_called(server, start):
    await said(server, asking(image(start + base64.b64encode(FRAME).decode())))


@pytest.mark.parametrize("role", ["system", "developer", "assistant"])
async def test_only_users_have_pictures(server, role):
    body = {"messages": [{"role": role, "content": [image()]}]}
    assert role in error(await server.client.post(PATH, json=body), 400)


async def test_the_limits_of_one_picture(server):
    largest = FRAME + bytes(MAX_FRAME_BYTES - len(FRAME))
    await said(server, asking(image(largest)))
    message = error(await server.client.post(PATH, json=asking(image(largest + b"0"))), 413)
    assert message.startswith("messages[0].content[0]: ")
    await said(server, asking(image(picture(2048, 2048))))
    assert "pixels" in error(await server.client.post(PATH, json=asking(image(picture(2049, 2048)))), 413)


async def test_the_limits_of_all_pictures(server):
    most = [image()] * MAX_CHAT_PICTURES
    await said(server, asking(*most))
    assert "33" in error(await server.client.post(PATH, json=asking(*most, image())), 400)
    large = [image(picture(2048, 2048))] * (MAX_CHAT_PIXELS // MAX_FRAME_PIXELS)
    message = error(await server.client.post(PATH, json=asking(*large, image())), 413)
    assert "together" in message


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_over_its_limit_is_413(server, declared):
    async def chunks():
        for _ in range(MAX_CHAT_BODY_BYTES // 2**20 + 1):
            yield bytes(2**20)

    content = bytes(MAX_CHAT_BODY_BYTES + 1) if declared else chunks()
    headers = {"Content-Type": "application/json"}
    error(await server.client.post(PATH, content=content, headers=headers), 413)


async def test_pictures_are_fetched_where_that_is_allowed():
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + FRAME)
        writer.close()
        await writer.wait_closed()

    site = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = site.sockets[0].getsockname()[1]
    open_to_all = PictureFetcher(allowed=lambda address: True)
    async with site, running(FakeEngine(), chat={"fetcher": open_to_all}) as server:
        [turn], _ = await asked(server, asking(image(f"http://127.0.0.1:{port}/a.jpg"), image()))
        fetched, sent = turn.parts
        assert fetched.uuid == sent.uuid
    async with running(FakeEngine(), chat={"fetcher": PictureFetcher()}) as server:
        body = asking(image(f"http://127.0.0.1:{port}/a.jpg"))
        message = error(await server.client.post(PATH, json=body), 400)
        assert message.startswith("messages[0].content[0]: cannot fetch http://127.0.0.1")


# Streams.


async def test_a_stream_has_the_role_then_the_words_then_the_end(server):
    answer = await server.client.post(PATH, json=asking(stream=True))
    assert answer.headers["content-type"].startswith("text/event-stream")
    first, *parts, last = events(answer.text)
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(each["choices"][0]["delta"]["content"] for each in parts) == "1 turns and 1 pictures"
    assert last["choices"][0]["delta"] == {}
    assert [each["choices"][0]["finish_reason"] for each in (first, *parts, last)] == [
        None,
        *[None for _ in parts],
        "stop",
    ]
    chunks = [first, *parts, last]
    assert {each["object"] for each in chunks} == {"chat.completion.chunk"}
    assert len({each["id"] for each in chunks}) == len({each["created"] for each in chunks}) == 1
    assert not [each for each in chunks if "usage" in each]


async def test_a_stream_counts_its_tokens_where_that_is_asked_for(server):
    body = asking(stream=True, stream_options={"include_usage": True})
    *chunks, last = events((await server.client.post(PATH, json=body)).text)
    assert {each["usage"] for each in chunks} == {None}
    assert last["choices"] == []
    assert (last["usage"]["total_tokens"], last["usage"]["prompt_tokens_details"]) == (
        15,
        {"cached_tokens": 4},
    )


async def test_words_are_sent_while_the_engine_goes_on():
    engine = FakeEngine(gated=True)
    async with (
        running(engine) as server,
        server.client.stream("POST", PATH, json=asking(stream=True)) as answer,
    ):
        lines = answer.aiter_lines()
        text = ""
        while text != "1 turns and 1":  # the last word waits for the gate
            line = await anext(lines)
            if line:
                [choice] = json.loads(line.removeprefix("data: "))["choices"]
                text += choice["delta"]["content"]
        engine.gate.set()
        assert " pictures" in "".join([line async for line in lines])


async def test_an_error_in_mid_stream_is_an_event_and_ends_it():
    engine = FakeEngine(gated=True, failures={4: EngineFailure("out of memory")})
    async with running(engine) as server:
        async with server.client.stream("POST", PATH, json=asking(stream=True)) as answer:
            assert answer.status_code == 200
            engine.gate.set()
            *_, last = [line async for line in answer.aiter_lines() if line]
        assert json.loads(last.removeprefix("data: ")) == {
            "error": {"message": "out of memory", "type": "server_error", "param": None, "code": 500}
        }
        assert server.count("stream_errors_total", code="500") == 1


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (InvalidRequest("the model takes no pictures"), 400),
        (Unavailable("no room"), 503),
        (EngineFailure("out of memory"), 500),
        (RuntimeError("surprise"), 500),
    ],
)
async def test_an_error_before_the_first_word_is_the_status(stream, failure, code):
    async with running(FakeEngine(failures={0: failure})) as server:
        answer = await server.client.post(PATH, json=asking(stream=stream))
        assert str(failure) in error(answer, code)


# What surrounds the engine.


async def test_a_lost_engine_is_500_and_then_503():
    async with running(FakeEngine(failures={0: EngineError("the engine's process died")})) as server:
        assert "died" in error(await server.client.post(PATH, json=asking()), 500)
        assert "died" in error(await server.client.post(PATH, json=asking()), 503)


async def test_an_engine_without_chat_is_400():
    class Mute(FakeEngine):
        complete = FakeEngine.__mro__[1].complete

    async with running(Mute()) as server:
        assert "does not chat" in error(await server.client.post(PATH, json=asking()), 400)


async def test_while_the_engine_loads_it_is_503():
    async with running(FakeEngine(), ready=False) as server:
        error(await server.client.post(PATH, json=asking()), 503)
        error(await server.client.get("/v1/models/fake-1"), 503)


async def test_a_server_that_is_told_to_stop_answers_503():
    async with running(FakeEngine()) as server:
        server.readiness.draining = True
        error(await server.client.post(PATH, json=asking()), 503)


async def test_without_a_host_it_is_501():
    async with running(FakeEngine(), hosted=False) as server:
        error(await server.client.post(PATH, json=asking()), 501)


async def test_without_streaming_sessions_it_is_there():
    async with running(FakeEngine(), streaming=False) as server:
        await said(server, asking())
        assert PATH in (await server.client.get("/openapi.json")).json()["paths"]


async def test_a_full_server_answers_503_until_there_is_room():
    engine = FakeEngine(gated=True)
    async with running(engine, chat={"max_requests": 1}) as server:
        first = asyncio.create_task(server.client.post(PATH, json=asking()))
        await engine.reached.wait()
        assert server.count("stream_chats_running") == 1
        error(await server.client.post(PATH, json=asking()), 503)
        engine.gate.set()
        assert (await first).status_code == 200
        while server.chat.running:
            await asyncio.sleep(0.01)
        assert (await server.client.post(PATH, json=asking())).status_code == 200


@pytest.mark.parametrize("stream", [True, False])
async def test_one_that_takes_too_long_is_given_up(stream):
    engine = FakeEngine(gated=True)
    async with running(engine, chat={"timeout_s": 0.3}) as server:
        answer = await server.client.post(PATH, json=asking(words(), stream=stream))
        assert answer.status_code == (200 if stream else 500)
        assert "took longer than 0.3 s" in answer.text
        while server.chat.running:
            await asyncio.sleep(0.01)
        assert engine.given_up == 1


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_gives_its_answer_up(stream, caplog):
    engine = FakeEngine(gated=True)
    body = json.dumps(asking(stream=stream)).encode()
    async with running(engine) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(
            f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        await engine.reached.wait()
        if stream:
            assert b"data: " in await reader.readuntil(b"data: ")
        writer.close()
        await writer.wait_closed()
        while server.chat.running or server.server.server_state.tasks:
            await asyncio.sleep(0.01)
        assert engine.given_up == 1
        assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


async def test_draining_lets_answers_finish_and_aborts_those_that_do_not():
    engine = FakeEngine(gated=True)
    async with running(engine) as server:
        finished = asyncio.create_task(server.client.post(PATH, json=asking()))
        await engine.reached.wait()
        draining = asyncio.create_task(server.chat.drain(30))
        while not server.chat.draining:
            await asyncio.sleep(0)
        error(await server.client.post(PATH, json=asking()), 503)
        engine.gate.set()
        assert (await finished).status_code == 200
        await draining
    engine = FakeEngine(gated=True)
    async with running(engine) as server:
        aborted = asyncio.create_task(server.client.post(PATH, json=asking()))
        await engine.reached.wait()
        await server.chat.drain(0)
        assert "shutting down" in error(await aborted, 503)
        await server.chat.shut_down()
        assert (engine.given_up, server.chat.running) == (1, 0)


async def test_answers_are_counted():
    async with running(FakeEngine()) as server:
        await said(server, asking())
        await server.client.post(PATH, json=asking(stream=True))
        error(await server.client.post(PATH, json=asking(n=2)), 400)
        assert server.count("stream_chats_total", finish_reason="stop") == 2
        assert server.count("stream_chat_tokens_total", kind="prompt") == 20
        assert server.count("stream_chat_tokens_total", kind="completion") == 10
        assert server.count("stream_chat_seconds_count", stage="total") == 2
        assert server.count("stream_received_bytes_total", transport="chat") > 3 * len(url())
        assert server.count("stream_errors_total", code="400") == 1


async def test_the_key_and_the_paths_are_those_of_the_other_routes():
    async with running(FakeEngine(), api_key="s3cret") as server:
        answer = await server.client.post(PATH, json=asking())
        assert "API key" in error(answer, 401)
        assert answer.json()["error"]["type"] == "authentication_error"
        bearer = {"Authorization": "Bearer s3cret"}
        path = "//v1//chat/completions/"
        assert (await server.client.post(server.url + path, json=asking(), headers=bearer)).status_code == 200
        foreign = {**bearer, "Origin": "https://elsewhere.example"}
        error(await server.client.post(PATH, json=asking(), headers=foreign), 403)


async def test_a_slow_client_holds_nobody_up():
    flight = ChatFlight()
    proceed = asyncio.Event()

    async def work() -> None:
        for index, word in enumerate(["a", "b", "c"]):
            flight.add(Delta(word, index + 1, prompt_tokens=5 if index == 0 else None))
        await proceed.wait()
        flight.add(Delta("d", 4, "length"))
        flight.end(EngineFailure("too late"))

    flight.start(work(), 60, lambda: EngineFailure("late"))
    assert await flight.next() == Delta("abc", 3, prompt_tokens=5)
    proceed.set()
    assert await flight.next() == Delta("d", 4, "length")
    with pytest.raises(EngineFailure, match="too late"):
        await flight.next()
    await flight.work


async def test_the_route_is_described_with_examples_that_work(server):
    route = create_app(None, Readiness(), ServerSettings()).openapi()["paths"][PATH]["post"]
    content = route["requestBody"]["content"]["application/json"]
    assert "$ref" not in json.dumps(content["schema"])
    completion = await said(server, {**content["example"], "model": "fake-1"})
    example = route["responses"]["200"]["content"]["application/json"]["example"]
    assert set(example) == set(completion)
    assert set(example["choices"][0]) <= set(completion["choices"][0])  # nulls are left out of the document
    assert "last picture" in route["description"]
    assert {"200", "400", "401", "403", "404", "413", "415", "500", "501", "503"} == set(route["responses"])


class Talkative(FakeEngine):
    """Says more than the buffers between it and its client hold."""

    async def complete(self, turns, sampling):
        for index in range(8):
            yield Delta("word " * 2**18, index + 1)
        yield Delta("", 9, "stop")


async def test_a_client_that_takes_nothing_is_let_go(monkeypatch):
    monkeypatch.setattr("protocol.server.event_stream.SEND_TIMEOUT_S", 0.1)
    body = json.dumps(asking(words(), stream=True)).encode()
    async with running(Talkative()) as server:
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.setblocking(False)
        with deaf:
            loop = asyncio.get_running_loop()
            await loop.sock_connect(deaf, ("127.0.0.1", server.port))
            head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            await loop.sock_sendall(deaf, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            while server.count("stream_chats_total", finish_reason="stop") == 0:
                await asyncio.sleep(0.01)
            while server.server.server_state.tasks:
                await asyncio.sleep(0.01)
        whole = await said(server, asking(words()))
        assert len(whole["choices"][0]["message"]["content"]) == 8 * 5 * 2**18


@pytest.mark.parametrize("stream", [True, False])
async def test_an_engine_that_gives_up_by_itself_is_500(stream):
    class Fickle(FakeEngine):
        async def complete(self, turns, sampling):
            if len(turns) == 1:
                raise asyncio.CancelledError
            return
            yield

    async with running(Fickle()) as server:
        assert "cancelled" in error(await server.client.post(PATH, json=asking(stream=stream)), 500)
        silent = asking(stream=stream)
        silent["messages"] *= 2
        assert "no answer" in error(await server.client.post(PATH, json=silent), 500)
        assert server.chat.running == 0


async def test_fetched_pictures_are_together_within_a_limit_of_bytes(monkeypatch):
    monkeypatch.setattr("protocol.server.chat_pictures.MAX_CHAT_BODY_BYTES", 2 * len(FRAME))
    async with running(FakeEngine()) as server:
        await said(server, asking(image(), image()))
        assert "together" in error(
            await server.client.post(PATH, json=asking(image(), image(), image())), 413
        )


async def test_an_engine_that_is_lost_takes_the_other_answers_with_it():
    engine = FakeEngine(gated=True, failures={4: EngineError("the engine's process died")})
    async with running(engine) as server:
        both = [asyncio.create_task(server.client.post(PATH, json=asking(words()))) for _ in range(2)]
        while len(engine.conversations) < 2:
            await asyncio.sleep(0.01)
        engine.gate.set()
        assert [("died" in error(await each, 500)) for each in both] == [True, True]
        assert "died" in (server.chat.lost or "")
