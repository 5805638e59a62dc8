"""A vision-language model behind chat completions: captions as in process, history and all."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator

import pytest

from tests.cli.commands.served import serving
from tests.cli.commands.stream import stream
from tests.cli.commands.test_serve_vllm import CLIP, ENGINE, SESSION, VARIABLES, texts

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(*ENGINE, **VARIABLES) as url:
        yield url


def test_the_captions_are_those_of_the_engine_itself(url: str) -> None:
    here = texts(*ENGINE)
    assert sum("moving" in text for text in here) > len(here) / 3  # told from the frames before
    # The window of the engine itself lets many frames go at a time, too.
    assert texts("--base-url", url, "--frame-encoding", "png", "--prefix-friendly") == here


def test_every_frame_is_counted_and_timed(url: str) -> None:
    counts = []
    for server in ("--base-url", "--nim-url"):
        few = (*SESSION, "--max-frames", "4", "--frame-encoding", "png", "--format", "jsonl")
        done = stream("caption", CLIP, *few, server, url, timeout=300)
        assert (done.returncode, done.stderr) == (0, "")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert all(0 < line["ttft_s"] <= line["latency_s"] for line in lines)
        counts.append([(line["text"], line["token_count"]) for line in lines])
    assert counts[0] == counts[1]


def test_guided_replies_obey(url: str) -> None:
    choices = ("--guided-choice", "clear", "--guided-choice", "hazard")
    assert set(texts("--base-url", url, "--max-frames", "3", *choices)) <= {"clear", "hazard"}
    shaped = texts("--base-url", url, "--max-frames", "2", "--guided-regex", "[a-z]{3,5}")
    assert all(text.isalpha() and 3 <= len(text) <= 5 for text in shaped)
