"""A local Ollama is noticed, and nothing else is taken for one."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from cli import ollama_hint as hints
from cli.ollama_hint import ollama_hint

if TYPE_CHECKING:
    from collections.abc import Iterator

MODELS = {"qwen3:8b": ["completion", "tools"], "llava:7b": ["completion", "vision"]}


@contextlib.contextmanager
def serving(answers: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """A server whose answer to a path is what `answers` holds for it, or makes of the request's JSON."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or "null")
            answer = answers.get(self.path)
            answer = answer(body) if callable(answer) else answer
            self.send_response(404 if answer is None else 200)
            self.end_headers()
            self.wfile.write(answer if isinstance(answer, bytes) else json.dumps(answer).encode())

        do_POST = do_GET  # noqa: N815 - the library's name

        def log_message(self, *given: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield ("127.0.0.1", server.server_port)
        server.shutdown()


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "TIMEOUT_S", 10.0)


def ollama(models: dict[str, list[str]]) -> dict[str, Any]:
    return {
        "/api/tags": {"models": [{"name": name} for name in models]},
        "/api/show": lambda body: {"capabilities": models[body["model"]]},
    }


def test_a_model_that_sees_is_named_with_how_to_ask_it() -> None:
    with serving(ollama(MODELS)) as (host, port):
        hint = ollama_hint((host, port))
    assert hint == (
        f"Ollama is here with llava:7b: --engine openai --base-url http://127.0.0.1:{port}/v1 "
        "--model llava:7b lets it describe what it sees"
    )


@pytest.mark.parametrize(
    "answers",
    [
        ollama({"qwen3:8b": ["completion"]}),
        {"/api/tags": {"models": [{"name": "old"}]}},
        {"/api/tags": []},
        {"/api/tags": b"<html>"},
        {},
    ],
    ids=["blind", "old", "list", "html", "nothing"],
)
def test_there_is_no_hint_without_one(answers: dict[str, Any]) -> None:
    with serving(answers) as address:
        assert ollama_hint(address) is None


def test_there_is_no_hint_where_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert ollama_hint(free.getsockname()) is None


def test_one_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "TIMEOUT_S", 0.05)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        assert ollama_hint(silent.getsockname()) is None
