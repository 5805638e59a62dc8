"""What a reply was asked to obey, and whether it does."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.openai.dialect import WRAPPER

if TYPE_CHECKING:
    from protocol.messages import Sampling


@dataclass(frozen=True, slots=True)
class Guide:
    """One session's guide; see `Sampling`.

    Attributes:
        wrapped: replies come as an object with one field.
        check_regex: see `OpenAIOptions`.
    """

    sampling: Sampling
    wrapped: bool = False
    check_regex: bool = True

    def unwrapped(self, said: str) -> str:
        """The reply in what the server said; all of it if it is not wrapped as it should be."""
        if not self.wrapped:
            return said
        found = _json(said)
        reply = found.get(WRAPPER) if isinstance(found, dict) else None
        return reply if isinstance(reply, str) else said

    def fault(self, reply: str) -> str | None:
        """How `reply` disobeys, if it does; a schema is checked for its type and required fields only."""
        text, asked = reply.strip(), self.sampling
        if asked.guided_choice is not None and text not in [each.strip() for each in asked.guided_choice]:
            return "is none of the choices"
        if asked.guided_regex is not None and self.check_regex and not self._matches(reply, text):
            return "does not match the regular expression"
        if asked.guided_json is not None:
            return _schema_fault(text, asked.guided_json)
        return None

    def _matches(self, reply: str, text: str) -> bool:
        pattern = re.compile(self.sampling.guided_regex or "")
        return bool(pattern.fullmatch(text) or pattern.fullmatch(reply))


def _schema_fault(text: str, schema: dict[str, Any] | str) -> str | None:
    found = _json(text)
    if found is None and text != "null":
        return "is not JSON"
    wanted = _json(schema) if isinstance(schema, str) else schema
    if isinstance(wanted, dict) and wanted.get("type") == "object":
        required = wanted.get("required")
        names = required if isinstance(required, list) else []
        if not isinstance(found, dict) or any(name not in found for name in names):
            return "does not fit the schema"
    return None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
