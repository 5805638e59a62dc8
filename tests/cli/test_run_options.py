"""Which options decide what the captions are, and how a change of one is told."""

import json
from dataclasses import replace
from typing import Any

import pytest

from cli.engines import EngineChoice
from cli.run_options import changed_option, run_options
from cli.video.sampling import SamplingPlan
from engine.vllm.options import VllmOptions
from protocol.client.address import ServerAddress
from protocol.client.settings import ClientSettings
from protocol.messages import Retention, Sampling, SessionConfig

PLAN = SamplingPlan.of(fps=2)
CONFIG = SessionConfig(system_prompt="Describe.", fps=2)
LITE = EngineChoice("auto", None, VllmOptions())
SERVER = ClientSettings.choose(ServerAddress("http://host"), api_key="secret-key")


def options(
    plan: SamplingPlan = PLAN,
    config: SessionConfig = CONFIG,
    engine: EngineChoice = LITE,
    skip_similar: float | None = None,
) -> dict[str, Any]:
    return json.loads(json.dumps(run_options(plan, config, engine, skip_similar=skip_similar)))


def test_the_same_options_are_the_same() -> None:
    assert changed_option(options(), options()) is None
    named = EngineChoice("lite", None, VllmOptions(gpu_memory_utilization=0.5), debug=True)
    assert changed_option(options(), options(engine=named)) is None


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({"plan": SamplingPlan.of(fps="1/3")}, "--fps was 2, and is 1/3"),
        ({"plan": SamplingPlan.of(every_frame=True)}, "--fps was 2, and is not given"),
        ({"plan": SamplingPlan.of(fps=2, start="5")}, "--start was 0, and is 5"),
        ({"plan": SamplingPlan.of(fps=2, end="5")}, "--end was not given, and is 5"),
        ({"plan": SamplingPlan.of(fps=2, max_frames=3)}, "--max-frames was not given, and is 3"),
        ({"skip_similar": 0.9}, "--skip-similar was not given, and is 0.9"),
        ({"engine": replace(LITE, remote=SERVER)}, "--engine was lite, and is nim"),
        ({"engine": EngineChoice("auto", "a/model", VllmOptions())}, "--engine was lite, and is vllm"),
        ({"config": CONFIG.model_copy(update={"question": "Why?"})}, "--question was '', and is Why?"),
        ({"config": CONFIG.model_copy(update={"system_prompt": "S" * 50})}, "--system-prompt has changed"),
        (
            {"config": CONFIG.model_copy(update={"sampling": Sampling(temperature=0)})},
            "--temperature was 0.3, and is 0.0",
        ),
        (
            {"config": CONFIG.model_copy(update={"retention": Retention(max_video_segments=8)})},
            "--max-video-segments was not given, and is 8",
        ),
    ],
)
def test_a_change_is_told_with_both_values(now: dict[str, Any], told: str) -> None:
    assert changed_option(options(), options(**now)) == told


def test_an_option_that_is_not_given_any_more() -> None:
    before = options(config=CONFIG.model_copy(update={"retention": Retention(max_video_segments=8)}))
    assert changed_option(before, options()) == "--max-video-segments was 8, and is not given"


def test_another_seed_or_argument_of_vllm_is_a_change() -> None:
    def vllm(**given: Any) -> dict[str, Any]:
        return options(engine=EngineChoice("vllm", "a/model", VllmOptions(**given)))

    assert changed_option(vllm(), vllm(seed=1)) == "--seed was not given, and is 1"
    assert changed_option(vllm(extra={"hf_token": "a"}), vllm(extra={"hf_token": "b"})) == (
        "--vllm-arg has changed"
    )


def test_where_the_server_is_does_not_matter_but_what_it_is_sent_does() -> None:
    here, there = (
        replace(LITE, remote=replace(SERVER, address=ServerAddress(url), transport=transport))
        for url, transport in (("http://a", "websocket"), ("http://b", "rest"))
    )
    assert changed_option(options(engine=here), options(engine=there)) is None
    lossless = replace(LITE, remote=replace(SERVER, frame_encoding="png"))
    assert changed_option(options(engine=here), options(engine=lossless)) == (
        "--frame-encoding was jpeg, and is png"
    )


def test_no_secret_is_among_them() -> None:
    remote = replace(LITE, remote=SERVER)
    local = EngineChoice("vllm", "a/model", VllmOptions(extra={"hf_token": "secret-token"}))
    assert "secret" not in json.dumps([options(engine=remote), options(engine=local)])
