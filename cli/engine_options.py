"""Command-line options about engines and sessions, each defined once for all commands that open sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from protocol.limits import (
    DEFAULT_MAX_SESSION_TOKENS,
    DEFAULT_MAX_VIDEO_SEGMENTS,
    DEFAULT_REPREFILL_THRESHOLD,
)

ENGINE_PANEL = "Engine"
VLLM_PANEL = "vLLM"
PROMPT_PANEL = "What to say"
RETENTION_PANEL = "What the session remembers"

DEFAULT_SYSTEM_PROMPT = "Describe what is happening in each frame in one short sentence."
DEFAULT_CAPTION_TOKENS = 48  # room for a full sentence; a server's own default is half of it

EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="lite: embedded, needs no download, GPU or key. vllm: a vision-language model. "
        "openai: a model behind --base-url. auto: lite, or vllm where --model names a model.",
        rich_help_panel=ENGINE_PANEL,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="Model to run: a name on the Hugging Face hub, or a folder; of a server, one that it has.",
        rich_help_panel=ENGINE_PANEL,
        show_default=False,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Make sampling repeatable.",
        rich_help_panel=ENGINE_PANEL,
        show_default=False,
    ),
]
GpuMemory = Annotated[
    float | None,
    typer.Option(
        "--gpu-memory-utilization",
        metavar="X",
        min=0.01,
        max=1.0,
        help="Share of the GPU's memory to use.",
        rich_help_panel=VLLM_PANEL,
        show_default=False,
    ),
]
MaxModelLen = Annotated[
    int | None,
    typer.Option(
        "--max-model-len",
        metavar="N",
        min=1,
        help="Longest context, in tokens.",
        rich_help_panel=VLLM_PANEL,
        show_default=False,
    ),
]
Dtype = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        metavar="TYPE",
        help="Number type of the weights: auto, bfloat16, float16, float32.",
        rich_help_panel=VLLM_PANEL,
        show_default=False,
    ),
]
TensorParallel = Annotated[
    int | None,
    typer.Option(
        "--tensor-parallel-size",
        metavar="N",
        min=1,
        help="GPUs to split the model over.",
        rich_help_panel=VLLM_PANEL,
        show_default=False,
    ),
]
Quantization = Annotated[
    str | None,
    typer.Option(
        "--quantization",
        metavar="METHOD",
        help="How the weights are quantized, where the model does not say.",
        rich_help_panel=VLLM_PANEL,
        show_default=False,
    ),
]
VllmArguments = Annotated[
    list[str] | None,
    typer.Option(
        "--vllm-arg",
        metavar="KEY=VALUE",
        help="Any other engine argument of vLLM's, the value as JSON or text. Repeatable.",
        rich_help_panel=VLLM_PANEL,
        show_default=False,
    ),
]
SystemPrompt = Annotated[
    str | None,
    typer.Option(
        "--system-prompt",
        metavar="TEXT",
        help=f'The task, for engines that follow one. Default: "{DEFAULT_SYSTEM_PROMPT}"',
        rich_help_panel=PROMPT_PANEL,
        show_default=False,
    ),
]
PromptFile = Annotated[
    Path | None,
    typer.Option(
        "--prompt-file",
        metavar="FILE",
        help="Read the system prompt from a file.",
        rich_help_panel=PROMPT_PANEL,
        show_default=False,
    ),
]
Question = Annotated[
    str,
    typer.Option(
        "--question",
        metavar="TEXT",
        help="A question, asked with the first frame.",
        rich_help_panel=PROMPT_PANEL,
        show_default=False,
    ),
]
MaxTokens = Annotated[
    int,
    typer.Option(
        "--max-tokens", metavar="N", help="Longest caption, in tokens.", rich_help_panel=PROMPT_PANEL
    ),
]
Temperature = Annotated[
    float, typer.Option("--temperature", metavar="T", help="0 is greedy.", rich_help_panel=PROMPT_PANEL)
]
TopP = Annotated[
    float, typer.Option("--top-p", metavar="P", help="Nucleus sampling.", rich_help_panel=PROMPT_PANEL)
]
RepetitionPenalty = Annotated[
    float,
    typer.Option(
        "--repetition-penalty", metavar="X", help="Above 1 discourages.", rich_help_panel=PROMPT_PANEL
    ),
]
FrequencyPenalty = Annotated[
    float,
    typer.Option(
        "--frequency-penalty", metavar="X", help="Above 0 discourages.", rich_help_panel=PROMPT_PANEL
    ),
]
GuidedJson = Annotated[
    str | None,
    typer.Option(
        "--guided-json",
        metavar="SCHEMA",
        help="Answer in JSON of this schema (JSON text, or a file holding it).",
        rich_help_panel=PROMPT_PANEL,
        show_default=False,
    ),
]
GuidedChoice = Annotated[
    list[str] | None,
    typer.Option(
        "--guided-choice",
        metavar="TEXT",
        help="Answer one of these. Repeat it for each.",
        rich_help_panel=PROMPT_PANEL,
        show_default=False,
    ),
]
GuidedRegex = Annotated[
    str | None,
    typer.Option(
        "--guided-regex",
        metavar="REGEX",
        help="Answer what this matches.",
        rich_help_panel=PROMPT_PANEL,
        show_default=False,
    ),
]
MaxVideoSegments = Annotated[
    int | None,
    typer.Option(
        "--max-video-segments",
        metavar="N",
        help=f"Frames remembered. Default: {DEFAULT_MAX_VIDEO_SEGMENTS}.",
        rich_help_panel=RETENTION_PANEL,
        show_default=False,
    ),
]
MaxSessionTokens = Annotated[
    int | None,
    typer.Option(
        "--max-session-tokens",
        metavar="N",
        help=f"Prompt tokens remembered in all. Default: {DEFAULT_MAX_SESSION_TOKENS}.",
        rich_help_panel=RETENTION_PANEL,
        show_default=False,
    ),
]
MaxTextTokens = Annotated[
    int | None,
    typer.Option(
        "--max-text-tokens",
        metavar="N",
        help="Of those, text tokens. Default: no limit of their own.",
        rich_help_panel=RETENTION_PANEL,
        show_default=False,
    ),
]
EvictionPolicy = Annotated[
    str | None,
    typer.Option(
        "--eviction-policy",
        metavar="NAME",
        help="sliding_window: the oldest leave first.",
        rich_help_panel=RETENTION_PANEL,
        show_default=False,
    ),
]
ReprefillThreshold = Annotated[
    float | None,
    typer.Option(
        "--reprefill-threshold",
        metavar="X",
        help="Share of the model's trained positions at which what is kept is rebuilt at fresh ones. "
        f"Default: {DEFAULT_REPREFILL_THRESHOLD}.",
        rich_help_panel=RETENTION_PANEL,
        show_default=False,
    ),
]
