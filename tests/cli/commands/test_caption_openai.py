"""`stream caption --base-url`: the real command against servers that answer well and badly."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests import chat_server as bad
from tests.chat_server import ChatServer, chat_server, models, refuse, say
from tests.cli.commands.stream import SAMPLE, environment, start, stream

THREE = ("--fps", "1", "--max-frames", "3", "--format", "jsonl")


def caption(server: ChatServer, *options: str, **variables: str) -> tuple[int, list[dict[str, Any]], str]:
    """Exit code, records and stderr."""
    done = stream("caption", SAMPLE, *THREE, "--base-url", server.url, *options, env=environment(**variables))
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_captions_of_a_server_that_keeps_nothing() -> None:
    with chat_server() as server:
        key = "sk-secret"
        code, lines, errors = caption(server, "--image-detail", "high", OPENAI_API_KEY=key)
        assert (code, errors) == (0, "")
        assert [line["text"] for line in lines] == [f"reply {n} to {n + 1} pictures" for n in range(3)]
        assert {(line["engine"], line["model"]) for line in lines} == {("openai", "m")}
        assert [line["token_count"] for line in lines] == [3, 3, 3]
        assert all(0 < line["ttft_s"] <= line["latency_s"] for line in lines)
        assert all(chat.headers["authorization"] == f"Bearer {key}" for chat in server.requests)
        assert server.requests[0].path == "/v1/models"


def test_a_stray_variable_changes_nothing() -> None:
    with chat_server() as server:
        variables = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k"}
        done = stream("caption", SAMPLE, *THREE, env=environment(**variables))
        assert (done.returncode, server.requests) == (0, [])
        assert {json.loads(line)["engine"] for line in done.stdout.splitlines()} == {"lite"}
        named = (*THREE[:3], "1", "--engine", "openai", "--format", "jsonl")
        done = stream("caption", SAMPLE, *named, env=environment(**variables))
        assert (done.returncode, json.loads(done.stdout)["engine"]) == (0, "openai")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (refuse(500, "CUDA error"), "did not answer (500): CUDA error"),
        (bad.cut("A door"), "the answer broke off before its end"),
        (bad.events(bad.piece("A"), {"error": {"message": "out of memory"}}), "mid-answer: out of memory"),
        (bad.events("{]"), "it sent what is not JSON"),
        (bad.status(200, "<html>hi</html>", "text/html"), "answered with a web page"),
        (bad.silence("A door"), "no whole answer within 3 s"),
    ],
)
def test_what_was_said_before_a_failure_is_kept(answer: bad.Answer, said: str, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with chat_server([say("one"), say("two"), answer]) as server:
        code, lines, errors = caption(server, "-o", str(path), "-o", "-", "--frame-timeout", "3")
    assert code == 1
    assert errors.count("\n") == 1
    assert errors.startswith("error: ")
    assert f"{server.url}: " in errors
    assert said in errors
    assert [line["text"] for line in lines] == ["one", "two"]
    kept = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["text"] for line in kept] == ["one", "two"]


def test_a_refused_frame_is_left_out_and_the_run_goes_on() -> None:
    with chat_server([say("one"), refuse(400, "cannot identify image file"), say("three")]) as server:
        code, lines, errors = caption(server)
    assert code == 3
    assert [line.get("text") for line in lines] == ["one", None, "three"]
    assert "refuses the request (400): cannot identify image file" in json.dumps(lines[1])
    assert "cannot identify image file" in errors


def test_a_failed_frame_is_left_out_where_the_run_is_to_go_on() -> None:
    with chat_server([say("one"), bad.cut("A door"), say("three")]) as server:
        code, lines, errors = caption(server, "--reconnect")
    assert code == 3
    assert [line.get("text") for line in lines] == ["one", None, "three"]
    assert "the answer broke off before its end" in errors


def test_a_server_that_is_busy_for_a_while_is_waited_for() -> None:
    busy = [refuse(429, "slow down", Retry_After="0"), refuse(503, "no room"), bad.cut(head=False)]
    with chat_server([say("one"), *busy, say("two"), say("three")]) as server:
        code, lines, errors = caption(server)
    assert (code, errors) == (0, "")
    assert [line["text"] for line in lines] == ["one", "two", "three"]


def test_ctrl_c_while_a_server_is_silent() -> None:
    with chat_server([say("one"), bad.silence("A door")]) as server:
        process = start("caption", SAMPLE, *THREE, "--base-url", server.url)
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["text"] == "one"
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    assert (process.returncode, rest, errors) == (130, "", "")


def test_odd_servers_are_told_of_once() -> None:
    with chat_server([say("A door.", counts=False)]) as server:
        code, lines, errors = caption(server, "--guided-choice", "clear", "--guided-choice", "hazard")
    assert code == 0
    assert [line["text"] for line in lines] == ["A door."] * 3
    assert errors.count("warning: ") == errors.count("\n") == 2
    assert "counts no tokens" in errors
    assert "does not obey --guided-choice" in errors


def test_what_cannot_work_is_said_before_any_video_is_opened() -> None:
    with chat_server(listed=models("a", "b")) as server:
        for options, code, said in (
            ((), 2, "has 2 models: a, b; choose one with --model"),
            (("--model", "c"), 1, "--model c: "),
            (("--nim-url", "http://host"), 2, "--nim-url does not go with --engine openai"),
        ):
            done = stream("caption", "nothing.mp4", "--base-url", server.url, *options)
            assert (done.returncode, done.stdout) == (code, "")
            assert said in done.stderr
            assert done.stderr.count("\n") == 1
    url = "http://user:secret@127.0.0.1:1/v1"
    done = stream("caption", SAMPLE, "--engine", "openai", env=environment(OPENAI_BASE_URL=url))
    assert done.returncode == 1
    assert "http://127.0.0.1:1/v1: nothing listens there" in done.stderr
    assert "secret" not in done.stderr
