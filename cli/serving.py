"""One `stream serve` run: from its options to its exit code."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from cli.clean import one_line
from cli.ending import Ending
from cli.exit_codes import EXIT_INTERRUPTED, EXIT_OK
from cli.leaving import leave_at_once
from cli.main import print_error
from cli.memory import keep_freed_memory
from cli.server_log import show_server_log
from protocol.errors import StreamError, UsageError
from protocol.messages import SERVER_RETENTION, Retention, describe_invalid
from protocol.server.app import create_app
from protocol.server.chat_host import ChatHost
from protocol.server.engine_host import EngineHost
from protocol.server.metrics import Metrics
from protocol.server.named_host import NamedHost
from protocol.server.picture_fetcher import PictureFetcher
from protocol.server.readiness import Readiness
from protocol.server.server import Server, listen, new_event_loop
from protocol.server.settings import ANY, ServerSettings
from protocol.server.websocket import WebSocketEndpoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli.engines import EngineChoice
    from protocol.session import Engine

LAST_WORDS_S = 2.0
"""How long clients may take to fetch their last reply and answer the closing of their connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What `stream serve` was asked for; `run` does it.

    Attributes:
        retention: fields of the policy of sessions that name none; those that are None were not given.
    """

    engine: EngineChoice
    served_model_name: str | None
    host: str
    port: int
    certfile: Path | None
    keyfile: Path | None
    drain_timeout_s: float
    streaming: bool
    quiet: bool
    debug: bool
    api_key: str | None = field(repr=False)
    allowed_origins: list[str]
    allowed_hosts: list[str]
    image_urls: bool = False
    max_sessions: int
    idle_timeout_s: float
    rest_idle_timeout_s: float
    frame_timeout_s: float
    retention: dict[str, Any]

    def run(self) -> int:
        """Serves until it is told to stop, and gives the exit code.

        Raises:
            UsageError: the options contradict each other.
            EngineError: the engine cannot be loaded, or is gone.
            StreamError: the address cannot be listened at, or the certificate cannot be read.
        """
        self._check()
        engine = self.engine.make(_say, _warn)
        keep_freed_memory()
        show_server_log(quiet=self.quiet, debug=self.debug)
        run = _Run(self, engine)
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            code = runner.run(run.serve())
        if run.loading:
            leave_at_once(code)
        return code

    def settings(self) -> ServerSettings:
        """What the application is told."""
        version, license_name, license_text = _about()
        names = [*self.allowed_hosts, self.host, socket.gethostname()]
        if self.api_key and not self.allowed_hosts:
            names = [ANY]
        return ServerSettings(
            streaming=self.streaming,
            idle_timeout_s=self.idle_timeout_s,
            rest_idle_timeout_s=self.rest_idle_timeout_s,
            api_key=self.api_key,
            allowed_origins=tuple(self.allowed_origins),
            allowed_hosts=tuple(names),
            version=version,
            license_name=license_name,
            license_text=license_text,
        )

    def retention_over(self, usual: Retention) -> Retention | None:
        """`usual` with the fields that were given; None if there are none.

        Raises:
            UsageError: they make no sense.
        """
        asked = {name: value for name, value in self.retention.items() if value is not None}
        if not asked:
            return None
        try:
            return Retention(**{**usual.model_dump(), **asked})
        except ValidationError as error:
            raise UsageError(
                describe_invalid(error, spell=lambda name: "--" + name.replace("_", "-"))
            ) from error

    def _check(self) -> None:
        self.retention_over(SERVER_RETENTION)
        if self.keyfile is not None and self.certfile is None:
            raise UsageError("--ssl-keyfile needs --ssl-certfile")
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise UsageError("the API key must be printable ASCII, as HTTP headers are")
        if self.api_key is not None and (not self.api_key or " " in self.api_key):
            raise UsageError("the API key must not be empty or have spaces")
        for origin in self.allowed_origins:
            if origin != ANY and ("://" not in origin or "/" in origin.partition("://")[2].rstrip("/")):
                raise UsageError(
                    f"--allow-origin {origin}: write SCHEME://HOST, with :PORT if it is not usual"
                )


class _Run:
    """The server and what it stands on, from listening to the end."""

    def __init__(self, asked: Serving, engine: Engine) -> None:
        self._asked = asked
        self._engine = engine
        self._readiness = Readiness()
        self._ending = Ending()
        metrics = _Watch(self._ending.engine_lost)
        settings = asked.settings()
        self._host = EngineHost(
            engine,
            max_sessions=asked.max_sessions,
            frame_timeout_s=asked.frame_timeout_s,
            observer=metrics,
        )
        metrics.watch_sessions(lambda: self._host.open_sessions)
        self._chat = ChatHost(
            engine,
            max_requests=asked.max_sessions,
            timeout_s=asked.frame_timeout_s,
            fetcher=PictureFetcher() if asked.image_urls else None,
            observer=metrics,
        )
        metrics.watch_chats(lambda: self._chat.running)
        name = asked.served_model_name
        named = NamedHost(self._host, name) if name else self._host
        self._endpoint = WebSocketEndpoint(named, self._readiness, metrics, settings)
        app = create_app(named, self._readiness, settings, metrics, self._endpoint, self._chat)
        try:
            self._server = Server(app, certfile=asked.certfile, keyfile=asked.keyfile)
        except ssl.SSLError as error:
            raise StreamError(
                f"--ssl-certfile {asked.certfile}: not a certificate with its key ({error.reason or error})",
                hint="both are PEM; --ssl-keyfile names the key where it has a file of its own",
            ) from error
        except OSError as error:
            files = " or ".join(str(each) for each in (asked.certfile, asked.keyfile) if each)
            raise StreamError(f"cannot read {files}: {error.strerror or error}") from error

    async def serve(self) -> int:
        """Serves until the end, and gives the exit code."""
        asked = self._asked
        try:
            sockets = listen(asked.host, asked.port)
        except OSError as error:
            raise StreamError(
                f"cannot listen at {asked.host} port {asked.port}: {error.strerror or error}",
                hint="--host and --port choose another; --port 0 is any that is free",
            ) from error
        address = _address(sockets[0], secure=asked.certfile is not None)
        _warn_if_open_to_all(sockets, keyed=bool(asked.api_key))
        serving = asyncio.create_task(self._server.serve(sockets))
        serving.add_done_callback(self._ending.server_ended)
        loading = asyncio.create_task(self._load(address))
        try:
            with self._ending.hearing_signals():
                _say(f"listening at {address}, loading the {self._engine.name} engine")
                await self._ending.wait()
                loading.cancel()
                if self._ending.error is None:
                    _say("stopping; frames in flight may finish")
                await self._drain()
                await serving
        except asyncio.CancelledError:  # told twice
            self._server.should_exit = self._server.force_exit = True
            return EXIT_INTERRUPTED
        finally:
            await asyncio.wait({serving}, timeout=LAST_WORDS_S)
            serving.cancel()
            await self._chat.shut_down()
            await self._host.shut_down()
            await self._engine.close()
            if self.loading:
                # It does in a thread that cannot be told to stop, and that the loop's end would wait for.
                asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        if self._ending.error is not None:
            raise self._ending.error
        return EXIT_OK

    @property
    def loading(self) -> bool:
        """Whether the engine is neither loaded nor known to be of no use."""
        return self._readiness.served is None and self._ending.error is None

    async def _load(self, address: str) -> None:
        try:
            served = await self._engine.load()
            served = replace(served, model=self._asked.served_model_name or served.model)
            self._readiness.retention = self._asked.retention_over(served.retention)
        except Exception as error:
            self._ending.fail(error)
            return
        self._readiness.served = served
        _say(f"ready at {address} with {served.model}")

    async def _drain(self) -> None:
        """Lets the frames in flight finish, tells every client, and lets uvicorn end."""
        self._readiness.draining = True
        self._endpoint.shut_down()
        patience_s = 0 if self._ending.error else self._asked.drain_timeout_s
        await asyncio.gather(self._host.drain(patience_s), self._chat.drain(patience_s))
        await self._endpoint.wait_closed(LAST_WORDS_S)
        self._server.should_exit = True


class _Watch(Metrics):
    """Counts, and tells when the engine is gone."""

    def __init__(self, on_engine_lost: Callable[[str], None]) -> None:
        super().__init__()
        self._on_engine_lost = on_engine_lost

    def engine_lost(self, reason: str) -> None:
        self._on_engine_lost(reason)


def _say(message: str) -> None:
    """One line on stderr, whatever stands in it."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{one_line(message)}\n")
        sys.stderr.flush()


def _warn(message: str) -> None:
    print_error(message, label="warning")


def _address(listening: socket.socket, *, secure: bool) -> str:
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if secure else 'http'}://{shown}:{port}"


def _warn_if_open_to_all(sockets: list[socket.socket], *, keyed: bool) -> None:
    beyond = [each for each in sockets if not ipaddress.ip_address(each.getsockname()[0]).is_loopback]
    if beyond and not keyed:
        print_error(
            "whoever reaches this machine over the network may use the server; --api-key asks them for a key",
            label="warning",
        )


def _about() -> tuple[str, str, str]:
    """Version, name of the license, and its text."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        about = distribution("stream-caption")
    except PackageNotFoundError:  # run from its folder, not installed
        return "unknown", "", ""
    text = about.read_text("licenses/LICENSE") or about.read_text("LICENSE") or ""
    return about.version, about.metadata["License-Expression"] or "", text
