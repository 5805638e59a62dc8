"""One `stream caption` run: from its options to its exit code."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from cli.caption_inputs import Asked, caption_inputs
from cli.ollama_hint import ollama_hint
from cli.output.command_queue import CommandQueue
from cli.output.formats import format_named
from cli.output.outputs import Outputs
from cli.output.terminal import Display
from cli.run_options import run_options
from cli.signals import run_until_signalled
from cli.tally import Tally
from cli.video.inputs import expand_inputs
from protocol.errors import UsageError
from protocol.limits import DEFAULT_MAX_VIDEO_SEGMENTS
from protocol.messages import Retention, Sampling, SessionConfig, describe_invalid
from protocol.redaction import mask_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Sequence

    from cli.engines import EngineChoice
    from cli.output.command import Command
    from cli.video.reading import Reading
    from cli.video.sampling import SamplingPlan
    from protocol.session import Engine

NO_FILE = "none"
MAX_TEXT_BYTES = 1 << 20
"""Longest prompt or schema read from a file: anything longer is the wrong file."""


def run_captions(
    arguments: Sequence[str],
    plan: SamplingPlan,
    config: SessionConfig,
    *,
    engine: EngineChoice,
    formats: Sequence[str],
    files: Sequence[Path],
    output_dir: Path | None,
    overwrite: bool,
    resume: bool,
    every: int,
    quiet: bool,
    instructed: bool,
    reading: Reading,
    skip_similar: float | None,
    changes_only: bool,
    on_gap: Literal["keep", "new-session"],
    command: Command | None,
) -> int:
    """Captions every input and gives the exit code. What can be checked is checked before anything is read.

    Args:
        arguments: the inputs as they were typed.
        instructed: the person wrote a prompt or a question of their own.
        command: what is run for captions.

    Raises:
        StreamError: nothing could be done, or the run had to stop.
    """
    formats = [format_named(name) for name in formats]
    inputs = expand_inputs(arguments)
    if resume and overwrite:
        raise UsageError(
            "--resume goes on with a file, and --overwrite begins it again", hint="use one of them"
        )
    live = [given for given in inputs if (found := reading.live(given)) and not found.perhaps]
    _check_fitting(plan, live, resume=resume, changes_only=changes_only)
    if any(str(path) == NO_FILE for path in files):
        if len(files) > 1 or output_dir or formats:
            raise UsageError(f"-o {NO_FILE} writes nothing, and another output is asked for")
        files, stdout_format, show_captions = [], None, False
    else:
        stdout_format, show_captions = _stdout(formats, files, output_dir)
    outputs = Outputs(
        stdout_format=stdout_format,
        files=[path for path in files if str(path) != "-"],
        directory=output_dir,
        directory_formats=formats or ["jsonl"],
        overwrite=overwrite,
        inputs=inputs,
        period_s=1 / config.fps,
        options=None
        if live or changes_only
        else run_options(plan, config, engine, skip_similar=skip_similar),
        resume=resume,
    )
    display = Display(
        show_captions=show_captions,
        every=every,
        quiet=quiet,
        input_count=len(inputs),
        bar=not (stdout_format and sys.stdout.isatty()),  # the two would write over each other
        at_once=inputs if live else (),
    )
    if resume:
        outputs.restore()
    if outputs.done:
        display.note("the captions are complete already; there is nothing left to do")
        return _tally(outputs, len(inputs)).exit_code
    with contextlib.closing(display):
        opened = engine.make(display.loading, display.warn)
        if instructed and not opened.follows_instructions:
            display.note(
                f"the {opened.name} engine describes what it sees; it does not follow a prompt or question"
            )
        asked = Asked(plan, config, reading, skip_similar, changes_only, on_gap)

        unasked = engine.name == "auto" and engine.model is None and engine.kind == "lite"

        async def work() -> Tally:
            async with (
                _hinting(display) if unasked and not quiet else nullcontext(),
                CommandQueue(command, display.warn, display.note) if command else nullcontext() as commands,
            ):
                return await caption_inputs(inputs, asked, opened, outputs, display, commands)

        return run_until_signalled(_closing(work(), outputs, opened)).exit_code


@contextlib.asynccontextmanager
async def _hinting(display: Display) -> AsyncIterator[None]:
    """Tells of another engine, if there is one, while this one begins."""

    async def hint() -> None:
        told = await asyncio.to_thread(ollama_hint)
        if told is not None:
            display.note(told)

    hinting = asyncio.create_task(hint())
    try:
        yield
    finally:
        await asyncio.wait({hinting})


def _check_fitting(plan: SamplingPlan, live: Sequence[str], *, resume: bool, changes_only: bool) -> None:
    if resume and changes_only:
        raise UsageError(
            "--resume cannot tell which captions --changes-only left out", hint="use one of them"
        )
    if not live:
        return
    name = mask_url(live[0])
    if resume:
        raise UsageError(f"{name}: a live source cannot be gone back to", hint="leave --resume out")
    if plan.start:
        raise UsageError(f"{name}: a live source starts now", hint="leave --start out")
    if plan.loop:
        raise UsageError(f"{name}: a live source cannot be repeated", hint="leave --loop out")


def _tally(outputs: Outputs, count: int) -> Tally:
    """How the inputs went that an earlier run has done."""
    pasts = [outputs.past(index) for index in range(count)]
    return Tally(done=count, incomplete=sum(past.incomplete for past in pasts))


async def _closing(work: Coroutine[None, None, Tally], outputs: Outputs, engine: Engine) -> Tally:
    """What `work` gives; the outputs and the engine are closed after it."""
    try:
        return await work
    finally:
        outputs.close()
        await engine.close()


def session_config(
    *,
    system_prompt: str,
    question: str,
    fps: float,
    model: str | None,
    sampling: dict[str, Any],
    retention: dict[str, Any],
) -> SessionConfig:
    """The session the options ask for; a retention option that is None was not given.

    Without any, the server's own policy holds. With one, the object is complete in itself, so that a server
    does not take a missing `max_video_segments` for 30.

    Raises:
        UsageError: a value is out of range.
    """
    asked = {name: value for name, value in retention.items() if value is not None}
    try:
        return SessionConfig(
            system_prompt=system_prompt,
            question=question,
            fps=fps,
            model=model,
            sampling=Sampling(**sampling),
            retention=Retention(**{"max_video_segments": DEFAULT_MAX_VIDEO_SEGMENTS, **asked})
            if asked
            else None,
        )
    except ValidationError as error:
        raise UsageError(describe_invalid(error, spell=_option)) from error


def _option(field: str) -> str:
    """The option that gives `field`."""
    return "--" + field.rpartition(".")[2].replace("_", "-")


def guided_schema(option: str | None) -> dict[str, Any] | None:
    """What ``--guided-json`` gives: JSON text, or a file that holds it.

    Raises:
        UsageError: it is neither.
    """
    if option is None:
        return None
    text = option if option.lstrip().startswith("{") else read_text(Path(option), "--guided-json")
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--guided-json: not JSON: {error}") from error
    if not isinstance(schema, dict):
        raise UsageError("--guided-json: a JSON Schema is an object")
    return schema


def read_text(path: Path, option: str) -> str:
    """The text of a file that `option` names.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            text = file.read(MAX_TEXT_BYTES + 1)
        if len(text) > MAX_TEXT_BYTES:
            raise UsageError(f"{option} {path}: too long, over {MAX_TEXT_BYTES} bytes")
        return text.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"{option} {path}: {reason}") from error


def _stdout(
    formats: Sequence[str], files: Sequence[Path], output_dir: Path | None
) -> tuple[str | None, bool]:
    """The format for standard output, if a writer is to write there, and whether a person reads it.

    Named files or a folder take the captions off a pipe, as they do with curl and ffmpeg; ``-o -`` puts them
    back. A terminal always shows them.
    """
    wants_stdout = any(str(path) == "-" for path in files)
    elsewhere = bool(files) or output_dir is not None
    for_person = sys.stdout.isatty()
    if output_dir is not None:
        return ("jsonl", False) if wants_stdout else (None, for_person)
    if len(formats) > 1:
        raise UsageError("standard output takes one --format", hint="use -o FILE for each, or --output-dir")
    if for_person and (not formats or formats == ["text"]):
        return None, True
    if formats:
        return formats[0], False
    return (None, False) if elsewhere and not wants_stdout else ("jsonl", False)
