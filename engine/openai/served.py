"""Which of a server's models answers, and what a session with it may hold."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from engine.openai.sizes import MOST_GUESSED
from protocol.chat_server import ListedModel
from protocol.errors import EngineError, InvalidRequest, NotFound, Unavailable, UsageError
from protocol.limits import MIN_SESSION_TOKENS
from protocol.messages import SERVER_RETENTION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol.messages import Retention

_MOST_NAMED = 10


def choose_model(server: str, listed: Sequence[ListedModel] | None, asked: str | None) -> ListedModel:
    """The model called `asked`, or the only one there is; it is called as it was asked for.

    Raises:
        NotFound: the server has no model of that name.
        UsageError: a name is needed.
        Unavailable: it has no model at all.
    """
    if asked is None:
        if listed is None:
            raise UsageError(f"{server}: keeps no list of models", hint="--model NAME names the one to use")
        if not listed:
            raise Unavailable(f"{server}: has no model", hint="load one there, or give --model")
        if len(listed) > 1:
            raise UsageError(
                f"{server}: has {len(listed)} models: {_names(listed)}", hint="choose one with --model"
            )
        return listed[0]
    if not listed:  # what a server loads on demand need not be in its list
        return ListedModel(asked)
    # Ollama takes a name without its tag for the latest.
    for name in (asked, f"{asked}:latest"):
        for model in listed:
            if model.name == name:
                return ListedModel(asked, model.owner, model.context_tokens)
    raise NotFound(f"--model {asked}: {server} has {_names(listed, like=asked)}")


def default_retention(model: ListedModel, max_tokens: int) -> Retention:
    """The usual policy, with a smaller budget where the model cannot hold it.

    Raises:
        EngineError: the model is too small for any session.
    """
    if model.context_tokens is None:
        return SERVER_RETENTION
    most = model.context_tokens - max_tokens - 1
    if most < MIN_SESSION_TOKENS:
        raise EngineError(
            f"the context of {model.name} has {model.context_tokens} tokens, and a session needs "
            f"{MIN_SESSION_TOKENS} and {max_tokens} for the reply",
            hint="lower --max-tokens, or have the server give it more",
        )
    # Until the server has counted a picture, its size is a guess, and the prompt may be longer by as much.
    budget = min(SERVER_RETENTION.max_session_tokens, max(MIN_SESSION_TOKENS, most - MOST_GUESSED))
    return SERVER_RETENTION.model_copy(update={"max_session_tokens": budget})


def admit(model: ListedModel, retention: Retention, max_tokens: int) -> None:
    """Lets such a session in.

    Raises:
        InvalidRequest: it could never be held.
    """
    if model.context_tokens and retention.max_session_tokens + max_tokens >= model.context_tokens:
        raise InvalidRequest(
            f"max_session_tokens ({retention.max_session_tokens}) and max_tokens ({max_tokens}) together "
            f"must stay below the model's context of {model.context_tokens} tokens"
        )


def _names(listed: Sequence[ListedModel], like: str = "") -> str:
    """The names in the list, those most like `like` first, and how many more there are."""
    names = [model.name for model in listed]
    alike = difflib.get_close_matches(like, names, n=_MOST_NAMED, cutoff=0.4) if like else []
    names = [*alike, *(name for name in names if name not in alike)]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
