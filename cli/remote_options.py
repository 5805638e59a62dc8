"""Command-line options about a server elsewhere, and which settings they come to.

Nothing heavy is imported here, since `stream caption --help` reads it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from protocol.errors import UsageError
from protocol.limits import CLIENT_CONTROL_TIMEOUT_S, CLIENT_FRAME_TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol.client.settings import ClientSettings

REMOTE_PANEL = "Server elsewhere"
URL_VARIABLE = "NIM_URL"
KEY_VARIABLE = "STREAM_API_KEY"

NimUrl = Annotated[
    str | None,
    typer.Option(
        "--nim-url",
        metavar="URL",
        help="Have a NIM, a Dynamo frontend or a `stream serve` answer. "
        f"Default: {URL_VARIABLE} of the environment, unless --engine names an engine.",
        rich_help_panel=REMOTE_PANEL,
        show_default=False,
    ),
]
Backend = Annotated[
    str | None,
    typer.Option(
        "--backend",
        metavar="NAME",
        help="nim, or dynamo for its shared frontend. Default: nim.",
        rich_help_panel=REMOTE_PANEL,
        show_default=False,
    ),
]
Transport = Annotated[
    str | None,
    typer.Option(
        "--transport",
        metavar="NAME",
        help="websocket or rest. Default: websocket, and rest for dynamo.",
        rich_help_panel=REMOTE_PANEL,
        show_default=False,
    ),
]
FrameFormat = Annotated[
    str | None,
    typer.Option(
        "--frame-format",
        metavar="NAME",
        help="How a picture travels: binary, or base64 in JSON. Default: binary, and base64 over rest.",
        rich_help_panel=REMOTE_PANEL,
        show_default=False,
    ),
]
FrameEncoding = Annotated[
    str | None,
    typer.Option(
        "--frame-encoding",
        metavar="NAME",
        help="jpeg, or png, which loses nothing. Default: jpeg.",
        rich_help_panel=REMOTE_PANEL,
        show_default=False,
    ),
]
ApiKey = Annotated[
    str | None,
    typer.Option(
        "--api-key",
        metavar="KEY",
        help=f"Sent as a Bearer token. Default: {KEY_VARIABLE} of the environment, and OPENAI_API_KEY for "
        "--engine openai.",
        rich_help_panel=REMOTE_PANEL,
        show_default=False,
    ),
]
CaCert = Annotated[
    Path | None,
    typer.Option(
        "--ca-cert",
        metavar="FILE",
        help="Trust these certificates too (PEM).",
        rich_help_panel=REMOTE_PANEL,
        show_default=False,
    ),
]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Take any certificate.", rich_help_panel=REMOTE_PANEL)
]
Reconnect = Annotated[
    bool,
    typer.Option(
        "--reconnect",
        help="Go on in a new session, without history, when one is lost. "
        "An OpenAI-compatible server: go on with the next frame when one fails.",
        rich_help_panel=REMOTE_PANEL,
    ),
]
FrameTimeout = Annotated[
    float | None,
    typer.Option(
        "--frame-timeout",
        metavar="SECONDS",
        min=0.001,
        help=f"Longest wait for a caption. Default: {CLIENT_FRAME_TIMEOUT_S:g}.",
        rich_help_panel=REMOTE_PANEL,
        show_default=False,
    ),
]
ConnectTimeout = Annotated[
    float | None,
    typer.Option(
        "--connect-timeout",
        metavar="SECONDS",
        min=0.001,
        help="Longest wait to connect, and to create and delete a session. "
        f"Default: {CLIENT_CONTROL_TIMEOUT_S:g}.",
        rich_help_panel=REMOTE_PANEL,
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOptions:
    """The options as they were given; None, or False for a flag, was not."""

    nim_url: str | None = None
    backend: str | None = None
    transport: str | None = None
    frame_format: str | None = None
    frame_encoding: str | None = None
    api_key: str | None = None
    ca_cert: Path | None = None
    insecure: bool = False
    reconnect: bool = False
    frame_timeout_s: float | None = None
    connect_timeout_s: float | None = None

    def settings(
        self,
        engine: str,
        *,
        local_only: Mapping[str, object] | None = None,
        url_option: str = "--nim-url",
    ) -> ClientSettings | None:
        """How to speak to the server that is asked for; None if an engine in this process is.

        Args:
            engine: what ``--engine`` says; any but `auto` wins over the environment's server.
            local_only: values, by their options, that only an engine in this process could follow.
            url_option: what gave `nim_url`.

        Raises:
            UsageError: options contradict each other.
        """
        if self.nim_url is not None and engine != "auto":
            raise UsageError(f"--nim-url and --engine {engine} exclude each other")
        source = URL_VARIABLE if self.nim_url is None else url_option
        url = self.nim_url
        if url is None and engine == "auto":
            url = os.environ.get(URL_VARIABLE) or None
        given = self.given()
        if url is None:
            if given and engine != "auto":
                raise UsageError(f"{given[0]} and --engine {engine} exclude each other")
            if given:
                raise UsageError(
                    f"{given[0]} is for a server elsewhere", hint=f"name it with --nim-url or {URL_VARIABLE}"
                )
            return None
        for option, value in (local_only or {}).items():
            if value is not None:
                raise UsageError(
                    f"{option} is for vLLM in this process, and {source} has a server answer",
                    hint="--engine vllm runs it here" if source == URL_VARIABLE else "",
                )
        from protocol.client.address import ServerAddress
        from protocol.client.settings import ClientSettings

        return ClientSettings.choose(
            ServerAddress.parse(url, given_as=source),
            backend=self.backend,
            transport=self.transport,
            frame_format=self.frame_format,
            frame_encoding=self.frame_encoding,
            api_key=self.api_key or os.environ.get(KEY_VARIABLE),
            ca_cert=self.ca_cert,
            insecure=self.insecure,
            reconnect=self.reconnect,
            control_timeout_s=self.connect_timeout_s,
            frame_timeout_s=self.frame_timeout_s,
        )

    def others(self) -> dict[str, object]:
        """Values, by their options, of what only a server of streaming sessions could follow."""
        return {
            "--nim-url": self.nim_url,
            "--backend": self.backend,
            "--transport": self.transport,
            "--frame-format": self.frame_format,
        }

    def given(self) -> list[str]:
        """The options that were given, but for the URL."""
        named = {
            "--backend": self.backend,
            "--transport": self.transport,
            "--frame-format": self.frame_format,
            "--frame-encoding": self.frame_encoding,
            "--api-key": self.api_key,
            "--ca-cert": self.ca_cert,
            "--insecure": self.insecure or None,
            "--reconnect": self.reconnect or None,
            "--frame-timeout": self.frame_timeout_s,
            "--connect-timeout": self.connect_timeout_s,
        }
        return [option for option, value in named.items() if value is not None]
