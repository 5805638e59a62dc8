"""The record written for each caption, in JSONL as it is and in CSV and TSV as a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from cli.clean import clean, valid_unicode

if TYPE_CHECKING:
    from protocol.frame import Frame
    from protocol.messages import FrameReply


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
    width: int = Field(ge=1, description="Width of the picture the engine was shown, in pixels.")
    height: int = Field(ge=1, description="Height of the picture the engine was shown, in pixels.")
    captured_at: AwareDatetime | None = Field(
        description="When the picture was taken, in UTC: the file's recording time plus `pts_s`."
    )

    @classmethod
    def of(
        cls,
        frame: Frame,
        reply: FrameReply,
        *,
        source: str,
        engine: str,
        model: str,
        session_id: str,
        round_trip_s: float,
    ) -> CaptionRecord:
        """The record of `reply` to `frame`; the text comes without control sequences."""
        return cls(
            source=valid_unicode(source),
            frame_index=reply.frame_index,
            pts_s=None if frame.pts_s is None else round(frame.pts_s, 6),
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
            model=model,
            session_id=session_id,
            width=frame.width,
            height=frame.height,
            captured_at=frame.captured_at,
        )

    def as_row(self) -> dict[str, Any]:
        """The fields as JSON values, in the order they are documented."""
        return self.model_dump(mode="json")


FIELDS = tuple(CaptionRecord.model_fields)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of one line of JSONL output."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **CaptionRecord.model_json_schema(mode="serialization"),
    }


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
