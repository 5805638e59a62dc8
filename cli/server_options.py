"""Command-line options of `stream serve`, with the NIM's environment variables that mean the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.engine_options import ENGINE_PANEL, RETENTION_PANEL
from protocol.limits import DEFAULT_MAX_VIDEO_SEGMENTS

SERVER_PANEL = "Server"
SESSION_PANEL = "Sessions"
SECURITY_PANEL = "Who may use it"

Host = Annotated[
    str,
    typer.Option(
        "--host",
        metavar="ADDRESS",
        help="Address to listen at; 0.0.0.0 is all.",
        rich_help_panel=SERVER_PANEL,
    ),
]
Port = Annotated[
    int,
    typer.Option(
        "--port",
        metavar="N",
        min=0,
        max=65535,
        envvar="NIM_HTTP_API_PORT",
        help="Port to listen at; 0 is any that is free.",
        rich_help_panel=SERVER_PANEL,
    ),
]
DrainTimeout = Annotated[
    float,
    typer.Option(
        "--drain-timeout",
        metavar="SECONDS",
        min=0,
        help="When told to stop, wait this long for frames in flight.",
        rich_help_panel=SERVER_PANEL,
    ),
]
CertFile = Annotated[
    Path | None,
    typer.Option(
        "--ssl-certfile",
        metavar="FILE",
        help="Serve HTTPS and WSS with this certificate chain (PEM).",
        rich_help_panel=SERVER_PANEL,
        show_default=False,
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--ssl-keyfile",
        metavar="FILE",
        help="The certificate's private key, where it is in a file of its own.",
        rich_help_panel=SERVER_PANEL,
        show_default=False,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="No line for each request; warnings and errors stay.",
        rich_help_panel=SERVER_PANEL,
    ),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        help="Show all log lines, and tracebacks instead of one-line errors.",
        rich_help_panel=SERVER_PANEL,
    ),
]
Streaming = Annotated[
    bool,
    typer.Option(
        "--streaming/--no-streaming",
        envvar="NIM_ENABLE_STREAMING",
        help="Whether the streaming routes are there.",
        rich_help_panel=SERVER_PANEL,
    ),
]
MaxSessions = Annotated[
    int,
    typer.Option(
        "--max-sessions",
        metavar="N",
        min=1,
        envvar="NIM_STREAMING_MAX_SESSIONS",
        help="Sessions open at the same time, over WebSocket and REST together, and as many chat requests.",
        rich_help_panel=SESSION_PANEL,
    ),
]
IdleTimeout = Annotated[
    float,
    typer.Option(
        "--idle-timeout",
        metavar="SECONDS",
        min=0.001,
        envvar="NIM_STREAMING_IDLE_TIMEOUT_S",
        help="Close a WebSocket session this long after its last frame.",
        rich_help_panel=SESSION_PANEL,
    ),
]
RestIdleTimeout = Annotated[
    float,
    typer.Option(
        "--rest-idle-timeout",
        metavar="SECONDS",
        min=0.001,
        envvar="NIM_STREAMING_REST_IDLE_TIMEOUT_S",
        help="The same for a REST session.",
        rich_help_panel=SESSION_PANEL,
    ),
]
FrameTimeout = Annotated[
    float,
    typer.Option(
        "--frame-timeout",
        metavar="SECONDS",
        min=0.001,
        help="Close a session for good when a frame of it takes longer; give a chat completion up.",
        rich_help_panel=SESSION_PANEL,
    ),
]
ServedModelName = Annotated[
    str | None,
    typer.Option(
        "--served-model-name",
        metavar="NAME",
        envvar="NIM_SERVED_MODEL_NAME",
        help="What clients know the model by. Default: what --model says.",
        rich_help_panel=ENGINE_PANEL,
        show_default=False,
    ),
]
MaxVideoSegments = Annotated[
    int | None,
    typer.Option(
        "--max-video-segments",
        metavar="N",
        min=1,
        envvar="NIM_STREAMING_MAX_VIDEO_SEGMENTS",
        help=f"Frames remembered. Default: {DEFAULT_MAX_VIDEO_SEGMENTS}.",
        rich_help_panel=RETENTION_PANEL,
        show_default=False,
    ),
]
ApiKey = Annotated[
    str | None,
    typer.Option(
        "--api-key",
        metavar="KEY",
        envvar="STREAM_API_KEY",
        help="Ask every client for this key ('Authorization: Bearer KEY'). Better given by the variable: "
        "other users of the machine can see a command line.",
        rich_help_panel=SECURITY_PANEL,
        show_default=False,
    ),
]
AllowOrigin = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-origin",
        metavar="ORIGIN",
        help="Let web pages of this origin (https://example.com, or * for all) use the server. Repeatable.",
        rich_help_panel=SECURITY_PANEL,
        show_default=False,
    ),
]
AllowImageUrls = Annotated[
    bool,
    typer.Option(
        "--allow-image-urls",
        help="Fetch pictures that chat completions give by http(s) URL, from the public internet only. "
        "Without it they must be data: URLs.",
        rich_help_panel=SECURITY_PANEL,
    ),
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="NAME",
        help="A name clients may call the server by, besides addresses, localhost and this machine's own "
        "(*.example.com: any below it; *: all). Repeatable. With a key any will do, unless some are given.",
        rich_help_panel=SECURITY_PANEL,
        show_default=False,
    ),
]
