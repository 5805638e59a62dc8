"""What a server answered to an HTTP request."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from protocol.server_message import read_error


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and body of a response.

    Attributes:
        content_type: the media type, without parameters, in lower case.
        location: where a redirect points, else empty.
        elapsed_s: from sending the request to having all of the answer.
    """

    status: int
    body: bytes
    content_type: str = ""
    location: str = ""
    elapsed_s: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the request was granted (2xx)."""
        return 200 <= self.status < 300

    def json_object(self) -> dict[str, Any] | None:
        """The JSON object in the body; None if there is none."""
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    @property
    def reason(self) -> str:
        """The server's own words for what is wrong, as one line."""
        said = read_error(self.status, self.body).message
        return said.removesuffix(f" (code {self.status})").rstrip(".")

    @property
    def kind(self) -> str:
        """What the body is, for a person: ``a web page``, for one."""
        if self.content_type == "text/html" or self.body.lstrip()[:1] == b"<":
            return "a web page"
        return "something else than a JSON object" if self.body.strip() else "nothing"
