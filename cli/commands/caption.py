"""`stream caption`: captions for any video."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    OutputDir,
    Overwrite,
    Quiet,
    Start,
)
from protocol.errors import UsageError
from protocol.limits import (
    DEFAULT_FPS,
    DEFAULT_FREQUENCY_PENALTY,
    DEFAULT_MAX_SESSION_TOKENS,
    DEFAULT_MAX_VIDEO_SEGMENTS,
    DEFAULT_REPETITION_PENALTY,
    DEFAULT_REPREFILL_THRESHOLD,
    DEFAULT_TEMPERATURE,
    DEFAULT_TOP_P,
)

ENGINE_PANEL = "Engine"
PROMPT_PANEL = "What to say"
RETENTION_PANEL = "What the session remembers"

DEFAULT_SYSTEM_PROMPT = "Describe what is happening in each frame in one short sentence."
DEFAULT_CAPTION_TOKENS = 48  # room for a full sentence; a server's own default is half of it


def caption_command(
    inputs: Inputs,
    fps: Fps = DEFAULT_FPS,
    start: Start = None,
    end: End = None,
    max_frames: MaxFrames = None,
    every_frame: EveryFrame = False,
    keyframes: Keyframes = False,
    format_names: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="text, jsonl, srt, vtt, csv or tsv. Default: text on a terminal, jsonl in a pipe. "
            "Repeatable with --output-dir.",
            rich_help_panel=OUTPUT_PANEL,
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write here, in the format of the suffix (.txt .jsonl .srt .vtt .csv .tsv). Repeatable.",
            rich_help_panel=OUTPUT_PANEL,
            show_default=False,
        ),
    ] = None,
    output_dir: OutputDir = None,
    overwrite: Overwrite = False,
    every: Annotated[
        int,
        typer.Option(
            "--every",
            min=1,
            metavar="N",
            help="Show every Nth caption on a terminal; files and pipes get them all.",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = 1,
    quiet: Quiet = False,
    debug: Debug = False,
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            metavar="NAME",
            help="auto, or lite: embedded, needs no download, GPU or key. auto is lite.",
            rich_help_panel=ENGINE_PANEL,
        ),
    ] = "auto",
    model: Annotated[
        str | None,
        typer.Option(
            "--model", metavar="NAME", help="Model to run.", rich_help_panel=ENGINE_PANEL, show_default=False
        ),
    ] = None,
    system_prompt: Annotated[
        str | None,
        typer.Option(
            "--system-prompt",
            metavar="TEXT",
            help=f'The task, for engines that follow one. Default: "{DEFAULT_SYSTEM_PROMPT}"',
            rich_help_panel=PROMPT_PANEL,
            show_default=False,
        ),
    ] = None,
    prompt_file: Annotated[
        Path | None,
        typer.Option(
            "--prompt-file",
            metavar="FILE",
            help="Read the system prompt from a file.",
            rich_help_panel=PROMPT_PANEL,
            show_default=False,
        ),
    ] = None,
    question: Annotated[
        str,
        typer.Option(
            "--question",
            metavar="TEXT",
            help="A question, asked with the first frame.",
            rich_help_panel=PROMPT_PANEL,
            show_default=False,
        ),
    ] = "",
    max_tokens: Annotated[
        int,
        typer.Option(
            "--max-tokens", metavar="N", help="Longest caption, in tokens.", rich_help_panel=PROMPT_PANEL
        ),
    ] = DEFAULT_CAPTION_TOKENS,
    temperature: Annotated[
        float, typer.Option("--temperature", metavar="T", help="0 is greedy.", rich_help_panel=PROMPT_PANEL)
    ] = DEFAULT_TEMPERATURE,
    top_p: Annotated[
        float, typer.Option("--top-p", metavar="P", help="Nucleus sampling.", rich_help_panel=PROMPT_PANEL)
    ] = DEFAULT_TOP_P,
    repetition_penalty: Annotated[
        float,
        typer.Option(
            "--repetition-penalty", metavar="X", help="Above 1 discourages.", rich_help_panel=PROMPT_PANEL
        ),
    ] = DEFAULT_REPETITION_PENALTY,
    frequency_penalty: Annotated[
        float,
        typer.Option(
            "--frequency-penalty", metavar="X", help="Above 0 discourages.", rich_help_panel=PROMPT_PANEL
        ),
    ] = DEFAULT_FREQUENCY_PENALTY,
    guided_json: Annotated[
        str | None,
        typer.Option(
            "--guided-json",
            metavar="SCHEMA",
            help="Answer in JSON of this schema (JSON text, or a file holding it).",
            rich_help_panel=PROMPT_PANEL,
            show_default=False,
        ),
    ] = None,
    guided_choice: Annotated[
        list[str] | None,
        typer.Option(
            "--guided-choice",
            metavar="TEXT",
            help="Answer one of these. Repeat it for each.",
            rich_help_panel=PROMPT_PANEL,
            show_default=False,
        ),
    ] = None,
    guided_regex: Annotated[
        str | None,
        typer.Option(
            "--guided-regex",
            metavar="REGEX",
            help="Answer what this matches.",
            rich_help_panel=PROMPT_PANEL,
            show_default=False,
        ),
    ] = None,
    max_video_segments: Annotated[
        int | None,
        typer.Option(
            "--max-video-segments",
            metavar="N",
            help=f"Frames remembered. Default: {DEFAULT_MAX_VIDEO_SEGMENTS}.",
            rich_help_panel=RETENTION_PANEL,
            show_default=False,
        ),
    ] = None,
    max_session_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-session-tokens",
            metavar="N",
            help=f"Prompt tokens remembered in all. Default: {DEFAULT_MAX_SESSION_TOKENS}.",
            rich_help_panel=RETENTION_PANEL,
            show_default=False,
        ),
    ] = None,
    max_text_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-text-tokens",
            metavar="N",
            help="Of those, text tokens. Default: no limit of their own.",
            rich_help_panel=RETENTION_PANEL,
            show_default=False,
        ),
    ] = None,
    eviction_policy: Annotated[
        str | None,
        typer.Option(
            "--eviction-policy",
            metavar="NAME",
            help="sliding_window: the oldest leave first.",
            rich_help_panel=RETENTION_PANEL,
            show_default=False,
        ),
    ] = None,
    reprefill_threshold: Annotated[
        float | None,
        typer.Option(
            "--reprefill-threshold",
            metavar="X",
            help="Share of the model's trained positions at which what is kept is rebuilt at fresh ones. "
            f"Default: {DEFAULT_REPREFILL_THRESHOLD}.",
            rich_help_panel=RETENTION_PANEL,
            show_default=False,
        ),
    ] = None,
) -> int:
    """Caption INPUT: one complete sentence for each sampled frame.

    On a terminal the captions are shown as they are made; in a pipe they are JSON, one object a line.
    Exit codes: 0 done, 1 failed, 2 usage, 3 done with inputs skipped or damaged, 130 interrupted.
    """
    if debug:
        import logging

        logging.basicConfig(level=logging.DEBUG)
    if system_prompt is not None and prompt_file is not None:
        raise UsageError(
            "--system-prompt and --prompt-file both give the system prompt", hint="use one of them"
        )
    from cli.caption_run import guided_schema, read_text, run_captions, session_config
    from cli.video.sampling import SamplingPlan

    plan = SamplingPlan.of(
        fps=fps,
        start=start,
        end=end,
        max_frames=max_frames,
        every_frame=every_frame,
        keyframes=keyframes,
    )
    prompt = read_text(prompt_file, "--prompt-file") if prompt_file else system_prompt
    config = session_config(
        system_prompt=DEFAULT_SYSTEM_PROMPT if prompt is None else prompt,
        question=question,
        fps=fps,
        model=model,
        sampling={
            "max_tokens": max_tokens,
            "temperature": temperature,
            "top_p": top_p,
            "repetition_penalty": repetition_penalty,
            "frequency_penalty": frequency_penalty,
            "guided_json": guided_schema(guided_json),
            "guided_choice": guided_choice or None,
            "guided_regex": guided_regex,
        },
        retention={
            "max_video_segments": max_video_segments,
            "max_session_tokens": max_session_tokens,
            "max_text_tokens": max_text_tokens,
            "eviction_policy": eviction_policy,
            "reprefill_threshold": reprefill_threshold,
        },
    )
    return run_captions(
        inputs,
        plan,
        config,
        engine_name=engine,
        formats=format_names or [],
        files=output or [],
        output_dir=output_dir,
        overwrite=overwrite,
        every=every,
        quiet=quiet,
        instructed=bool(prompt or question),
    )
