"""What servers of chat completions call what OpenAI's API has no word for."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from protocol.messages import Sampling

WRAPPER: Final = "answer"
"""Where a guide can only be a schema, and a schema is of an object, the reply stands in this field of it."""
WRAPPER_TOKENS: Final = 16
"""What the object around the reply may take of `max_tokens`."""


def repetition_penalty_field(owner: str) -> str:
    """What a server of that owner (`owned_by` in its list of models) calls the repetition penalty."""
    return "repeat_penalty" if owner in ("llamacpp", "organization_owner") else "repetition_penalty"


def guide_fields(sampling: Sampling, owner: str) -> tuple[dict[str, Any], bool]:
    """The fields that ask a server of that owner to guide the reply, and whether the reply comes wrapped.

    A schema is `response_format`, which all of them take. For choices and regular expressions vLLM and our
    own server have `structured_outputs` (vLLM since 0.11), SGLang `regex` and llama.cpp `grammar`; any other
    server is sent a schema of an object with the reply in its one field.
    """
    if sampling.guided_json is not None:
        schema = sampling.guided_json
        return _schema(json.loads(schema) if isinstance(schema, str) else schema), False
    choices, regex = sampling.guided_choice, sampling.guided_regex
    if choices is not None:
        match owner:
            case "vllm" | "stream":
                return {"structured_outputs": {"choice": choices}}, False
            case "sglang":
                return {"regex": "|".join(f"({re.escape(choice)})" for choice in choices)}, False
            case "llamacpp":
                words = " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
                return {"grammar": f"root ::= {words}"}, False
        return _wrapped({"type": "string", "enum": choices}), True
    if regex is not None:
        match owner:
            case "vllm" | "stream":
                return {"structured_outputs": {"regex": regex}}, False
            case "sglang":
                return {"regex": regex}, False
        return _wrapped({"type": "string", "pattern": f"^(?:{regex})$"}), True
    return {}, False


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    return _schema(
        {
            "type": "object",
            "properties": {WRAPPER: schema},
            "required": [WRAPPER],
            "additionalProperties": False,
        },
        strict=True,
    )


def _schema(schema: dict[str, Any], *, strict: bool | None = None) -> dict[str, Any]:
    # OpenAI holds replies to a schema only if it is strict, and refuses most schemas that people write as
    # strict ones: theirs go as they are.
    named: dict[str, Any] = {"name": "reply", "schema": schema}
    if strict is not None:
        named["strict"] = strict
    return {"response_format": {"type": "json_schema", "json_schema": named}}
