"""The messages of a streaming session, as they stand on the wire.

Fields, defaults and rules are those of NVIDIA's Cosmos NIM streaming API. Unknown fields are ignored, as its
server does, so that a client of a newer version is still understood.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from protocol.limits import (
    DEFAULT_FPS,
    DEFAULT_FREQUENCY_PENALTY,
    DEFAULT_MAX_SESSION_TOKENS,
    DEFAULT_MAX_TOKENS,
    DEFAULT_MAX_VIDEO_SEGMENTS,
    DEFAULT_REPETITION_PENALTY,
    DEFAULT_REPREFILL_THRESHOLD,
    DEFAULT_TEMPERATURE,
    DEFAULT_TOP_P,
    MAX_COUNT,
    MAX_REGEX_LENGTH,
    MIN_SESSION_TOKENS,
    UNSPECIFIED_MAX_VIDEO_SEGMENTS,
)

if TYPE_CHECKING:
    from collections.abc import Callable

GUIDED_FIELDS = ("guided_json", "guided_choice", "guided_regex")


class Message(BaseModel):
    """Base of the wire messages: immutable, unknown fields ignored, no NaN or infinity in any number."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Retention(Message):
    """How much of a session's history stays in its context.

    An object that is sent is taken as it is, not merged with the server's policy: one without
    `max_video_segments` means 30 frames. Leave the whole object out to inherit the server's policy
    (`SERVER_RETENTION` for a server that was not told otherwise).
    """

    max_video_segments: int = Field(UNSPECIFIED_MAX_VIDEO_SEGMENTS, ge=1, le=MAX_COUNT)
    """Most frames kept, the newest included."""
    max_text_tokens: int | None = Field(None, ge=1, le=MAX_COUNT)
    """Soft cap on text that is not pinned; at most `max_session_tokens`. None: no cap of its own."""
    max_session_tokens: int = Field(DEFAULT_MAX_SESSION_TOKENS, ge=MIN_SESSION_TOKENS, le=MAX_COUNT)
    """Most prompt tokens kept in all."""
    eviction_policy: Literal["sliding_window"] = "sliding_window"
    """The one supported policy: the oldest leave first."""
    reprefill_threshold: float = Field(DEFAULT_REPREFILL_THRESHOLD, gt=0, lt=1)
    """Share of the model's trained positions at which what is kept is rebuilt at fresh positions."""

    @model_validator(mode="after")
    def _text_within_session(self) -> Retention:
        if self.max_text_tokens is not None and self.max_text_tokens > self.max_session_tokens:
            raise ValueError(
                f"max_text_tokens ({self.max_text_tokens}) must not exceed "
                f"max_session_tokens ({self.max_session_tokens})"
            )
        return self


SERVER_RETENTION = Retention(max_video_segments=DEFAULT_MAX_VIDEO_SEGMENTS)
"""The policy of a server that was not told otherwise."""


class Sampling(Message):
    """How each reply is generated. At most one `guided_*` field constrains it."""

    max_tokens: int = Field(DEFAULT_MAX_TOKENS, ge=1, le=MAX_COUNT)
    """Most tokens in one reply (not in the session)."""
    temperature: float = Field(DEFAULT_TEMPERATURE, ge=0)
    """0 is greedy."""
    top_p: float = Field(DEFAULT_TOP_P, gt=0, le=1)
    repetition_penalty: float = Field(DEFAULT_REPETITION_PENALTY, gt=0)
    frequency_penalty: float = Field(DEFAULT_FREQUENCY_PENALTY, ge=-2, le=2)
    guided_json: dict[str, Any] | str | None = None
    """A JSON Schema, as an object or as its text."""
    guided_choice: list[str] | None = Field(None, min_length=1)
    """The replies to choose from."""
    guided_regex: str | None = Field(None, min_length=1, max_length=MAX_REGEX_LENGTH)
    """A regular expression the whole reply matches."""

    @field_validator("guided_regex")
    @classmethod
    def _regex_compiles(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                with warnings.catch_warnings(action="ignore"):  # of what a later Python may read differently
                    re.compile(value)
            except (re.error, RecursionError, OverflowError) as error:
                raise ValueError(f"not a regular expression: {error}") from error
        return value

    @model_validator(mode="after")
    def _one_guide(self) -> Sampling:
        given = [name for name in GUIDED_FIELDS if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(
                f"at most one of {', '.join(GUIDED_FIELDS)} may be given, not {' and '.join(given)}"
            )
        return self

    @property
    def guide(self) -> str | None:
        """Name of the `guided_*` field in use, if any."""
        return next((name for name in GUIDED_FIELDS if getattr(self, name) is not None), None)


class SessionConfig(Message):
    """What a session is opened with."""

    system_prompt: str
    """The task, pinned for the whole session."""
    question: str = ""
    """Sent with the first frame only."""
    fps: float = Field(DEFAULT_FPS, gt=0)
    """Nominal frame rate; it informs the engine and neither samples nor paces."""
    model: str | None = None
    """Must name the served model where it is given."""
    retention: Retention | None = None
    """None inherits the server's policy."""
    sampling: Sampling = Sampling()


class Created(Message):
    """A session was admitted; `retention` is the policy in effect."""

    session_id: str
    model: str
    fps: float
    retention: Retention


class FrameReply(Message):
    """One complete caption. Times are the engine's own; any may be null."""

    frame_index: int = Field(ge=0)
    """Counts the session's answered frames from zero."""
    text: str
    finish_reason: str = "stop"
    """`stop`, or `length` when `max_tokens` cut the reply."""
    token_count: int = Field(ge=0)
    ttft_s: float | None = None
    """Submission to first output text, in seconds."""
    latency_s: float | None = None
    """Submission to completion, in seconds."""
    decode_ms: float | None = None
    """Decoding the picture."""
    build_ms: float | None = None
    """Building the prompt and preprocessing."""
    engine_ms: float | None = None
    """The engine's work."""
    inqueue_ms: float | None = None
    """Waiting for a turn."""


class Closed(Message):
    """A session was released after answering `frames` frames."""

    session_id: str
    frames: int = Field(ge=0)
    closed: Literal[True] = True


def describe_invalid(error: ValidationError, *, spell: Callable[[str], str] = str) -> str:
    """One line that says which fields are wrong and why; `spell` gives a field the name its giver knows."""
    parts = []
    for item in error.errors(include_url=False, include_context=False, include_input=True):
        field = ".".join(str(step) for step in item["loc"])
        reason = item["msg"].removeprefix("Value error, ")
        given = item.get("input")
        shown = (
            f" (got {given!r})"
            if isinstance(given, (bool, int, float, str)) and len(repr(given)) < 80
            else ""
        )
        parts.append(f"{spell(field)}: {reason}{shown}" if field else reason)
    return "; ".join(parts)
