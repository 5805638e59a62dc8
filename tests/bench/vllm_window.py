"""What a frame costs on vLLM with windows of 8 to 64 frames: prompt tokens computed over those that are new.

Needs vLLM, and runs the sample model. What is new is a frame's turn and the reply before it.
"""

from __future__ import annotations

import asyncio
import os
import statistics
from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import av

from engine.vllm.engine import VllmEngine
from engine.vllm.options import VllmOptions
from protocol.context import Delta
from protocol.frame import Frame
from protocol.messages import Retention, Sampling, SessionConfig

SHAPES = Path(__file__).parents[2] / "samples" / "shapes"
WINDOWS = (8, 16, 32, 64)
OPTIONS = VllmOptions(
    max_images=max(WINDOWS),
    max_model_len=12_000,
    extra={"block_size": 32, "enforce_eager": True},
)


class Recorder:
    """Stands before a session's context and writes down the length and the cached part of each prompt."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self.prompts: list[tuple[int, int]] = []
        self.generating_s = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    async def generate(self, sampling: Sampling) -> AsyncGenerator[Delta, None]:
        started = perf_counter()
        async with aclosing(self._context.generate(sampling)) as deltas:
            async for delta in deltas:
                if delta.finish_reason is not None and delta.prompt_tokens is not None:
                    self.prompts.append((delta.prompt_tokens, delta.cached_tokens or 0))
                yield delta
        self.generating_s += perf_counter() - started


async def measure(engine: VllmEngine, pictures: list[Any], window: int) -> str:
    config = SessionConfig(
        system_prompt="Describe each frame in one short sentence.",
        retention=Retention(max_video_segments=window),
        sampling=Sampling(temperature=0, repetition_penalty=1),
    )
    kept, latencies = [], []
    async with await engine.open(config) as session:
        recorder = Recorder(session._context)
        session._context = recorder
        for index in range(4 * window + 60):
            reply = await session.caption(Frame(pixels=pictures[index % len(pictures)]))
            kept.append(len(session._window))
            latencies.append(reply.latency_s or 0.0)
    # From the first time that turns leave to the last: whole cycles, so that none counts in part.
    leaving = [index for index, (before, after) in enumerate(pairwise(kept), start=1) if after < before]
    cycles = slice(leaving[0], leaving[-1])
    computed = statistics.fmean(prompt - cached for prompt, cached in recorder.prompts[cycles])
    sizes = [prompt for prompt, _ in recorder.prompts]
    new = statistics.median(after - before for before, after in pairwise(sizes) if after > before)
    fill = statistics.fmean(kept[cycles]) / window
    milliseconds = statistics.median(latencies[cycles]) * 1000
    return f"{window:>6}{fill:>10.2f}{new:>8.0f}{computed:>12.1f}{computed / new:>8.2f}{milliseconds:>10.1f}"


async def main() -> None:
    with av.open(str(SHAPES / "shapes.mp4")) as container:
        pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    engine = VllmEngine(str(SHAPES / "model"), OPTIONS)
    print(f"{'window':>6}{'mean kept':>10}{'new':>8}{'computed':>12}{'ratio':>8}{'ms/frame':>10}")
    for window in WINDOWS:
        print(await measure(engine, pictures, window), flush=True)
    await engine.close()


if __name__ == "__main__":
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    asyncio.run(main())
