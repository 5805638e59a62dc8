"""Options of `stream caption` for cameras and network streams, each defined once."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from cli.options import SAMPLING_PANEL

EXEC_TIMEOUT_S = 30.0

LIVE_PANEL = "Live sources"
ALARM_PANEL = "Alarms"

LiveInputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help="Video files, folders (without their subfolders), globs, http(s) URLs, - for standard input; "
        "cameras and streams: camera:0, rtsp://, udp://, tcp://, lavfi:testsrc2.",
        show_default=False,
    ),
]
LiveKeep = Annotated[
    Literal["latest", "all"] | None,
    typer.Option(
        "--live-policy",
        help="latest: the newest frame is captioned, and those that went by are counted. all: frames queue, "
        "and then the source waits. Default: latest.",
        rich_help_panel=LIVE_PANEL,
        show_default=False,
    ),
]
Realtime = Annotated[
    bool,
    typer.Option(
        "--realtime", help="Play files at their own pace, as if they were live.", rich_help_panel=LIVE_PANEL
    ),
]
RtspTransport = Annotated[
    Literal["tcp", "udp"],
    typer.Option("--rtsp-transport", help="How RTSP sends its pictures.", rich_help_panel=LIVE_PANEL),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        metavar="NAME",
        help="FFmpeg's name of the device or format to read live inputs with (v4l2, x11grab, mpegts).",
        rich_help_panel=LIVE_PANEL,
        show_default=False,
    ),
]
InputOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--input-option",
        metavar="NAME=VALUE",
        help="An option of FFmpeg's for live inputs, as video_size=1280x720. Repeatable.",
        rich_help_panel=LIVE_PANEL,
        show_default=False,
    ),
]
StallTimeout = Annotated[
    float,
    typer.Option(
        "--stall-timeout",
        min=0.0,
        metavar="SECONDS",
        help="A live source without a picture for so long is lost; 0 waits without end.",
        rich_help_panel=LIVE_PANEL,
    ),
]
RetryFor = Annotated[
    float | None,
    typer.Option(
        "--retry-for",
        min=0.0,
        metavar="SECONDS",
        help="Look for a lost live source so long; 0 gives up at once. Default: 300 for network sources, "
        "0 for cameras.",
        rich_help_panel=LIVE_PANEL,
        show_default=False,
    ),
]
OnGap = Annotated[
    Literal["keep", "new-session"],
    typer.Option(
        "--on-gap",
        help="Once a lost source is back: keep what the session remembers, or begin a new one.",
        rich_help_panel=LIVE_PANEL,
    ),
]
Duration = Annotated[
    str | None,
    typer.Option(
        "--duration",
        metavar="TIME",
        help="Stop after so much of each input: seconds, MM:SS or HH:MM:SS.",
        rich_help_panel=SAMPLING_PANEL,
        show_default=False,
    ),
]
ChangesOnlyFlag = Annotated[
    bool,
    typer.Option(
        "--changes-only",
        help="Write a caption only when it says something else than the last one of its source.",
        rich_help_panel=ALARM_PANEL,
    ),
]
When = Annotated[
    str | None,
    typer.Option(
        "--when",
        metavar="REGEX",
        help="Run the command of --exec for captions that match.",
        rich_help_panel=ALARM_PANEL,
        show_default=False,
    ),
]
Exec = Annotated[
    str | None,
    typer.Option(
        "--exec",
        metavar="COMMAND",
        help="Run this for each caption, its record as JSON on standard input; one at a time. No shell reads "
        "it, and its output goes to standard error.",
        rich_help_panel=ALARM_PANEL,
        show_default=False,
    ),
]
ExecTimeout = Annotated[
    float,
    typer.Option(
        "--exec-timeout",
        min=0.1,
        metavar="SECONDS",
        help="End a command that takes longer.",
        rich_help_panel=ALARM_PANEL,
    ),
]
