"""`stream serve`: the streaming-session protocol over HTTP and WebSocket."""

from __future__ import annotations

from dataclasses import replace

from cli.engine_options import (
    Dtype,
    EngineName,
    EvictionPolicy,
    GpuMemory,
    MaxModelLen,
    MaxSessionTokens,
    MaxTextTokens,
    Model,
    Quantization,
    ReprefillThreshold,
    Seed,
    TensorParallel,
    VllmArguments,
)
from cli.openai_options import BaseUrl, ExtraBody, ImageDetail, OpenAIGiven, PrefixFriendly, UpstreamKey
from cli.remote_options import CaCert, ConnectTimeout, FrameEncoding, Insecure, RemoteOptions
from cli.server_options import (
    AllowHost,
    AllowImageUrls,
    AllowOrigin,
    ApiKey,
    CertFile,
    Debug,
    DrainTimeout,
    FrameTimeout,
    Host,
    IdleTimeout,
    KeyFile,
    MaxSessions,
    MaxVideoSegments,
    Port,
    Quiet,
    RestIdleTimeout,
    ServedModelName,
    Streaming,
)
from protocol.errors import UsageError
from protocol.limits import (
    FRAME_TIMEOUT_S,
    MAX_SESSIONS,
    REST_IDLE_TIMEOUT_S,
    WEBSOCKET_IDLE_TIMEOUT_S,
)


def serve_command(
    host: Host = "127.0.0.1",
    port: Port = 8000,
    ssl_certfile: CertFile = None,
    ssl_keyfile: KeyFile = None,
    drain_timeout: DrainTimeout = 30.0,
    streaming: Streaming = True,
    quiet: Quiet = False,
    debug: Debug = False,
    api_key: ApiKey = None,
    allow_origin: AllowOrigin = None,
    allow_host: AllowHost = None,
    allow_image_urls: AllowImageUrls = False,
    max_sessions: MaxSessions = MAX_SESSIONS,
    idle_timeout: IdleTimeout = WEBSOCKET_IDLE_TIMEOUT_S,
    rest_idle_timeout: RestIdleTimeout = REST_IDLE_TIMEOUT_S,
    frame_timeout: FrameTimeout = FRAME_TIMEOUT_S,
    engine: EngineName = "auto",
    model: Model = None,
    served_model_name: ServedModelName = None,
    seed: Seed = None,
    gpu_memory_utilization: GpuMemory = None,
    max_model_len: MaxModelLen = None,
    dtype: Dtype = None,
    tensor_parallel_size: TensorParallel = None,
    quantization: Quantization = None,
    vllm_arg: VllmArguments = None,
    base_url: BaseUrl = None,
    upstream_api_key: UpstreamKey = None,
    image_detail: ImageDetail = None,
    extra_body: ExtraBody = None,
    prefix_friendly: PrefixFriendly = False,
    frame_encoding: FrameEncoding = None,
    ca_cert: CaCert = None,
    insecure: Insecure = False,
    connect_timeout: ConnectTimeout = None,
    max_video_segments: MaxVideoSegments = None,
    max_session_tokens: MaxSessionTokens = None,
    max_text_tokens: MaxTextTokens = None,
    eviction_policy: EvictionPolicy = None,
    reprefill_threshold: ReprefillThreshold = None,
) -> int:
    """Serve captions to other programs: sessions over WebSocket and REST, as NVIDIA's Cosmos NIM has them,
    and chat completions, as OpenAI's API has them.

    The address is written to standard error; /v1/health/ready answers 200 once the engine is loaded.
    Ctrl-C or SIGTERM lets frames in flight finish. Exit codes: 0 stopped, 1 failed, 2 usage, 130 told twice.
    """
    from cli.engines import EngineChoice, vllm_arguments
    from cli.serving import Serving
    from engine.vllm.options import DEFAULT_MAX_IMAGES, VllmOptions

    asked = OpenAIGiven(
        base_url=base_url,
        image_detail=image_detail,
        extra_body=extra_body,
        prefix_friendly=prefix_friendly,
        seed=seed,
        key_option="--upstream-api-key",
        check_regex=False,  # it is a client's, and could take for ever
    )
    remote = RemoteOptions(
        frame_encoding=frame_encoding,
        api_key=upstream_api_key,
        ca_cert=ca_cert,
        insecure=insecure,
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
    openai = asked.server(engine, replace(remote, frame_timeout_s=frame_timeout), local_only=local_only)
    if openai is None and (given := remote.given()):
        option = "--upstream-api-key" if given[0] == "--api-key" else given[0]
        raise UsageError(f"{option} is for --engine openai", hint="name the server with --base-url")
    choice = EngineChoice(
        engine,
        model,
        VllmOptions(
            max_images=max(max_video_segments or 0, DEFAULT_MAX_IMAGES),  # as clients may ask for
            sessions=max_sessions,
            gpu_memory_utilization=gpu_memory_utilization,
            max_model_len=max_model_len,
            dtype=dtype,
            tensor_parallel_size=tensor_parallel_size,
            quantization=quantization,
            seed=seed,
            extra=vllm_arguments(vllm_arg or []),
        ),
        debug=debug,
        openai=openai,
    )
    serving = Serving(
        engine=choice,
        served_model_name=served_model_name,
        host=host,
        port=port,
        certfile=ssl_certfile,
        keyfile=ssl_keyfile,
        drain_timeout_s=drain_timeout,
        streaming=streaming,
        quiet=quiet,
        debug=debug,
        api_key=api_key,
        allowed_origins=allow_origin or [],
        allowed_hosts=allow_host or [],
        image_urls=allow_image_urls,
        max_sessions=max_sessions,
        idle_timeout_s=idle_timeout,
        rest_idle_timeout_s=rest_idle_timeout,
        frame_timeout_s=frame_timeout,
        retention={
            "max_video_segments": max_video_segments,
            "max_session_tokens": max_session_tokens,
            "max_text_tokens": max_text_tokens,
            "eviction_policy": eviction_policy,
            "reprefill_threshold": reprefill_threshold,
        },
    )
    return serving.run()
