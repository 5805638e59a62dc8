"""`stream cameras`: which cameras are connected, and how they give pictures."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cli.exit_codes import EXIT_FAILED, EXIT_OK
from cli.options import Debug

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.video.camera_mode import CameraMode
    from cli.video.cameras import Camera

_COLUMNS = ("CAMERA", "NAME", "FORMAT", "SIZE", "FPS")


def cameras_command(
    output: Annotated[
        Literal["text", "jsonl"] | None,
        typer.Option(
            "--format",
            "-f",
            help="text: a table; jsonl: one JSON object per camera, one a line. Default: text on a terminal, "
            "else jsonl.",
            show_default=False,
        ),
    ] = None,
    debug: Debug = False,
) -> int:
    """List the cameras there are, what to type for each, and their sizes and rates.

    What a camera is to give goes by --input-option: video_size=1280x720, framerate=30, input_format=mjpeg.
    Exit codes: 0 there are some, 1 none, 2 usage.
    """
    if debug:
        from cli.logs import show_logs

        show_logs()
    from cli.main import print_error
    from cli.video.cameras import NO_CAMERA_HINT, cameras

    found = cameras()
    if not found:
        print_error(f"no camera is connected; {NO_CAMERA_HINT}")
        return EXIT_FAILED
    if (output or ("text" if sys.stdout.isatty() else "jsonl")) == "text":
        _print_table(found)
    else:
        _print_json(found)
    return EXIT_OK


def _print_json(found: Sequence[Camera]) -> None:
    from cli.clean import escape_controls, valid_unicode

    for camera in found:
        line = json.dumps(_as_json(camera), ensure_ascii=False)
        sys.stdout.write(escape_controls(valid_unicode(line)) + "\n")
    sys.stdout.flush()


def _as_json(camera: Camera) -> dict[str, Any]:
    modes = []
    for mode in camera.modes:
        told: dict[str, Any] = {"format": mode.format, "width": mode.width, "height": mode.height}
        told["fps"] = list(mode.rates)
        if mode.least_size is not None:
            told["min_width"], told["min_height"] = mode.least_size
        if mode.least_rate is not None:
            told["min_fps"] = mode.least_rate
        modes.append(told)
    return {
        "camera": camera.address,
        "name": camera.name,
        "device": camera.device,
        "modes": modes,
        "error": camera.problem or None,
    }


def _print_table(found: Sequence[Camera]) -> None:
    from cli.clean import one_line

    rows = [_COLUMNS]
    for camera in found:
        named = (camera.address, one_line(camera.name))
        if camera.problem:
            rows.append((*named, camera.problem, "", ""))
        elif not camera.modes:
            rows.append((*named, "", "", ""))
        for mode in camera.modes:
            rows.append((*named, one_line(mode.format), _size(mode), _rates(mode)))
            named = ("", "")
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write("  ".join(cells).rstrip() + "\n")
    sys.stdout.flush()


def _size(mode: CameraMode) -> str:
    most = f"{mode.width}x{mode.height}"
    return most if mode.least_size is None else f"{mode.least_size[0]}x{mode.least_size[1]} to {most}"


def _rates(mode: CameraMode) -> str:
    rates = ", ".join(f"{rate:.4g}" for rate in mode.rates)
    return rates if mode.least_rate is None else f"{mode.least_rate:.4g} to {rates}"
