"""Measure the captioner through vLLM: exact captions on unseen clips, run as sessions with a bounded window.

    VLLM_CPU_KVCACHE_SPACE=1 HF_HUB_OFFLINE=1 VLLM_LOGGING_LEVEL=ERROR \\
        python samples/shapes/evaluate.py samples/shapes/model --clips 8 --windows 1,4,8,16,32,64

Each clip is written as H.264 and decoded again. Each session shows the model one frame after another and
keeps the model's own replies in its history. When the window is full, its older half leaves, so that a window
begins anywhere in the clip. A caption counts as exact if every character is right; with an empty history no
motion may be claimed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from make_clip import State, caption, make_clip, write_video
from PIL import Image

if TYPE_CHECKING:
    from transformers import Idefics3Processor

SYSTEM_PROMPTS = (
    "Describe what is happening in each frame in one short sentence.",
    "You watch a camera that never sleeps. Say what you see, plainly.",
    "",
)
QUESTIONS = ("", "", "What is going on here, and where does it go?")


@dataclass
class Session:
    """One clip with one window size: what is kept of it, and how its captions fared."""

    clip: int
    window: int
    system: str
    question: str
    pictures: list[Image.Image]
    states: list[State]
    kept: list[int] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    exact: int = 0
    claimed: int = 0
    alone: int = 0
    wrong: list[str] = field(default_factory=list)

    def show(self, frame: int) -> None:
        """Let a frame in; a full window first lets its older half go."""
        if len(self.kept) == self.window:
            self.kept = self.kept[len(self.kept) - self.window // 2 :] if self.window > 1 else []
        self.kept.append(frame)

    def messages(self) -> list[dict[str, Any]]:
        """The conversation that asks for the newest frame's caption."""
        messages: list[dict[str, Any]] = []
        if self.system:
            messages.append({"role": "system", "content": [{"type": "text", "text": self.system}]})
        for frame in self.kept:
            content: list[dict[str, str]] = [{"type": "image"}]
            if frame == 0 and self.question:
                content.append({"type": "text", "text": self.question})
            messages.append({"role": "user", "content": content})
            if frame < len(self.replies):
                reply = [{"type": "text", "text": self.replies[frame]}]
                messages.append({"role": "assistant", "content": reply})
        return messages

    def request(self, processor: Idefics3Processor) -> dict[str, Any]:
        """What vLLM is given; pictures have names, so that it prepares and encodes each once."""
        return {
            "prompt": processor.apply_chat_template(
                self.messages(), add_generation_prompt=True, tokenize=False
            ),
            "multi_modal_data": {"image": [self.pictures[frame] for frame in self.kept]},
            "multi_modal_uuids": {"image": [f"{self.clip}-{frame}" for frame in self.kept]},
        }

    def note(self, reply: str) -> None:
        """Compare a reply with the truth and remember it as the model gave it."""
        frame, before = self.kept[-1], self.kept[-2] if len(self.kept) > 1 else None
        true = caption(self.states[frame], None if before is None else self.states[before])
        self.replies.append(reply)
        self.exact += reply == true
        if before is None:
            self.alone += 1
            self.claimed += "moving" in reply or "standing" in reply
        if reply != true:
            self.wrong.append(f"window {self.window} clip {self.clip} frame {frame}: {reply!r} for {true!r}")


def decode(path: Path) -> list[Image.Image]:
    """All frames of a video."""
    import av

    with av.open(str(path)) as container:
        return [Image.fromarray(frame.to_ndarray(format="rgb24")) for frame in container.decode(video=0)]


def clip_through_video(seed: int, frames: int, suffix: str) -> tuple[list[Image.Image], list[State]]:
    """An unseen clip as a viewer gets it, and its truth."""
    pictures, states = make_clip(seed, frames)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"clip{suffix}"
        write_video(path, pictures, 2.0)
        return decode(path), states


def main() -> None:
    """Run all sessions side by side, frame after frame, and print the shares."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--clips", type=int, default=8)
    parser.add_argument("--frames", type=int, default=100)
    parser.add_argument("--windows", default="1,4,8,16,32,64")
    parser.add_argument(
        "--seed", type=int, default=900_000, help="the first clip's seed; training never sees clips by seed"
    )
    parser.add_argument("--suffix", default=".mp4", help=".mp4 for H.264, .mkv for lossless")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--top-p", type=float, default=1.0)
    parser.add_argument("--repetition-penalty", type=float, default=1.0)
    parser.add_argument("--wrong", action="store_true", help="print every wrong caption")
    parser.add_argument("--replies", type=Path, help="write all replies here, to compare two runs")
    options = parser.parse_args()

    from transformers import AutoProcessor
    from vllm import LLM, SamplingParams

    began = time.monotonic()
    processor = AutoProcessor.from_pretrained(options.model)
    sizes = [int(size) for size in options.windows.split(",")]
    llm = LLM(
        str(options.model),
        dtype=options.dtype,
        max_model_len=4096,
        max_num_seqs=32,
        block_size=32,
        enforce_eager=True,
        limit_mm_per_prompt={"image": max(sizes)},
        mm_processor_cache_gb=0.25,
    )
    print(f"loaded in {time.monotonic() - began:.1f} s")
    sampling = SamplingParams(
        temperature=options.temperature,
        top_p=options.top_p,
        repetition_penalty=options.repetition_penalty,
        max_tokens=24,
        seed=0,
    )
    sessions = []
    for clip in range(options.clips):
        pictures, states = clip_through_video(options.seed + clip, options.frames, options.suffix)
        system, question = SYSTEM_PROMPTS[clip % 3], QUESTIONS[clip // 3 % 3]
        sessions += [Session(clip, size, system, question, pictures, states) for size in sizes]
    began, count = time.monotonic(), Counter[str]()
    for frame in range(options.frames):
        for session in sessions:
            session.show(frame)
        outputs = llm.generate([session.request(processor) for session in sessions], sampling, use_tqdm=False)
        for session, output in zip(sessions, outputs, strict=True):
            session.note(output.outputs[0].text)
            count["prompt"] += len(output.prompt_token_ids or [])
            count["cached"] += output.num_cached_tokens or 0
    spent = time.monotonic() - began
    for size in sizes:
        some = [session for session in sessions if session.window == size]
        shown, alone = sum(len(s.replies) for s in some), sum(s.alone for s in some)
        claimed, exact = sum(s.claimed for s in some), sum(s.exact for s in some)
        print(
            f"window {size}: exact {exact}/{shown} = {exact / shown:.2%}; "
            f"motion claimed without an earlier frame {claimed}/{alone}"
        )
    captions = sum(len(session.replies) for session in sessions)
    print(
        f"{captions} captions in {spent:.0f} s, {spent / captions * 1000:.1f} ms each; tokens {dict(count)}"
    )
    if options.wrong:
        print(*(line for session in sessions for line in session.wrong), sep="\n")
    if options.replies:
        options.replies.write_text(
            json.dumps([session.replies for session in sessions], indent=0), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
