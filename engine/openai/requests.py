"""The requests that are sent to one server for one model."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from engine.openai.dialect import WRAPPER_TOKENS, guide_fields, repetition_penalty_field
from engine.openai.guide import Guide
from protocol.limits import DEFAULT_REPETITION_PENALTY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.openai.options import OpenAIOptions
    from protocol.errors import FrameRefused
    from protocol.messages import Sampling

_UNSUPPORTED = re.compile(
    r"unsupported|un(?:recogni[sz]ed|known|expected)|not (?:supported|permitted|allowed|recogni[sz]ed)"
    r"|(?:does not|doesn't|cannot|can't|only) (?:support|accept|allow)|extra (?:inputs?|fields?)|no such",
    re.IGNORECASE,
)
_GUIDES = ("response_format", "structured_outputs", "regex", "grammar")
_OPTIONAL = (
    "repetition_penalty", "repeat_penalty", "frequency_penalty", "stream_options", "seed", "top_p",
    "temperature", *_GUIDES,
)  # fmt: skip
"""What the server may do without, most exotic first."""


class ChatRequests:
    """Bodies of requests; leaves out what the server has said it does not take.

    Attributes:
        revision: grows with everything that is found out.
    """

    def __init__(
        self, model: str, owner: str, options: OpenAIOptions, warn: Callable[[str], None] = lambda _: None
    ) -> None:
        """`owner` is `owned_by` in the server's list of models; `warn` hears of what is left out."""
        self.revision = 0
        self._model = model
        self._owner = owner
        self._options = options
        self._warn = warn
        self._left_out: set[str] = set()
        self._tokens_field = "max_tokens"

    def guide(self, sampling: Sampling) -> Guide:
        """What replies are held to."""
        wrapped = bool(self._guides(sampling)) and guide_fields(sampling, self._owner)[1]
        return Guide(sampling, wrapped, self._options.check_regex)

    def body(self, messages: Sequence[bytes], sampling: Sampling) -> bytes:
        """A request for the reply to `messages`, each as its JSON."""
        # The pictures in them are megabytes: they are put in as they are.
        rest = json.dumps(self._fields(sampling)).encode()
        return b'{"messages":[' + b",".join(messages) + b"]," + rest[1:]

    def give_way(self, refusal: FrameRefused, sampling: Sampling) -> bool:
        """Whether the server refused a field that can be left out, so that another try is worth it."""
        said = refusal.message
        if not _UNSUPPORTED.search(said):
            return False
        if self._tokens_field == "max_tokens" and "max_completion_tokens" in said:
            self._tokens_field = "max_completion_tokens"
            self.revision += 1
            return True
        sent = self._fields(sampling)
        for name in _OPTIONAL:
            if name in sent and name not in self._options.extra_body and re.search(rf"\b{name}\b", said):
                self._left_out.add(name)
                self.revision += 1
                usual = name.startswith("rep") and sampling.repetition_penalty == DEFAULT_REPETITION_PENALTY
                if name in _GUIDES:
                    self._warn(f"the server takes no {name}: replies are not guided")
                elif not usual and name != "stream_options":
                    self._warn(f"the server takes no {name}: going on without it")
                return True
        return False

    def _guides(self, sampling: Sampling) -> dict[str, Any]:
        fields, _ = guide_fields(sampling, self._owner)
        return {name: value for name, value in fields.items() if name not in self._left_out}

    def _fields(self, sampling: Sampling) -> dict[str, Any]:
        """All of a request but its messages."""
        guides = self._guides(sampling)
        wrapped = guides and guide_fields(sampling, self._owner)[1]
        fields: dict[str, Any] = {
            "model": self._model,
            "stream": True,
            "stream_options": {"include_usage": True},
            self._tokens_field: sampling.max_tokens + (WRAPPER_TOKENS if wrapped else 0),
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
        }
        # What changes nothing is not sent: not every server knows these.
        if sampling.frequency_penalty:
            fields["frequency_penalty"] = sampling.frequency_penalty
        if sampling.repetition_penalty != 1:
            fields[repetition_penalty_field(self._owner)] = sampling.repetition_penalty
        if self._options.seed is not None:
            fields["seed"] = self._options.seed
        fields |= guides
        kept = {name: value for name, value in fields.items() if name not in self._left_out}
        return kept | self._options.extra_body
