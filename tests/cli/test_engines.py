"""Which engine answers."""

import pytest

from cli.engines import make_engine
from protocol.errors import UsageError


@pytest.mark.parametrize(
    ("name", "model"), [("auto", None), ("lite", None), ("auto", "lite-1"), ("lite", "lite-1")]
)
async def test_lite_is_what_there_is_without_a_model(name: str, model: str | None) -> None:
    engine = make_engine(name, model)
    assert engine.name == "lite"
    assert not engine.follows_instructions
    await engine.close()


def test_an_unknown_engine_or_model_is_refused_with_the_choices() -> None:
    with pytest.raises(UsageError, match="--engine gpt: no such engine; choose from auto, lite"):
        make_engine("gpt", None)
    with pytest.raises(UsageError, match="--model x/y: the lite engine has one model, lite-1"):
        make_engine("auto", "x/y")
