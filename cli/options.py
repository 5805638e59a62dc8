"""Command-line options that several commands share, each defined once.

Nothing heavy is imported here: `stream caption --help` reads this module and no model, video or server code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SAMPLING_PANEL = "Which frames"
OUTPUT_PANEL = "Output"
INPUT_PANEL = "Silent inputs"

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help="Video files, folders (without their subfolders), globs, http(s) URLs, or - for standard input.",
        show_default=False,
    ),
]
Fps = Annotated[
    str | None,
    typer.Option(
        "--fps",
        metavar="RATE",
        help="Frames sampled a second (5, 0.5, 1/3): the picture on screen every 1/RATE s. Default: 1.",
        rich_help_panel=SAMPLING_PANEL,
        show_default=False,
    ),
]
Start = Annotated[
    str | None,
    typer.Option(
        "--start",
        metavar="TIME",
        help="Sample from here: seconds, MM:SS or HH:MM:SS.mmm.",
        rich_help_panel=SAMPLING_PANEL,
        show_default=False,
    ),
]
End = Annotated[
    str | None,
    typer.Option(
        "--end",
        metavar="TIME",
        help="Sample up to here, this instant left out.",
        rich_help_panel=SAMPLING_PANEL,
        show_default=False,
    ),
]
MaxFrames = Annotated[
    int | None,
    typer.Option(
        "--max-frames",
        min=1,
        metavar="N",
        help="Stop after N sampled frames of each input.",
        rich_help_panel=SAMPLING_PANEL,
        show_default=False,
    ),
]
EveryFrame = Annotated[
    bool,
    typer.Option(
        "--every-frame", help="Every frame there is, at no fixed rate.", rich_help_panel=SAMPLING_PANEL
    ),
]
Keyframes = Annotated[
    bool,
    typer.Option("--keyframes", help="Only the video's own keyframes.", rich_help_panel=SAMPLING_PANEL),
]
Loop = Annotated[
    bool,
    typer.Option(
        "--loop",
        help="Repeat the video, its times going on, until --max-frames or --end.",
        rich_help_panel=SAMPLING_PANEL,
    ),
]
OpenTimeout = Annotated[
    float,
    typer.Option(
        "--open-timeout",
        min=0.0,
        metavar="SECONDS",
        help="Give up on an input from which nothing comes in for so long; 0 waits without end.",
        rich_help_panel=INPUT_PANEL,
    ),
]
ReadTimeout = Annotated[
    float,
    typer.Option(
        "--read-timeout",
        min=0.0,
        metavar="SECONDS",
        help="Give up on an input that falls silent for so long later on; 0 waits without end.",
        rich_help_panel=INPUT_PANEL,
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace files that exist.", rich_help_panel=OUTPUT_PANEL)
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on where an earlier run with the same options ended; its JSONL file (-o or --output-dir) "
        "tells where.",
        rich_help_panel=OUTPUT_PANEL,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="No progress and no summary; warnings and errors stay.",
        rich_help_panel=OUTPUT_PANEL,
    ),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        help="Show log lines, and tracebacks instead of one-line errors.",
        rich_help_panel=OUTPUT_PANEL,
    ),
]
OutputDir = Annotated[
    Path | None,
    typer.Option(
        "--output-dir",
        metavar="DIR",
        help="Write <input's name>.<format> here, a file for each input.",
        rich_help_panel=OUTPUT_PANEL,
        show_default=False,
    ),
]
