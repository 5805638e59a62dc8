"""Which model answers."""

import pytest

from engine.openai.served import admit, choose_model, default_retention
from protocol.chat_server import ListedModel
from protocol.errors import EngineError, InvalidRequest, NotFound, Unavailable, UsageError
from protocol.messages import SERVER_RETENTION, Retention

HOST = "http://host/v1"
MANY = [ListedModel(f"model-{number}") for number in range(30)]


def test_the_only_model_is_taken() -> None:
    assert choose_model(HOST, [ListedModel("a", "vllm", 4096)], None) == ListedModel("a", "vllm", 4096)


def test_one_of_several_has_to_be_named() -> None:
    with pytest.raises(UsageError, match="has 2 models: a, b; choose one with --model"):
        choose_model(HOST, [ListedModel("a"), ListedModel("b")], None)
    with pytest.raises(UsageError, match=r"has 30 models: model-0, .*model-9 and 20 more;"):
        choose_model(HOST, MANY, None)
    assert choose_model(HOST, MANY, "model-7").name == "model-7"


def test_a_wrong_name_is_told_with_those_like_it_first() -> None:
    with pytest.raises(NotFound, match=r"--model llava:13: http://host/v1 has llava:13b, .* and 21 more"):
        choose_model(HOST, [*MANY, ListedModel("llava:13b")], "llava:13")


def test_a_name_without_its_tag_is_the_latest() -> None:
    listed = [ListedModel("llava:latest", "library"), ListedModel("llava:13b", "library")]
    assert choose_model(HOST, listed, "llava") == ListedModel("llava", "library")


def test_a_server_without_a_list_is_believed() -> None:
    assert choose_model(HOST, None, "a") == ListedModel("a")
    assert choose_model(HOST, [], "a") == ListedModel("a")
    with pytest.raises(UsageError, match="keeps no list of models; --model NAME"):
        choose_model(HOST, None, None)
    with pytest.raises(Unavailable, match="has no model"):
        choose_model(HOST, [], None)


def test_the_window_fits_the_model() -> None:
    assert default_retention(ListedModel("a"), 24) == SERVER_RETENTION
    assert default_retention(ListedModel("a", "", 100_000), 24) == SERVER_RETENTION
    assert default_retention(ListedModel("a", "", 4096), 24).max_session_tokens == 4096 - 25 - 512
    assert default_retention(ListedModel("a", "", 1100), 24).max_session_tokens == 1024
    with pytest.raises(EngineError, match="context of a has 1040 tokens"):
        default_retention(ListedModel("a", "", 1040), 24)
    admit(ListedModel("a"), Retention(), 24)
    admit(ListedModel("a", "", 7025), Retention(), 24)
    with pytest.raises(InvalidRequest, match="below the model's context of 7024 tokens"):
        admit(ListedModel("a", "", 7024), Retention(), 24)
