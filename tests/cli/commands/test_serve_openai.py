"""`stream serve --base-url`: a streaming-session server over one that keeps nothing."""

from __future__ import annotations

import json

import httpx

from tests.chat_server import chat_server, refuse, say
from tests.cli.commands.served import serving
from tests.cli.commands.stream import SAMPLE, environment, stream


def test_sessions_and_chat_over_a_stateless_server() -> None:
    answers = [say("one"), say("two"), refuse(500, "bad day"), say("three"), say("chat")]
    with (
        chat_server(answers) as upstream,
        serving("--base-url", upstream.url, "--api-key", "ours", OPENAI_API_KEY="theirs") as url,
    ):
        frames = ("--nim-url", url, "--api-key", "ours", "--fps", "1", "--format", "jsonl")
        done = stream("caption", SAMPLE, *frames, "--max-frames", "3")
        assert done.returncode == 1
        assert [json.loads(line)["text"] for line in done.stdout.splitlines()] == ["one", "two"]
        assert "bad day" in done.stderr
        # The session is lost, and the server is not.
        done = stream("caption", SAMPLE, *frames, "--max-frames", "1")
        assert (done.returncode, done.stderr) == (0, "")
        line = json.loads(done.stdout)
        assert (line["text"], line["model"], line["token_count"]) == ("three", "m", 2)
        assert {request.headers["authorization"] for request in upstream.requests} == {"Bearer theirs"}
        assert [len(chat.pictures) for chat in upstream.chats] == [1, 2, 3, 1]
        asked = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 5}
        headers = {"Authorization": "Bearer ours"}
        reply = httpx.post(f"{url}/v1/chat/completions", json=asked, headers=headers, timeout=30)
        assert reply.json()["choices"][0]["message"]["content"] == "chat"
        assert upstream.chats[-1].json["messages"] == asked["messages"]


def test_what_cannot_work_is_said_at_once() -> None:
    for options, code, said in (
        (("--base-url", "http://127.0.0.1:1"), 1, "http://127.0.0.1:1: nothing listens there"),
        (("--upstream-api-key", "k"), 2, "--upstream-api-key is for --engine openai"),
        (("--engine", "openai"), 2, "--engine openai needs a server"),
    ):
        done = stream("serve", "--port", "0", *options, env=environment(OPENAI_BASE_URL=""))
        assert done.returncode == code
        assert said in done.stderr
