"""A vision-language model behind `stream serve`: the same captions as in process, over either transport."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator

import pytest

from tests.cli.commands.served import serving
from tests.cli.commands.stream import ROOT, environment, stream

SHAPES = ROOT / "samples" / "shapes"
CLIP = str(SHAPES / "shapes.mp4")
ENGINE = (
    *("--model", str(SHAPES / "model"), "--dtype", "float32", "--max-model-len", "12000"),
    *("--vllm-arg", "block_size=32", "--vllm-arg", "enforce_eager=true"),
)
SESSION = ("--every-frame", "--temperature", "0", "--repetition-penalty", "1", "--max-video-segments", "4")
VARIABLES = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed"),
    pytest.mark.timeout(600),
]


def texts(*options: str) -> list[str]:
    done = stream(
        "caption", CLIP, *SESSION, *options, "--format", "jsonl", env=environment(**VARIABLES), timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line)["text"] for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(*ENGINE, **VARIABLES) as url:
        yield url


def test_the_captions_are_the_same_here_over_websocket_and_over_rest(url: str) -> None:
    here = texts(*ENGINE)
    assert sum("moving" in text for text in here) > len(here) / 3
    png = ("--nim-url", url, "--frame-encoding", "png")
    assert texts(*png) == here
    assert texts(*png, "--transport", "rest") == here


def test_guided_replies_obey_over_the_wire(url: str) -> None:
    guided = ("--max-frames", "3", "--guided-choice", "clear", "--guided-choice", "hazard")
    assert set(texts("--nim-url", url, *guided)) <= {"clear", "hazard"}
