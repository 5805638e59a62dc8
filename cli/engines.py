"""Which engine answers: from the options to an `Engine`."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.lite.engine import MODEL as LITE_MODEL
from protocol.errors import EngineError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cli.openai_options import OpenAIServer
    from engine.vllm.options import VllmOptions
    from protocol.client.settings import ClientSettings
    from protocol.session import Engine

ENGINES = ("auto", "lite", "vllm", "openai")


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The engine a command line asks for.

    Attributes:
        name: one of `ENGINES`; `auto` is lite until a model is named, then vLLM.
        model: what to run; of a server elsewhere, what it must serve.
        remote: how to speak to the server that is to answer, which then takes the place of an engine here.
        openai: the same of an OpenAI-compatible server.
    """

    name: str
    model: str | None
    vllm: VllmOptions
    debug: bool = False
    remote: ClientSettings | None = None
    openai: OpenAIServer | None = None

    @property
    def kind(self) -> str:
        """The engine that answers, known before it is made."""
        if self.remote is not None:
            return self.remote.backend
        if self.openai is not None:
            return "openai"
        if self.name == "auto":
            return "lite" if self.model in (None, LITE_MODEL) else "vllm"
        return self.name

    def make(self, report: Callable[[str], None], warn: Callable[[str], None] = lambda _: None) -> Engine:
        """The engine, not loaded yet; `report` hears what loading is at, `warn` what is odd but no failure.

        Raises:
            UsageError: no engine goes by that name, or it does not run that model.
            EngineError: the engine is not installed.
        """
        if self.remote is not None:
            from protocol.client.engine import RemoteEngine

            return RemoteEngine(self.remote, warn=warn)
        if self.openai is not None:
            return self._openai(self.openai, warn)
        if self.name not in ENGINES:
            hint = f"choose from {', '.join(ENGINES)}"
            if self.name in ("nim", "dynamo"):
                hint = "a server is named with --nim-url"
            raise UsageError(f"--engine {self.name}: no such engine", hint=hint)
        if self.kind == "vllm":
            return self._vllm(report)
        from engine.lite.engine import LiteEngine

        if self.model not in (None, LITE_MODEL):
            raise UsageError(
                f"--model {self.model}: the lite engine has one model, {LITE_MODEL}",
                hint="leave --model out to use it, or --engine to run yours",
            )
        if given := self.vllm.given():
            option = "--" + given[0].replace("_", "-")
            raise UsageError(
                f"{option} is for vLLM, and lite answers here", hint="--model names a model to run"
            )
        return LiteEngine()

    def _openai(self, server: OpenAIServer, warn: Callable[[str], None]) -> Engine:
        from engine.openai.engine import OpenAIEngine
        from protocol.client.backoff import PATIENT_TRIES, Backoff
        from protocol.client.chat_client import ChatClient
        from protocol.client.connection import Connection

        hint = f"give a key with {server.key_option} or OPENAI_API_KEY"
        backoff = Backoff(tries=PATIENT_TRIES) if server.options.goes_on else Backoff()
        client = ChatClient(Connection(server.connection), backoff=backoff, key_hint=hint, warn=warn)
        return OpenAIEngine(client, self.model, server.options, warn=warn)

    def _vllm(self, report: Callable[[str], None]) -> Engine:
        from engine.vllm.engine import INSTALL, VllmEngine

        if self.model is None:
            raise UsageError(
                "--engine vllm needs a model", hint="--model NAME, from the Hugging Face hub or a folder"
            )
        if importlib.util.find_spec("vllm") is None:
            raise EngineError(f"--model {self.model} runs on vLLM, which is not installed", hint=INSTALL)
        return VllmEngine(self.model, self.vllm, report=report, debug=self.debug)


def vllm_arguments(given: Sequence[str]) -> dict[str, Any]:
    """What ``--vllm-arg KEY=VALUE`` gives: values are JSON where they can be, else text.

    Raises:
        UsageError: there is no ``=`` in one.
    """
    arguments: dict[str, Any] = {}
    for each in given:
        key, equals, value = each.partition("=")
        if not equals or not key:
            raise UsageError(f"--vllm-arg {each}: write KEY=VALUE")
        try:
            arguments[key.strip().replace("-", "_")] = json.loads(value)
        except ValueError:
            arguments[key.strip().replace("-", "_")] = value
    return arguments
