"""The records: of a caption in every machine format, of an error or a gap in JSONL only."""

from __future__ import annotations

from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from cli.clean import clean, one_line, valid_unicode

if TYPE_CHECKING:
    from protocol.errors import FrameRefused
    from protocol.frame import Frame
    from protocol.messages import Created, FrameReply
    from protocol.source import Gap


class CaptionRecord(BaseModel):
    """One caption: what was said of which frame, by whom, and how long it took."""

    model_config = ConfigDict(frozen=True, title="stream caption record")

    type: Literal["caption"] = Field("caption", description="Kind of record.")
    source: str = Field(description="The input as it was given; credentials in URLs are masked.")
    frame_index: int = Field(ge=0, description="Counts the captioned frames of this source from zero.")
    pts_s: float | None = Field(description="The frame's time in seconds from the start of the video.")
    text: str = Field(description="The caption.")
    finish_reason: str = Field(description="`stop`, or `length` when --max-tokens cut the caption.")
    token_count: int = Field(ge=0, description="Tokens in the caption, as the engine counts them.")
    ttft_s: float | None = Field(description="Engine: submission to first text, in seconds.")
    latency_s: float | None = Field(description="Engine: submission to completion, in seconds.")
    decode_ms: float | None = Field(description="Engine: decoding an encoded picture.")
    build_ms: float | None = Field(description="Engine: building the prompt and preprocessing.")
    engine_ms: float | None = Field(description="Engine: its own work on the frame.")
    inqueue_ms: float | None = Field(description="Engine: waiting for a turn.")
    round_trip_s: float = Field(
        description="From handing the frame over to having the caption, as seen here."
    )
    engine: str = Field(description="Name of the engine.")
    model: str = Field(description="Name of the model behind it.")
    session_id: str = Field(description="The session that answered; its history ends with it.")
    history_lost: bool = Field(
        description="Whether this is the first caption of a session that knows nothing of the captions "
        "before it (--reconnect, --resume)."
    )
    skipped_similar: int = Field(
        ge=0, description="Frames left out before this one since they show nothing new (--skip-similar)."
    )
    unchanged: int = Field(
        0,
        ge=0,
        description="Captions left out before this one since they said the same (--changes-only).",
    )
    width: int = Field(ge=1, description="Width of the picture the engine was shown, in pixels.")
    height: int = Field(ge=1, description="Height of the picture the engine was shown, in pixels.")
    captured_at: AwareDatetime | None = Field(
        description="When the picture was taken, in UTC: its arrival from a live source, else the file's "
        "recording time plus `pts_s`."
    )
    lag_s: float | None = Field(
        None, description="Live sources: from the picture's arrival to having its caption, in seconds."
    )
    dropped_since_last: int | None = Field(
        None,
        ge=0,
        description="Live sources: frames due since the last caption that went by while the engine was busy.",
    )

    @classmethod
    def of(
        cls,
        frame: Frame,
        reply: FrameReply,
        *,
        source: str,
        frame_index: int,
        engine: str,
        created: Created,
        history_lost: bool,
        skipped_similar: int = 0,
        dropped: int | None = None,
        size: tuple[int, int],
        round_trip_s: float,
    ) -> CaptionRecord:
        """The record of `reply` to `frame`; the text comes without control sequences.

        Args:
            frame_index: counts the captions of `source`, whichever session they are from.
            created: the session that answered.
            dropped: frames of a live source that went by before this one; None for a file.
            size: width and height of the picture it was shown.
        """
        return cls(
            source=valid_unicode(source),
            frame_index=frame_index,
            pts_s=_rounded(frame.pts_s, 6),
            text=clean(reply.text),
            finish_reason=reply.finish_reason,
            token_count=reply.token_count,
            ttft_s=_rounded(reply.ttft_s, 6),
            latency_s=_rounded(reply.latency_s, 6),
            decode_ms=_rounded(reply.decode_ms, 3),
            build_ms=_rounded(reply.build_ms, 3),
            engine_ms=_rounded(reply.engine_ms, 3),
            inqueue_ms=_rounded(reply.inqueue_ms, 3),
            round_trip_s=round(round_trip_s, 6),
            engine=engine,
            model=valid_unicode(created.model),
            session_id=valid_unicode(created.session_id),
            history_lost=history_lost,
            skipped_similar=skipped_similar,
            width=size[0],
            height=size[1],
            captured_at=frame.captured_at,
            lag_s=None if frame.arrived_s is None else _rounded(monotonic() - frame.arrived_s, 6),
            dropped_since_last=dropped,
        )

    def as_row(self) -> dict[str, Any]:
        """The fields as JSON values, in the order they are documented."""
        return self.model_dump(mode="json")


class ErrorRecord(BaseModel):
    """A frame that was not answered; the run went on after it."""

    model_config = ConfigDict(frozen=True, title="stream error record")

    type: Literal["error"] = Field("error", description="Kind of record.")
    source: str = Field(description="The input as it was given; credentials in URLs are masked.")
    pts_s: float | None = Field(description="The frame's time in seconds from the start of the video.")
    code: int | None = Field(description="The protocol's code for what was wrong, if there is one.")
    message: str = Field(description="What was wrong, in one line.")
    session_lost: bool = Field(description="Whether it ended the session, so that another follows.")
    engine: str = Field(description="Name of the engine.")
    model: str = Field(description="Name of the model behind it.")
    session_id: str = Field(description="The session that did not answer.")
    skipped_similar: int = Field(
        ge=0, description="Frames left out before this one since they show nothing new (--skip-similar)."
    )
    captured_at: AwareDatetime | None = Field(
        description="When the picture was taken, in UTC: the file's recording time plus `pts_s`."
    )

    @classmethod
    def of(
        cls,
        frame: Frame,
        error: FrameRefused,
        *,
        source: str,
        engine: str,
        created: Created,
        skipped_similar: int = 0,
    ) -> ErrorRecord:
        """The record of what became of `frame` in the session `created`."""
        return cls(
            source=valid_unicode(source),
            pts_s=_rounded(frame.pts_s, 6),
            code=error.code,
            message=one_line(str(error)),
            session_lost=error.session_lost,
            engine=engine,
            model=valid_unicode(created.model),
            session_id=valid_unicode(created.session_id),
            skipped_similar=skipped_similar,
            captured_at=frame.captured_at,
        )


class GapRecord(BaseModel):
    """A live source was silent or away for a while; the captions go on after it."""

    model_config = ConfigDict(frozen=True, title="stream gap record")

    type: Literal["gap"] = Field("gap", description="Kind of record.")
    source: str = Field(description="The input as it was given; credentials in URLs are masked.")
    start_s: float = Field(description="When the last picture before it came, in seconds as `pts_s`.")
    end_s: float = Field(description="When the first one after it came, in seconds as `pts_s`.")
    reason: str = Field(description="What was noticed, in one line.")
    ended_at: AwareDatetime = Field(description="When it was over, in UTC.")

    @classmethod
    def of(cls, gap: Gap, *, source: str) -> GapRecord:
        """The record of a `gap` that is over now."""
        return cls(
            source=valid_unicode(source),
            start_s=round(gap.start_s, 6),
            end_s=round(gap.end_s, 6),
            reason=one_line(gap.reason),
            ended_at=datetime.now(UTC),
        )


FIELDS = tuple(CaptionRecord.model_fields)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of one line of JSONL output: a caption, an error or a gap; its `type` says which."""
    kinds = []
    for kind in (CaptionRecord, ErrorRecord, GapRecord):
        schema = kind.model_json_schema(mode="serialization")
        schema["required"] = list(kind.model_fields)  # those with a default stand in each line too
        kinds.append(schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "stream record",
        "oneOf": kinds,
    }


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
