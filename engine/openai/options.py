"""How a server of chat completions is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIOptions:
    """What a person sets of the requests.

    Attributes:
        image_detail: `detail` of every picture (``low``, ``high``, ``auto``, …); None leaves it out.
        extra_body: fields that are added to every request, in place of ours where they have the same names.
        prefix_friendly: let many frames go at a time, so that the server's prefix cache serves in between.
        seed: makes sampling repeatable, where the server can.
        goes_on: leave a frame out whose reply failed, and go on with the next, history and all.
        check_regex: match replies against `guided_regex`. A regular expression of a stranger's can take for
            ever, so a server leaves it.
    """

    image_detail: str | None = None
    extra_body: dict[str, Any] = field(default_factory=dict)
    prefix_friendly: bool = False
    seed: int | None = None
    goes_on: bool = False
    check_regex: bool = True
