"""The real `stream serve`, used by OpenAI's own client."""

from __future__ import annotations

import asyncio
import base64
import io
import re
from typing import TYPE_CHECKING

import httpx
import openai
import pytest
from PIL import Image

from tests.cli.commands.served import lite_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.commands.served import LiteServer

KEY = "s3cret-k3y"


def photo(size: tuple[int, int] = (320, 240), kind: str = "JPEG") -> bytes:
    buffer = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert("RGB").save(buffer, kind)
    return buffer.getvalue()


def asking(data: bytes | None = None, **fields) -> dict:
    url = f"data:image/jpeg;base64,{base64.b64encode(data or photo()).decode()}"
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
    ]
    system = {"role": "system", "content": "Be brief."}
    return {"model": "lite-1", "messages": [system, {"role": "user", "content": content}], **fields}


@pytest.fixture(scope="module")
def server() -> Iterator[LiteServer]:
    with lite_server("--api-key", KEY, "--max-sessions", "2") as served:
        yield served


@pytest.fixture(scope="module")
def client(server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=f"{server.url}/v1", api_key=KEY, max_retries=0, http_client=httpx.Client(trust_env=False)
    ) as client:
        yield client


def asynchronous(server: LiteServer) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        base_url=f"{server.url}/v1/",
        api_key=KEY,
        max_retries=0,
        http_client=httpx.AsyncClient(trust_env=False),
    )


def test_models(client):
    [model] = client.models.list()
    assert (model.id, model.object, model.owned_by) == ("lite-1", "model", "stream")
    assert client.models.retrieve("lite-1") == model


def test_a_completion_and_its_stream_say_the_same(client):
    whole = client.chat.completions.create(**asking(user="me", max_tokens=64, temperature=0.0))
    assert whole.object == "chat.completion"
    [choice] = whole.choices
    assert choice.message.role == "assistant"
    assert choice.message.content.endswith(".")
    assert choice.finish_reason == "stop"
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens > 0
    options = {"stream": True, "stream_options": {"include_usage": True}}
    *chunks, last = client.chat.completions.create(**asking(**options))
    assert chunks[0].choices[0].delta.role == "assistant"
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert said == choice.message.content
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert last.usage.completion_tokens == whole.usage.completion_tokens


def test_the_clients_own_stream_helper(client):
    with client.chat.completions.stream(**asking()) as stream:
        said = "".join(event.delta for event in stream if event.type == "content.delta")
        assert said == stream.get_final_completion().choices[0].message.content
    assert said.endswith(".")


@pytest.mark.parametrize(
    ("fields", "kind", "named"),
    [
        ({"model": "gpt-4o"}, openai.NotFoundError, "lite-1"),
        ({"n": 2}, openai.BadRequestError, "n other than 1"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, openai.BadRequestError, "tools"),
        ({"messages": [{"role": "user", "content": "Hello"}]}, openai.BadRequestError, "picture"),
        ({"response_format": {"type": "json_object"}}, openai.BadRequestError, "guided_json"),
        ({"extra_body": {"guided_choice": ["yes", "no"]}}, openai.BadRequestError, "guided_choice"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_done_is_told(client, fields, kind, named, stream):
    with pytest.raises(kind) as refused:
        client.chat.completions.create(**{**asking(), **fields}, stream=stream)
    assert named in refused.value.message
    assert refused.value.type == "invalid_request_error"


@pytest.mark.parametrize("size", [8 * 1024 * 1024 + 1, 32 * 1024 * 1024])
def test_too_large_a_picture(client, size):
    with pytest.raises(openai.APIStatusError) as refused:
        client.chat.completions.create(**asking(photo() + bytes(size - len(photo()))))
    assert refused.value.status_code == 413
    assert "8,388,608" in refused.value.message or "33,554,432" in refused.value.message


def test_a_wrong_key(client):
    with pytest.raises(openai.AuthenticationError, match="API key is wrong") as refused:
        client.with_options(api_key="guessed").chat.completions.create(**asking())
    assert refused.value.type == "authentication_error"


async def test_two_at_once(server):
    async with asynchronous(server) as client:
        first, second = await asyncio.gather(
            client.chat.completions.create(**asking()), client.chat.completions.create(**asking())
        )
    assert first.choices[0].message.content == second.choices[0].message.content


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_frees_its_place(server, stream):
    async with asynchronous(server) as client:
        for _ in range(3):  # one more than there are places
            asked = asyncio.create_task(
                client.chat.completions.create(**asking(photo((2048, 2048)), stream=stream))
            )
            while not asked.done() and not await running(server):
                await asyncio.sleep(0)
            if stream:
                answer = await asked
                await anext(aiter(answer))
                await answer.close()
            else:
                asked.cancel()
                await asyncio.wait([asked])
            while await running(server):
                await asyncio.sleep(0.01)
        assert (await client.chat.completions.create(**asking())).choices


async def running(server: LiteServer) -> float:
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        answer = await client.get(f"{server.url}/v1/metrics", headers={"Authorization": f"Bearer {KEY}"})
    found = re.search(r"^stream_chats_running (\S+)$", answer.text, re.MULTILINE)
    assert found, answer.text
    return float(found[1])


def test_pictures_at_urls_are_fetched_from_the_public_internet_only():
    with lite_server("--allow-image-urls", "--no-streaming") as served:
        body = asking()
        body["messages"][1]["content"][1]["image_url"] = {"url": f"{served.url}/v1/models"}
        answer = httpx.post(f"{served.url}/v1/chat/completions", json=body, trust_env=False, timeout=60)
        assert answer.status_code == 400
        assert "not on the public internet" in answer.json()["error"]["message"]
        assert not [line for line in served.lines if "/v1/models" in line]
        answer = httpx.post(f"{served.url}/v1/chat/completions", json=asking(), trust_env=False, timeout=60)
        assert answer.json()["choices"][0]["message"]["content"].endswith(".")
