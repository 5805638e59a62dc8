"""An engine whose model is behind an OpenAI-compatible server: sessions over what keeps nothing."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from engine.openai.context import OpenAIContext
from engine.openai.options import OpenAIOptions
from engine.openai.requests import ChatRequests
from engine.openai.served import admit, choose_model, default_retention
from engine.openai.session import OpenAISession
from engine.openai.sizes import PromptSizes
from engine.retention import EXACT, LOW_WATER
from engine.stateless import complete_once
from protocol.errors import NotFound
from protocol.limits import DEFAULT_MAX_TOKENS
from protocol.messages import Created
from protocol.session import Engine, ServedModel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from protocol.chat_server import ChatServer, ListedModel
    from protocol.context import Delta, Turn
    from protocol.messages import Retention, Sampling, SessionConfig


@dataclass(frozen=True, slots=True)
class _Found:
    """What the server was found to have, and what its sessions share."""

    model: ListedModel
    requests: ChatRequests
    sizes: PromptSizes


class OpenAIEngine(Engine):
    """vLLM, SGLang, llama.cpp, Ollama, LM Studio, a hosted API: whatever speaks chat completions.

    Histories are held here, and the window of each is sent with every frame.
    """

    name = "openai"

    def __init__(
        self,
        server: ChatServer,
        model: str | None = None,
        options: OpenAIOptions | None = None,
        *,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Contacts nothing yet.

        Args:
            server: is closed with the engine.
            model: one the server has; None takes the only one.
            warn: hears, in one line, of what a person should know and is no failure.
        """
        self._server = server
        self._model = model
        self._options = options or OpenAIOptions()
        self._warn = warn
        self._warned: set[str] = set()
        self._found: _Found | None = None

    async def check(self, config: SessionConfig) -> None:
        """See `Engine.check`: asks for the server's models.

        Raises:
            Unavailable: the server cannot be reached, or is not ready.
            EngineError: it is no such server, or refuses the key.
            NotFound: it has no such model.
            UsageError: it has several, and none was named.
            InvalidRequest: the model cannot hold such a session.
        """
        found = await self._find(config.model)
        self._retention(found, config)

    async def load(self) -> ServedModel:
        """See `Engine.load`: there is nothing to load here, so the server is asked.

        Raises:
            StreamError: see `check`.
        """
        found = await self._find(None)
        return ServedModel(found.model.name, default_retention(found.model, DEFAULT_MAX_TOKENS))

    async def open(self, config: SessionConfig) -> OpenAISession:
        """See `Engine.open`."""
        found = await self._find(config.model)
        created = Created(
            session_id=uuid4().hex,
            model=found.model.name,
            fps=config.fps,
            retention=self._retention(found, config),
        )
        low_water = LOW_WATER if self._options.prefix_friendly else EXACT
        return await OpenAISession.open(
            self._context(found), created, config, lambda: None, low_water=low_water
        )

    async def complete(self, turns: Sequence[Turn], sampling: Sampling) -> AsyncGenerator[Delta, None]:
        """See `Engine.complete`: passed on to the server."""
        found = await self._find(None)
        async with aclosing(complete_once(self._context(found), turns, sampling)) as deltas:
            async for delta in deltas:
                yield delta

    async def close(self) -> None:
        """Lets go of the connections."""
        await self._server.close()

    async def _find(self, asked: str | None) -> _Found:
        """The model that answers, once the server has been asked: the one asked for, if any is."""
        if self._found is None:
            model = choose_model(self._server.name, await self._server.models(), self._model or asked)
            self._found = _Found(
                model,
                ChatRequests(model.name, model.owner, self._options, self._warn_of),
                PromptSizes(low_detail=self._options.image_detail == "low"),
            )
        if asked not in (None, self._found.model.name):
            raise NotFound(f"no model {asked!r} here", hint=f"this engine has {self._found.model.name!r}")
        return self._found

    def _retention(self, found: _Found, config: SessionConfig) -> Retention:
        retention = config.retention or default_retention(found.model, config.sampling.max_tokens)
        admit(found.model, retention, config.sampling.max_tokens)
        return retention

    def _context(self, found: _Found) -> OpenAIContext:
        return OpenAIContext(
            self._server,
            found.requests,
            found.sizes,
            detail=self._options.image_detail,
            goes_on=self._options.goes_on,
            warn=self._warn_once,
        )

    def _warn_of(self, message: str) -> None:
        self._warn(f"{self._server.name}: {message}")

    def _warn_once(self, key: str, message: str) -> None:
        if key not in self._warned:
            self._warned.add(key)
            self._warn_of(message)
