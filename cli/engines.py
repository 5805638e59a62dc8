"""Which engine answers: from the options to an `Engine`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.errors import UsageError

if TYPE_CHECKING:
    from protocol.session import Engine

ENGINES = ("auto", "lite")


def make_engine(name: str, model: str | None) -> Engine:
    """The engine called `name`; `auto` is lite until a model is named.

    Raises:
        UsageError: no engine goes by that name, or none here runs `model`.
    """
    if name not in ENGINES:
        raise UsageError(f"--engine {name}: no such engine", hint=f"choose from {', '.join(ENGINES)}")
    from engine.lite.engine import MODEL, LiteEngine

    if model not in (None, MODEL):
        raise UsageError(
            f"--model {model}: the lite engine has one model, {MODEL}", hint="leave --model out to use it"
        )
    return LiteEngine()
