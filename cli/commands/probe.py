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
    from cli.video.survey import Survey

SCAN_S = 3.0


def probe_command(
    inputs: Inputs,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per input, one a line.")] = False,
    fps: Fps = None,
    start: Start = None,
    end: End = None,
    max_frames: MaxFrames = None,
    every_frame: EveryFrame = False,
    keyframes: Keyframes = False,
    scan: Annotated[
        float,
        typer.Option(
            "--scan",
            min=0.0,
            metavar="SECONDS",
            help="Read on for at most so long, looking for damage, gaps and a missing end; "
            "0 believes the header.",
        ),
    ] = SCAN_S,
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
        _probe_inputs(sources, plan, Timeouts(open_timeout, read_timeout), scan, as_json=as_json)
    )
    if failed == len(sources):
        return EXIT_FAILED
    return EXIT_INCOMPLETE if failed else EXIT_OK


async def _probe_inputs(
    inputs: Sequence[str], plan: SamplingPlan, timeouts: Timeouts, scan_s: float, *, as_json: bool
) -> int:
    """Prints what each input is; how many could not be read."""
    from cli.main import print_error
    from cli.video.file_source import opened
    from cli.video.survey import SurveyedSource
    from protocol.redaction import mask_credentials

    failed = 0
    for given in inputs:
        found, broke_off = None, ""
        try:
            source = await opened(SurveyedSource(given, plan, timeouts, scan_s))
        except InputError as error:
            failed += 1
            print_error(str(error))
            if as_json:
                _print_json({"source": mask_credentials(given), "error": str(error)})
            continue
        try:
            found = await source.survey() if scan_s else None
        except InputError as error:  # what the header told is worth showing all the same
            failed += 1
            broke_off = str(error)
            print_error(broke_off)
        finally:
            await source.close()
        oddities = [*source.info.oddities, *(found.oddities(source.info) if found else ())]
        if as_json:
            line = {"source": source.name, **source.info.to_json(), "oddities": oddities}
            line["scan"] = found.to_json() if found else None
            line["sampling"] = _sampling(source, plan)
            _print_json({**line, "error": broke_off} if broke_off else line)
        else:
            _print_text(source, plan, found, oddities)
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


def _print_text(
    source: FileSource, plan: SamplingPlan, found: Survey | None, oddities: Sequence[str]
) -> None:
    from cli.clean import one_line
    from cli.video.timecode import format_timecode

    info = source.info
    rate = f", {float(info.rate):.4g} frames a second on average" if info.rate else ""
    count = f", {info.frame_count} frames" if info.frame_count else ""
    length = "unknown" if info.duration_s is None else format_timecode(info.duration_s)
    light = f", graded to {info.peak_nits:g} nits" if info.peak_nits else ""
    rows = [
        ("video", f"{info.codec}, {_size(info.size)} {info.pixel_format}{rate}"),
        ("length", f"{length}{count}"),
        ("container", f"{info.container}: {', '.join(info.streams)}"),
        (
            "colour",
            f"matrix {info.matrix}{' (assumed)' if info.matrix_assumed else ''}, "
            f"{'full' if info.full_range else 'limited'} range"
            + (f", transfer {info.transfer}" if info.transfer else "")
            + light,
        ),
    ]
    if info.recorded_at is not None:
        rows.append(("recorded", f"{info.recorded_at:%Y-%m-%d %H:%M:%S} UTC"))
    if found is not None:
        reach = "to its end" if found.whole else f"as far as {format_timecode(found.end_s)}"
        state = f"{found.frames_decoded} frames decoded, {found.damaged} packets damaged"
        rows.append(("read", f"{reach}: {state}"))
    rows.append(("caption", _intent(source, plan)))
    rows += [("note", oddity) for oddity in oddities]
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
