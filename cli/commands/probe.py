"""`stream probe`: what is in a video, and what captioning would do with it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.exit_codes import EXIT_FAILED, EXIT_INCOMPLETE, EXIT_OK
from cli.options import (
    Debug,
    End,
    EveryFrame,
    Fps,
    Inputs,
    Keyframes,
    MaxFrames,
    OpenTimeout,
    ReadTimeout,
    Start,
)
from cli.video.timeouts import OPEN_TIMEOUT_S, READ_TIMEOUT_S, Timeouts
from protocol.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.video.file_source import FileSource
    from cli.video.sampling import SamplingPlan


def probe_command(
    inputs: Inputs,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per input, one a line.")] = False,
    fps: Fps = None,
    start: Start = None,
    end: End = None,
    max_frames: MaxFrames = None,
    every_frame: EveryFrame = False,
    keyframes: Keyframes = False,
    open_timeout: OpenTimeout = OPEN_TIMEOUT_S,
    read_timeout: ReadTimeout = READ_TIMEOUT_S,
    debug: Debug = False,
) -> int:
    """Show what INPUT holds and what `caption` would do with it.

    Exit codes: 0 done, 1 failed, 2 usage, 3 some inputs could not be read, 130 interrupted.
    """
    if debug:
        from cli.logs import show_logs

        show_logs()
    from cli.signals import run_until_signalled
    from cli.video.inputs import expand_inputs
    from cli.video.sampling import SamplingPlan

    plan = SamplingPlan.of(
        fps=fps,
        start=start,
        end=end,
        max_frames=max_frames,
        every_frame=every_frame,
        keyframes=keyframes,
    )
    sources = expand_inputs(inputs)
    failed = run_until_signalled(
        _probe_inputs(sources, plan, Timeouts(open_timeout, read_timeout), as_json=as_json)
    )
    if failed == len(sources):
        return EXIT_FAILED
    return EXIT_INCOMPLETE if failed else EXIT_OK


async def _probe_inputs(
    inputs: Sequence[str], plan: SamplingPlan, timeouts: Timeouts, *, as_json: bool
) -> int:
    """Prints what each input is; how many could not be read."""
    from cli.main import print_error
    from cli.video.file_source import open_source
    from protocol.redaction import mask_credentials

    failed = 0
    for given in inputs:
        try:
            source = await open_source(given, plan, timeouts)
        except InputError as error:
            failed += 1
            print_error(str(error))
            if as_json:
                _print_json({"source": mask_credentials(given), "error": str(error)})
            continue
        await source.close()
        if as_json:
            _print_json({"source": source.name, **source.info.to_json(), "sampling": _sampling(source, plan)})
        else:
            _print_text(source, plan)
    return failed


def _sampling(source: FileSource, plan: SamplingPlan) -> dict[str, Any]:
    width, height = source.info.frame_size
    return {
        "mode": plan.mode,
        "fps": float(plan.fps) if plan.mode == "rate" else None,
        "start_s": float(plan.start),
        "end_s": None if plan.end is None else float(plan.end),
        "max_frames": plan.max_frames,
        "expected_frames": source.expected_frames,
        "width": width,
        "height": height,
    }


def _print_json(line: dict[str, Any]) -> None:
    from cli.clean import escape_controls, valid_unicode

    sys.stdout.write(escape_controls(valid_unicode(json.dumps(line, ensure_ascii=False))) + "\n")
    sys.stdout.flush()


def _print_text(source: FileSource, plan: SamplingPlan) -> None:
    from cli.clean import one_line
    from cli.video.timecode import format_timecode

    info = source.info
    rate = f", {float(info.rate):.4g} frames a second on average" if info.rate else ""
    count = f", {info.frame_count} frames" if info.frame_count else ""
    length = "unknown" if info.duration_s is None else format_timecode(info.duration_s)
    rows = [
        ("video", f"{info.codec}, {_size(info.size)} {info.pixel_format}{rate}"),
        ("length", f"{length}{count}"),
        ("container", f"{info.container}: {', '.join(info.streams)}"),
        (
            "colour",
            f"matrix {info.matrix}{' (assumed)' if info.matrix_assumed else ''}, "
            f"{'full' if info.full_range else 'limited'} range"
            + (f", transfer {info.transfer}" if info.transfer else ""),
        ),
    ]
    if info.recorded_at is not None:
        rows.append(("recorded", f"{info.recorded_at:%Y-%m-%d %H:%M:%S} UTC"))
    rows.append(("caption", _intent(source, plan)))
    rows += [("note", oddity) for oddity in info.oddities]
    lines = [one_line(source.name), *(f"  {label:<10}{one_line(value)}" for label, value in rows)]
    sys.stdout.write("\n".join(lines) + "\n")


def _intent(source: FileSource, plan: SamplingPlan) -> str:
    expected = source.expected_frames
    count = "frames" if expected is None else "about 1 frame" if expected == 1 else f"about {expected} frames"
    how = {
        "rate": f", {float(plan.fps):g} a second",
        "every": ", every one there is",
        "keyframes": ", the keyframes",
    }[plan.mode]
    return f"{count}{how}, {_size(source.info.frame_size)}"


def _size(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"
