"""`stream caption`: captions for any video."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.engine_options import (
    DEFAULT_CAPTION_TOKENS,
    DEFAULT_SYSTEM_PROMPT,
    Dtype,
    EngineName,
    EvictionPolicy,
    FrequencyPenalty,
    GpuMemory,
    GuidedChoice,
    GuidedJson,
    GuidedRegex,
    MaxModelLen,
    MaxSessionTokens,
    MaxTextTokens,
    MaxTokens,
    MaxVideoSegments,
    Model,
    PromptFile,
    Quantization,
    Question,
    RepetitionPenalty,
    ReprefillThreshold,
    Seed,
    SystemPrompt,
    Temperature,
    TensorParallel,
    TopP,
    VllmArguments,
)
from cli.live_options import (
    EXEC_TIMEOUT_S,
    ChangesOnlyFlag,
    Duration,
    Exec,
    ExecTimeout,
    InputFormat,
    InputOptions,
    LiveInputs,
    LiveKeep,
    OnGap,
    Realtime,
    RetryFor,
    RtspTransport,
    StallTimeout,
    When,
)
from cli.openai_options import BaseUrl, ExtraBody, ImageDetail, OpenAIGiven, PrefixFriendly
from cli.options import (
    OUTPUT_PANEL,
    SAMPLING_PANEL,
    Debug,
    End,
    EveryFrame,
    Fps,
    Keyframes,
    Loop,
    MaxFrames,
    OpenTimeout,
    OutputDir,
    Overwrite,
    Quiet,
    ReadTimeout,
    Resume,
    Start,
)
from cli.remote_options import (
    ApiKey,
    Backend,
    CaCert,
    ConnectTimeout,
    FrameEncoding,
    FrameFormat,
    FrameTimeout,
    Insecure,
    NimUrl,
    Reconnect,
    RemoteOptions,
    Transport,
)
from cli.video.timeouts import (
    OPEN_TIMEOUT_S,
    READ_TIMEOUT_S,
    STALL_TIMEOUT_S,
    Timeouts,
)
from protocol.errors import UsageError
from protocol.limits import (
    DEFAULT_FREQUENCY_PENALTY,
    DEFAULT_MAX_VIDEO_SEGMENTS,
    DEFAULT_REPETITION_PENALTY,
    DEFAULT_TEMPERATURE,
    DEFAULT_TOP_P,
)


def caption_command(
    inputs: LiveInputs,
    fps: Fps = None,
    start: Start = None,
    end: End = None,
    max_frames: MaxFrames = None,
    every_frame: EveryFrame = False,
    keyframes: Keyframes = False,
    loop: Loop = False,
    duration: Duration = None,
    skip_similar: Annotated[
        float | None,
        typer.Option(
            "--skip-similar",
            min=0.0,
            max=1.0,
            metavar="T",
            help="Leave out frames that look like the last one captioned: of similarity T (0 to 1) or more. "
            "0.95 drops what hardly moves, 1 only repeats.",
            rich_help_panel=SAMPLING_PANEL,
            show_default=False,
        ),
    ] = None,
    open_timeout: OpenTimeout = OPEN_TIMEOUT_S,
    read_timeout: ReadTimeout = READ_TIMEOUT_S,
    live_policy: LiveKeep = None,
    realtime: Realtime = False,
    rtsp_transport: RtspTransport = "tcp",
    input_format: InputFormat = None,
    input_option: InputOptions = None,
    stall_timeout: StallTimeout = STALL_TIMEOUT_S,
    retry_for: RetryFor = None,
    on_gap: OnGap = "keep",
    changes_only: ChangesOnlyFlag = False,
    command: Exec = None,
    when: When = None,
    exec_timeout: ExecTimeout = EXEC_TIMEOUT_S,
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
            help="Write here, in the format of the suffix (.txt .jsonl .srt .vtt .csv .tsv). Repeatable. "
            "'none' writes nothing, for measuring.",
            rich_help_panel=OUTPUT_PANEL,
            show_default=False,
        ),
    ] = None,
    output_dir: OutputDir = None,
    overwrite: Overwrite = False,
    resume: Resume = False,
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
    engine: EngineName = "auto",
    model: Model = None,
    seed: Seed = None,
    gpu_memory_utilization: GpuMemory = None,
    max_model_len: MaxModelLen = None,
    dtype: Dtype = None,
    tensor_parallel_size: TensorParallel = None,
    quantization: Quantization = None,
    vllm_arg: VllmArguments = None,
    base_url: BaseUrl = None,
    image_detail: ImageDetail = None,
    extra_body: ExtraBody = None,
    prefix_friendly: PrefixFriendly = False,
    nim_url: NimUrl = None,
    backend: Backend = None,
    transport: Transport = None,
    frame_format: FrameFormat = None,
    frame_encoding: FrameEncoding = None,
    api_key: ApiKey = None,
    ca_cert: CaCert = None,
    insecure: Insecure = False,
    reconnect: Reconnect = False,
    frame_timeout: FrameTimeout = None,
    connect_timeout: ConnectTimeout = None,
    system_prompt: SystemPrompt = None,
    prompt_file: PromptFile = None,
    question: Question = "",
    max_tokens: MaxTokens = DEFAULT_CAPTION_TOKENS,
    temperature: Temperature = DEFAULT_TEMPERATURE,
    top_p: TopP = DEFAULT_TOP_P,
    repetition_penalty: RepetitionPenalty = DEFAULT_REPETITION_PENALTY,
    frequency_penalty: FrequencyPenalty = DEFAULT_FREQUENCY_PENALTY,
    guided_json: GuidedJson = None,
    guided_choice: GuidedChoice = None,
    guided_regex: GuidedRegex = None,
    max_video_segments: MaxVideoSegments = None,
    max_session_tokens: MaxSessionTokens = None,
    max_text_tokens: MaxTextTokens = None,
    eviction_policy: EvictionPolicy = None,
    reprefill_threshold: ReprefillThreshold = None,
) -> int:
    """Caption INPUT: one complete sentence for each sampled frame.

    On a terminal the captions are shown as they are made; in a pipe they are JSON, one object a line.
    Exit codes: 0 done, 1 failed, 2 usage, 3 done with inputs or frames missing, 130 interrupted.
    """
    if debug:
        from cli.logs import show_logs

        show_logs()
    if system_prompt is not None and prompt_file is not None:
        raise UsageError(
            "--system-prompt and --prompt-file both give the system prompt", hint="use one of them"
        )
    from cli.caption_run import guided_schema, read_text, run_captions, session_config
    from cli.engines import EngineChoice, vllm_arguments
    from cli.output.command import Command
    from cli.video.live_input import LiveOptions
    from cli.video.live_policy import LivePolicy
    from cli.video.reading import Reading, option_values
    from cli.video.sampling import SamplingPlan
    from engine.vllm.options import VllmOptions

    plan = SamplingPlan.of(
        fps=fps,
        start=start,
        end=end,
        max_frames=max_frames,
        every_frame=every_frame,
        keyframes=keyframes,
        loop=loop,
        duration=duration,
    )
    reading = Reading(
        Timeouts(open_timeout, read_timeout),
        LiveOptions(rtsp_transport, input_format, option_values(input_option or [])),
        LivePolicy(live_policy or "latest", stall_timeout, retry_for),
        realtime=realtime,
    )
    remote_options = RemoteOptions(
        nim_url=nim_url,
        backend=backend,
        transport=transport,
        frame_format=frame_format,
        frame_encoding=frame_encoding,
        api_key=api_key,
        ca_cert=ca_cert,
        insecure=insecure,
        reconnect=reconnect,
        frame_timeout_s=frame_timeout,
        connect_timeout_s=connect_timeout,
    )
    local_only = {
        "--gpu-memory-utilization": gpu_memory_utilization,
        "--max-model-len": max_model_len,
        "--dtype": dtype,
        "--tensor-parallel-size": tensor_parallel_size,
        "--quantization": quantization,
        "--vllm-arg": vllm_arg or None,
    }
    openai = OpenAIGiven(
        base_url=base_url,
        image_detail=image_detail,
        extra_body=extra_body,
        prefix_friendly=prefix_friendly,
        seed=seed,
    ).server(engine, remote_options, local_only=local_only)
    remote = None
    if openai is None:
        remote = remote_options.settings(engine, local_only={"--seed": seed, **local_only})
    prompt = read_text(prompt_file, "--prompt-file") if prompt_file else system_prompt
    config = session_config(
        system_prompt=DEFAULT_SYSTEM_PROMPT if prompt is None else prompt,
        question=question,
        fps=float(plan.fps),
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
    vllm = VllmOptions(
        max_images=config.retention.max_video_segments if config.retention else DEFAULT_MAX_VIDEO_SEGMENTS,
        gpu_memory_utilization=gpu_memory_utilization,
        max_model_len=max_model_len,
        dtype=dtype,
        tensor_parallel_size=tensor_parallel_size,
        quantization=quantization,
        seed=seed,
        extra=vllm_arguments(vllm_arg or []),
    )
    return run_captions(
        inputs,
        plan,
        config,
        engine=EngineChoice(engine, model, vllm, debug=debug, remote=remote, openai=openai),
        formats=format_names or [],
        files=output or [],
        output_dir=output_dir,
        overwrite=overwrite,
        resume=resume,
        every=every,
        quiet=quiet,
        reading=reading,
        skip_similar=skip_similar,
        changes_only=changes_only,
        on_gap=on_gap,
        command=Command.of(command, when, exec_timeout),
        instructed=bool(prompt or question),
    )
