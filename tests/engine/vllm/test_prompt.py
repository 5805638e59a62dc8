"""Prompts by chat templates of several habits, rendered by vLLM for the sample model."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from engine.vllm.prompt import Prompter
from engine.vllm.sizes import TurnSizes
from protocol.context import Image, Role, Text, Turn
from protocol.frame import Frame

MODEL = Path(__file__).parents[3] / "samples" / "shapes" / "model"
PLAIN = (MODEL / "chat_template.jinja").read_text(encoding="utf-8")
FOR_EACH = "{%- for message in messages -%}"
TEMPLATES = {
    "plain": PLAIN,
    "refuses a system": PLAIN.replace(
        FOR_EACH,
        FOR_EACH + "{%- if message['role'] == 'system' -%}"
        "{{- raise_exception('System role not supported') -}}{%- endif -%}",
    ),
    "ignores a system": PLAIN.replace(
        FOR_EACH, "{%- for message in messages if message['role'] != 'system' -%}"
    ),
    "has a system of its own": "{%- if messages[0]['role'] != 'system' -%}"
    "<|system|>Answer well, and at some length.<end_of_utterance>{%- endif -%}" + PLAIN,
}

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed"),
    pytest.mark.filterwarnings("default"),  # vLLM's and torch's own
]


async def prompter(folder: Path, template: str) -> Prompter:
    from vllm import AsyncEngineArgs
    from vllm.renderers import renderer_from_config

    model = folder / "model"
    shutil.copytree(MODEL, model)
    (model / "chat_template.jinja").write_text(template, encoding="utf-8")
    config = AsyncEngineArgs(model=str(model), max_model_len=4096, block_size=32).create_engine_config()
    made = Prompter(renderer_from_config(config))
    await made.probe()
    return made


def turn(role: Role, words: str) -> Turn:
    return Turn(role, (Text(words),))


def shown(number: int) -> Turn:
    return Turn("user", (Image(Frame(pixels=np.zeros((64, 64, 3), np.uint8)), f"picture {number}"),))


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES.keys())
async def test_every_template_has_the_system_prompt_said_and_its_turns_reckoned(
    template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    made = await prompter(tmp_path, template)
    turns = [turn("system", "Describe each frame."), shown(0)]
    prompt = await made.prompt(turns)
    text = made._tokenizer.decode(prompt["prompt_token_ids"])
    assert text.count("Describe each frame.") == 1
    assert text.index("Describe each frame.") < text.index("<image>")
    assert len(prompt["mm_placeholders"]["image"]) == 1
    sizes = await TurnSizes.measure(made)
    for number in range(1, 4):
        turns += [turn("assistant", f"Reply {number}."), shown(number)]
        reckoned = sum([(await sizes.of(each)).tokens for each in turns])
        assert reckoned == await made.length(turns)


async def test_a_picture_is_processed_once_and_goes_by_its_name_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    made = await prompter(tmp_path, PLAIN)
    made._renderer.mm_processor_cache or pytest.skip("this vLLM keeps no pictures")
    name, item = await made.picture(shown(0).parts[0])
    assert item is not None
    prompt = await made.prompt([turn("system", "Describe."), shown(0), turn("assistant", "Black."), shown(1)])
    assert prompt["mm_hashes"]["image"][0] == name
    assert [item is None for item in prompt["mm_kwargs"]["image"]] == [True, False]
    assert SimpleNamespace(**prompt).type == "multimodal"
