"""Command-line options about an OpenAI-compatible server, and what they come to.

Nothing heavy is imported here, since `stream caption --help` reads it.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from protocol.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cli.remote_options import RemoteOptions
    from engine.openai.options import OpenAIOptions
    from protocol.client.settings import ClientSettings

OPENAI_PANEL = "OpenAI-compatible server"
URL_VARIABLE = "OPENAI_BASE_URL"
KEY_VARIABLE = "OPENAI_API_KEY"

_OURS = ("messages", "model", "stream", "stream_options")

BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        help="Have an OpenAI-compatible server answer: vLLM, SGLang, llama.cpp, Ollama, LM Studio, a hosted "
        f"API. Implies --engine openai, for which {URL_VARIABLE} of the environment is the default.",
        rich_help_panel=OPENAI_PANEL,
        show_default=False,
    ),
]
ImageDetail = Annotated[
    str | None,
    typer.Option(
        "--image-detail",
        metavar="NAME",
        help="How closely the server is to look: low, high or auto. Default: not said.",
        rich_help_panel=OPENAI_PANEL,
        show_default=False,
    ),
]
ExtraBody = Annotated[
    str | None,
    typer.Option(
        "--extra-body",
        metavar="JSON",
        help="Fields added to every request, as a JSON object.",
        rich_help_panel=OPENAI_PANEL,
        show_default=False,
    ),
]
PrefixFriendly = Annotated[
    bool,
    typer.Option(
        "--prefix-friendly",
        help="Let many frames go at a time instead of one for one, so that the server's prefix cache serves.",
        rich_help_panel=OPENAI_PANEL,
    ),
]
UpstreamKey = Annotated[
    str | None,
    typer.Option(
        "--upstream-api-key",
        metavar="KEY",
        help="Sent to the server at --base-url as a Bearer token. "
        f"Default: {KEY_VARIABLE} of the environment.",
        rich_help_panel=OPENAI_PANEL,
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class OpenAIServer:
    """A server to ask, and how.

    Attributes:
        key_option: the option that gives its key.
    """

    connection: ClientSettings
    options: OpenAIOptions
    key_option: str = "--api-key"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIGiven:
    """The options as they were given; None, or False for a flag, was not.

    Attributes:
        key_option: what gives the key in `remote`.
        check_regex: see `engine.openai.options.OpenAIOptions`.
    """

    base_url: str | None = None
    image_detail: str | None = None
    extra_body: str | None = None
    prefix_friendly: bool = False
    seed: int | None = None
    key_option: str = "--api-key"
    check_regex: bool = True

    def server(
        self, engine: str, remote: RemoteOptions, *, local_only: Mapping[str, object] | None = None
    ) -> OpenAIServer | None:
        """The server that is to answer; None if another engine is.

        Args:
            engine: what ``--engine`` says; `auto` is openai with ``--base-url`` and never by the environment.
            remote: the options that servers of all kinds have, and those that only others have.
            local_only: values, by their options, that only vLLM in this process could follow.

        Raises:
            UsageError: options contradict each other.
        """
        if engine not in ("auto", "openai") or (engine == "auto" and self.base_url is None):
            given = self._given()
            if self.base_url is not None:
                raise UsageError(f"--base-url and --engine {engine} exclude each other")
            if given:
                raise UsageError(f"{given[0]} is for --engine openai", hint="name the server with --base-url")
            return None
        source = URL_VARIABLE if self.base_url is None else "--base-url"
        url = self.base_url or os.environ.get(URL_VARIABLE)
        if not url:
            raise UsageError(
                "--engine openai needs a server",
                hint=f"--base-url http://localhost:11434/v1, for one, or {URL_VARIABLE}",
            )
        for option, value in {**remote.others(), **(local_only or {})}.items():
            if value is not None:
                raise UsageError(f"{option} does not go with --engine openai", hint="leave it out")
        from engine.openai.options import OpenAIOptions
        from protocol.client.address import ServerAddress
        from protocol.client.settings import ClientSettings

        base = url.rstrip("/").removesuffix("/chat/completions").removesuffix("/models")
        connection = ClientSettings.choose(
            ServerAddress.parse(base, given_as=source),
            frame_encoding=remote.frame_encoding,
            api_key=remote.api_key or os.environ.get(KEY_VARIABLE),
            ca_cert=remote.ca_cert,
            insecure=remote.insecure,
            control_timeout_s=remote.connect_timeout_s,
            frame_timeout_s=remote.frame_timeout_s,
        )
        options = OpenAIOptions(
            image_detail=self.image_detail,
            extra_body=_extra_body(self.extra_body),
            prefix_friendly=self.prefix_friendly,
            seed=self.seed,
            goes_on=remote.reconnect,
            check_regex=self.check_regex,
        )
        return OpenAIServer(connection, options, self.key_option)

    def _given(self) -> list[str]:
        named = {
            "--image-detail": self.image_detail,
            "--extra-body": self.extra_body,
            "--prefix-friendly": self.prefix_friendly or None,
        }
        return [option for option, value in named.items() if value is not None]


def _extra_body(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--extra-body: not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise UsageError("--extra-body: a JSON object is wanted", hint="""write '{"top_k": 20}', for one""")
    for name in _OURS:
        if name in fields:
            raise UsageError(f"--extra-body: {name} is not to be changed")
    return fields
