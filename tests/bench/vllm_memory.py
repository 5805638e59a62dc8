"""Host memory over 10,000 frames in one session: this process and vLLM's, measured every 500 frames.

Needs vLLM, and runs the sample model.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import av

from engine.vllm.engine import VllmEngine
from engine.vllm.options import VllmOptions
from protocol.frame import Frame
from protocol.messages import Retention, Sampling, SessionConfig

SHAPES = Path(__file__).parents[2] / "samples" / "shapes"
WINDOW = 8
OPTIONS = VllmOptions(
    max_images=WINDOW, max_model_len=12_000, extra={"block_size": 32, "enforce_eager": True}
)
STEP = 500


def resident_mib() -> float:
    """Memory that this process and its children hold and share with none but each other, in MiB."""
    pids = [os.getpid()]
    for pid in pids:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        pids.extend(int(child) for child in children)
    rollups = (Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii") for pid in pids)
    lines = (line.split() for rollup in rollups for line in rollup.splitlines()[1:])
    return sum(int(line[1]) for line in lines if line[0] == "Pss:") / 1024


async def main(frames: int) -> None:
    with av.open(str(SHAPES / "shapes.mp4")) as container:
        pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    engine = VllmEngine(str(SHAPES / "model"), OPTIONS)
    config = SessionConfig(
        system_prompt="Describe each frame in one short sentence.",
        retention=Retention(max_video_segments=WINDOW),
        sampling=Sampling(temperature=0, repetition_penalty=1),
    )
    first = 0.0
    async with await engine.open(config) as session:
        for index in range(1, frames + 1):
            frame = Frame(pixels=pictures[index % len(pictures)].copy())
            await session.prepare(frame)
            await session.caption(frame)
            if index % STEP == 0:
                held = resident_mib()
                first = first or held
                print(f"{index:>6} frames {held:>8.1f} MiB {held / first - 1:>+7.2%}", flush=True)
    await engine.close()


if __name__ == "__main__":
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
