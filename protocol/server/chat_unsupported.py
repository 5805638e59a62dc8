"""What OpenAI's API and vLLM's additions to it have, and a chat completion here does not.

What would change the answer is refused and never ignored, unless its value changes nothing. What is not
listed (`user`, `metadata`, `store`, `service_tier` and whatever comes next) is ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol.errors import InvalidRequest
from protocol.wire import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

# Each with the values, besides null, that change nothing.
_UNSUPPORTED: Final[dict[str, tuple[Any, ...]]] = {
    # OpenAI's
    "n": (1,),
    "presence_penalty": (0,),
    "logit_bias": ({},),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "modalities": (["text"], []),
    "audio": (),
    "web_search_options": (),
    # vLLM's
    "best_of": (1,),
    "use_beam_search": (False,),
    "top_k": (0, -1),
    "min_p": (0,),
    "min_tokens": (0,),
    "length_penalty": (1,),
    "stop_token_ids": ([],),
    "include_stop_str_in_output": (False,),
    "ignore_eos": (False,),
    "bad_words": ([],),
    "allowed_token_ids": (),
    "skip_special_tokens": (True,),
    "prompt_logprobs": (0,),
    "echo": (False,),
    "add_generation_prompt": (True,),
    "continue_final_message": (False,),
    "chat_template": (),
    "chat_template_kwargs": ({},),
    "documents": ([],),
    "mm_processor_kwargs": ({},),
    "truncate_prompt_tokens": (),
    "guided_grammar": (),
    "structural_tag": (),
}
_UNSUPPORTED_OUTPUTS: Final = ("grammar", "structural_tag")
_UNSUPPORTED_OF_MESSAGES: Final = ("tool_calls", "function_call", "audio")


def refuse_unsupported(asked: Mapping[str, Any]) -> None:
    """Checks the JSON object of a request.

    Raises:
        InvalidRequest: it asks for something that is not done here.
    """
    for field, harmless in _UNSUPPORTED.items():
        value = asked.get(field)
        if value is not None and not _is_among(value, harmless):
            only = (
                f" other than {quoted(harmless[0])}" if harmless and harmless[0] not in ([], {}, "") else ""
            )
            raise InvalidRequest(f"{field}{only} is not supported", hint="leave it out")
    if asked.get("seed") is not None and asked.get("temperature") != 0:
        raise InvalidRequest(
            "seed is not supported", hint="temperature 0 gives the same answer to the same request"
        )
    outputs = asked.get("structured_outputs")
    for field in _UNSUPPORTED_OUTPUTS:
        if isinstance(outputs, dict) and outputs.get(field) is not None:
            raise InvalidRequest(
                f"structured_outputs.{field} is not supported", hint="json, regex and choice are"
            )
    messages = asked.get("messages")
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        if not isinstance(message, dict):
            continue
        where = f"messages[{index}]"
        if message.get("role") in ("tool", "function"):
            raise InvalidRequest(f"{where}: tools are not supported")
        for field in _UNSUPPORTED_OF_MESSAGES:
            if message.get(field):
                raise InvalidRequest(f"{where}: {field} is not supported")


def _is_among(value: object, harmless: tuple[Any, ...]) -> bool:
    """Whether `value` is one of them; True is not 1 here, nor is False 0."""
    return any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in harmless)
