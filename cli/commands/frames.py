"""`stream frames`: the sampled pictures as files, to see what a model will see."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli.options import (
    OUTPUT_PANEL,
    Debug,
    End,
    EveryFrame,
    Fps,
    Inputs,
    Keyframes,
    MaxFrames,
    OpenTimeout,
    Overwrite,
    Quiet,
    ReadTimeout,
    Start,
)
from cli.tally import Tally
from cli.video.timeouts import OPEN_TIMEOUT_S, READ_TIMEOUT_S, Timeouts
from protocol.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cli.video.frame_folder import FrameFolder
    from cli.video.sampling import SamplingPlan
    from protocol.frame import Encoding
    from protocol.source import Ended, Source

NO_FOLDER = "none"


def frames_command(
    inputs: Inputs,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Write the pictures and index.jsonl here; 'none' only decodes and samples.",
            rich_help_panel=OUTPUT_PANEL,
            show_default=False,
        ),
    ],
    picture_format: Annotated[
        Literal["jpeg", "jpg", "png"],
        typer.Option(
            "--format", "-f", help="JPEG of quality 85, or lossless PNG.", rich_help_panel=OUTPUT_PANEL
        ),
    ] = "jpeg",
    fps: Fps = None,
    start: Start = None,
    end: End = None,
    max_frames: MaxFrames = None,
    every_frame: EveryFrame = False,
    keyframes: Keyframes = False,
    overwrite: Overwrite = False,
    open_timeout: OpenTimeout = OPEN_TIMEOUT_S,
    read_timeout: ReadTimeout = READ_TIMEOUT_S,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Write the sampled frames of INPUT as pictures: what a model will see.

    Exit codes: 0 done, 1 failed, 2 usage, 3 done with inputs skipped or damaged, 130 interrupted.
    """
    if debug:
        from cli.logs import show_logs

        show_logs()
    from cli.signals import run_until_signalled
    from cli.video.frame_folder import FrameFolder
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
    folder = None
    if str(output) != NO_FOLDER:
        if output.suffix.lower() in {".jpg", ".jpeg", ".png"} and not output.is_dir():
            raise UsageError(f"-o {output}: a folder is needed, and this looks like a picture")
        encoding: Encoding = "png" if picture_format == "png" else "jpeg"
        folder = FrameFolder(output, encoding=encoding, overwrite=overwrite)
    with folder or nullcontext():
        tally = run_until_signalled(
            _sample_inputs(sources, plan, Timeouts(open_timeout, read_timeout), folder, quiet=quiet)
        )
    return tally.exit_code


async def _sample_inputs(
    inputs: Sequence[str], plan: SamplingPlan, timeouts: Timeouts, folder: FrameFolder | None, *, quiet: bool
) -> Tally:
    from cli.main import print_error
    from cli.output.text import clock
    from cli.video.file_source import open_source
    from cli.video.inputs import unique_stems

    tally = Tally()
    for given, stem in zip(inputs, unique_stems(inputs), strict=True):
        started = perf_counter()
        try:
            source = await open_source(given, plan, timeouts, pictures=folder is not None)
        except InputError as error:
            print_error(str(error))
            tally.failed += 1
            continue
        try:
            written, ended = await _sample(source, folder, stem, bar=not quiet and sys.stderr.isatty())
        except InputError as error:
            print_error(str(error))
            tally.failed += 1
            continue
        finally:
            await source.close()
        if not written:
            print_error(f"{source.name}: no frame in the range asked for; it ends at {clock(ended.end_s)}")
            tally.failed += 1
            continue
        tally.done += 1
        tally.incomplete += bool(ended.damaged or ended.truncated)
        if ended.truncated:
            print_error(f"{source.name}: ends early, at {ended.end_s:.1f} s", label="warning")
        if ended.damaged:
            print_error(f"{source.name}: {_count(ended.damaged, 'damaged packet')} skipped", label="warning")
        if not quiet:
            elapsed_s = perf_counter() - started
            print_error(
                f"{_count(written, 'frame')} of {ended.frames_decoded} decoded in {elapsed_s:.2f} s, "
                f"{max(0.0, ended.end_s - float(plan.start)) / elapsed_s:.1f} × real time",
                label=source.name,
            )
    return tally


async def _sample(source: Source, folder: FrameFolder | None, stem: str, *, bar: bool) -> tuple[int, Ended]:
    """Samples one source to its end; how many frames that gave, and how it ended."""
    import asyncio

    from protocol.frame import Frame
    from protocol.source import Ended, Taken

    count = 0
    ended = Ended(end_s=0.0, frames_decoded=0)
    with _bar(source.expected_frames) if bar else nullcontext(int) as advance:
        async for event in source.events():
            if isinstance(event, Frame) and folder is not None:
                await asyncio.to_thread(folder.write, event, source=source.name, stem=stem)
            if isinstance(event, (Frame, Taken)):
                count += 1
                advance()
            elif isinstance(event, Ended):
                ended = event
    return count, ended


@contextmanager
def _bar(total: int | None) -> Iterator[Callable[[], object]]:
    """A progress bar on stderr, as long as it is worked; gives what advances it by a frame."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("frames", total=total)
        yield lambda: progress.advance(task)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
