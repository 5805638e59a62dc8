"""An engine whose sessions are a server's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.client.checks import check_server
from protocol.client.connection import Connection
from protocol.client.reconnecting_session import ReconnectingSession
from protocol.errors import NotFound
from protocol.session import Engine, ServedModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol.client.server_info import ServerInfo
    from protocol.client.settings import ClientSettings
    from protocol.messages import SessionConfig
    from protocol.session import Session


class RemoteEngine(Engine):
    """A NIM, a Dynamo frontend, or what speaks as they do.

    Attributes:
        name: `nim` or `dynamo`.
        info: what the server is, once `check` or `open` has found out.
    """

    def __init__(self, settings: ClientSettings, *, warn: Callable[[str], None] = lambda _: None) -> None:
        """Contacts nothing yet. `warn` hears, in one line, of what a person should know and is no failure.

        Raises:
            UsageError: the file of certificates cannot be read.
        """
        self.name = settings.backend
        self.info: ServerInfo | None = None
        self._settings = settings
        self._connection = Connection(settings)
        self._warn = warn

    async def check(self, config: SessionConfig) -> None:
        """See `Engine.check`.

        Raises:
            Unavailable: the server cannot be reached, or is not ready.
            EngineError: it is something else, refuses the key, or does not stream.
            NotFound: `config.model` is not the one it serves.
        """
        await self._model(config.model)

    async def load(self) -> ServedModel:
        """See `Engine.load`: there is nothing to load here, so the checks are made.

        Raises:
            StreamError: see `check`.
        """
        return ServedModel(await self._model())

    async def open(self, config: SessionConfig) -> Session:
        """See `Engine.open`; a session is created with the server's own name for its model."""
        asked = config.model_copy(update={"model": await self._model(config.model)})
        session = await self._open(asked)
        if not self._settings.reconnect:
            return session
        return ReconnectingSession(session, lambda: self._open(asked), self._warn)

    async def close(self) -> None:
        """Lets go of the connections."""
        await self._connection.close()

    async def _model(self, asked: str | None = None) -> str:
        """The server's name for its model, once the server is checked: the one asked for, if any is."""
        if self.info is None:
            self.info = await check_server(self._connection, self._settings.backend)
        if asked not in (None, self.info.model):
            raise NotFound(
                f"--model {asked}: {self._connection.address} serves {self.info.model}",
                hint="leave --model out",
            )
        return self.info.model

    async def _open(self, config: SessionConfig) -> Session:
        if self._settings.transport == "rest":
            from protocol.client.rest_session import RestSession

            return await RestSession.open(self._connection, config, self._warn)
        from protocol.client.websocket_session import WebSocketSession

        return await WebSocketSession.open(self._connection, config, self._warn)
