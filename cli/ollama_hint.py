"""Whether a vision-language model is there to be asked already, on an Ollama of this machine."""

from __future__ import annotations

import contextlib
import json
import socket
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ADDRESS = ("127.0.0.1", 11434)
TIMEOUT_S = 0.2
"""For all that is asked: nobody is to wait for a hint."""
_MAX_BYTES = 1 << 20
_MOST_ASKED = 8  # models, newest first


def ollama_hint(address: tuple[str, int] = ADDRESS) -> str | None:
    """How to use the first model of a local Ollama that sees pictures; None without one."""
    until = monotonic() + TIMEOUT_S
    with contextlib.suppress(Exception):  # whatever it is that answers there
        model = _vision_model(address, lambda: max(0.001, until - monotonic()))
        if model is not None:
            host, port = address
            return (
                f"Ollama is here with {model}: --engine openai --base-url http://{host}:{port}/v1 "
                f"--model {model} lets it describe what it sees"
            )
    return None


def _vision_model(address: tuple[str, int], left_s: Callable[[], float]) -> str | None:
    with socket.create_connection(address, timeout=left_s()):
        pass  # mostly nothing listens there, and the rest need not be imported
    from http.client import HTTPConnection

    def ask(method: str, path: str, body: object = None) -> Any:
        connection = HTTPConnection(*address, timeout=left_s())
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            return json.loads(answer.read(_MAX_BYTES)) if answer.status == 200 else {}

    names = [str(model["name"]) for model in ask("GET", "/api/tags")["models"]]
    for name in names[:_MOST_ASKED]:
        if "vision" in ask("POST", "/api/show", {"model": name}).get("capabilities", ()):
            return name
    return None
