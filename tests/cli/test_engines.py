"""Which engine answers."""

import importlib.util

import pytest

from cli.engines import EngineChoice, vllm_arguments
from engine.vllm.options import VllmOptions
from protocol.client.address import ServerAddress
from protocol.client.engine import RemoteEngine
from protocol.client.settings import ClientSettings
from protocol.errors import EngineError, UsageError
from protocol.session import Engine

has_vllm = importlib.util.find_spec("vllm") is not None


def make(name: str, model: str | None = None) -> Engine:
    return EngineChoice(name, model, VllmOptions()).make(lambda _: None)


@pytest.mark.parametrize(
    ("name", "model"), [("auto", None), ("lite", None), ("auto", "lite-1"), ("lite", "lite-1")]
)
async def test_lite_is_what_there_is_without_a_model(name: str, model: str | None) -> None:
    engine = make(name, model)
    assert engine.name == "lite"
    assert not engine.follows_instructions
    await engine.close()


def test_the_kind_is_known_before_the_engine_is_made() -> None:
    assert [EngineChoice("auto", model, VllmOptions()).kind for model in (None, "lite-1", "a/model")] == [
        "lite", "lite", "vllm",
    ]  # fmt: skip
    assert EngineChoice("lite", "a/model", VllmOptions()).kind == "lite"
    settings = ClientSettings.choose(ServerAddress("http://host"), backend="dynamo")
    assert EngineChoice("auto", None, VllmOptions(), remote=settings).kind == "dynamo"


async def test_a_server_takes_the_place_of_an_engine_here() -> None:
    settings = ClientSettings.choose(ServerAddress("http://host"), backend="dynamo")
    engine = EngineChoice("auto", "some/model", VllmOptions(), remote=settings).make(lambda _: None)
    assert isinstance(engine, RemoteEngine)
    assert engine.name == "dynamo"
    await engine.close()


@pytest.mark.parametrize("name", ["auto", "vllm"])
def test_a_model_runs_on_vllm_or_is_told_how_to(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_vllm:
        with pytest.raises(
            EngineError, match=r"vLLM, which is not installed; pip install 'stream-caption\[vllm\]'"
        ):
            make(name, "some/model")
        monkeypatch.setattr("importlib.util.find_spec", lambda _: object())
    engine = make(name, "some/model")
    assert engine.name == "vllm"
    assert engine.follows_instructions


def test_what_makes_no_sense_is_refused_with_the_choices() -> None:
    with pytest.raises(UsageError, match="--engine gpt: no such engine; choose from auto, lite, vllm"):
        make("gpt")
    with pytest.raises(UsageError, match="--engine nim: no such engine; a server is named with --nim-url"):
        make("nim")
    with pytest.raises(UsageError, match="--model x/y: the lite engine has one model, lite-1"):
        make("lite", "x/y")
    with pytest.raises(UsageError, match="--engine vllm needs a model"):
        make("vllm")


def test_what_only_vllm_takes_is_not_ignored_by_lite() -> None:
    for options, named in ((VllmOptions(dtype="half"), "dtype"), (VllmOptions(extra={"x": 1}), "vllm-arg")):
        with pytest.raises(UsageError, match=f"--{named} is for vLLM, and lite answers here"):
            EngineChoice("auto", None, options).make(lambda _: None)


def test_vllm_arguments_are_json_or_text() -> None:
    given = ["block-size=16", "enforce_eager=true", "kv_cache_dtype=fp8", 'limit_mm_per_prompt={"image": 4}']
    assert vllm_arguments(given) == {
        "block_size": 16,
        "enforce_eager": True,
        "kv_cache_dtype": "fp8",
        "limit_mm_per_prompt": {"image": 4},
    }
    with pytest.raises(UsageError, match="--vllm-arg block_size: write KEY=VALUE"):
        vllm_arguments(["block_size"])
