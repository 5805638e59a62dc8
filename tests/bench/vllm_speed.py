"""What a caption run costs beyond vLLM's own time, and what sessions side by side gain.

Needs vLLM, and runs the sample model, on its own clip or on the one given.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from time import perf_counter
from typing import Any

import av

from cli.caption_inputs import Asked, caption_inputs
from cli.output.outputs import Outputs
from cli.output.terminal import Display
from cli.video.inputs import expand_inputs
from cli.video.sampling import SamplingPlan
from engine.vllm.engine import VllmEngine
from engine.vllm.options import VllmOptions
from protocol.frame import Frame
from protocol.messages import Retention, Sampling, SessionConfig

SHAPES = Path(__file__).parents[2] / "samples" / "shapes"
SESSIONS = 8
OPTIONS = VllmOptions(
    max_images=8,
    sessions=SESSIONS,
    max_model_len=12_000,
    extra={"block_size": 32, "enforce_eager": True, "max_num_seqs": 2 * SESSIONS},
)
CONFIG = SessionConfig(
    system_prompt="Describe each frame in one short sentence.",
    retention=Retention(max_video_segments=8, max_session_tokens=1024),
    sampling=Sampling(temperature=0, repetition_penalty=1),
)


class Stopwatch:
    """Stands before vLLM's `AsyncLLM` and adds up the time from each prompt to the end of its reply."""

    def __init__(self, llm: Any) -> None:
        self._llm = llm
        self.answering_s = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._llm, name)

    async def generate(self, *arguments: Any) -> AsyncGenerator[Any, None]:
        started = perf_counter()
        async with aclosing(self._llm.generate(*arguments)) as outputs:
            async for output in outputs:
                if output.outputs[0].finish_reason is not None:
                    self.answering_s += perf_counter() - started
                    yield output
                    started = perf_counter()  # a request that stays open is asked for the next reply
                else:
                    yield output


async def overhead(engine: VllmEngine, clip: str) -> None:
    """A whole run, from the file to JSONL, over the time that vLLM took to answer."""
    inputs = expand_inputs([clip])
    plan = SamplingPlan.of(every_frame=True)
    display = Display(show_captions=False, quiet=True)
    llm = engine._llm
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for run in range(6):
            engine._llm = watch = Stopwatch(llm)
            outputs = Outputs(files=[Path(folder) / f"{run}.jsonl"], inputs=inputs)
            started = perf_counter()
            await caption_inputs(inputs, Asked(plan, CONFIG), engine, outputs, display)
            outputs.close()
            wall_s = perf_counter() - started
            if run:
                ratios.append(wall_s / watch.answering_s)
                print(
                    f"run {wall_s:.2f} s, vLLM {watch.answering_s:.2f} s: {wall_s / watch.answering_s:.3f} ×"
                )
    engine._llm = llm
    print(f"wall over vLLM's own time: {statistics.median(ratios):.3f} ×")


async def side_by_side(engine: VllmEngine, pictures: list[Any]) -> None:
    """Frames a second, one session alone and several at once, in turns."""

    async def session(frames: int) -> None:
        async with await engine.open(CONFIG) as opened:
            for index in range(frames):
                await opened.caption(Frame(pixels=pictures[index % len(pictures)]))

    rates: dict[int, list[float]] = {1: [], SESSIONS: []}
    for _ in range(3):
        for count, measured in rates.items():
            started = perf_counter()
            await asyncio.gather(*(session(60) for _ in range(count)))
            measured.append(60 * count / (perf_counter() - started))
    one, many = (statistics.median(measured) for measured in rates.values())
    print(f"frames a second: 1 session {one:.1f}, {SESSIONS} sessions {many:.1f}: {many / one:.2f} ×")


async def main(clip: str) -> None:
    with av.open(clip) as container:
        pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)][:60]
    engine = VllmEngine(str(SHAPES / "model"), OPTIONS)
    await (await engine.open(CONFIG)).close()
    await overhead(engine, clip)
    await side_by_side(engine, pictures)
    await engine.close()


if __name__ == "__main__":
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else str(SHAPES / "shapes.mp4")))
