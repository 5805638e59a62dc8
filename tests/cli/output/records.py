"""Caption records for the tests of the output formats."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from cli.output.record import CaptionRecord

RECORDED_AT = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


def record(pts_s: float | None, text: str, *, source: str = "clip.mp4", **changes: Any) -> CaptionRecord:
    """A record as the caption command would make it, with `changes` made to it."""
    fields: dict[str, Any] = {
        "source": source,
        "frame_index": 0,
        "pts_s": pts_s,
        "text": text,
        "finish_reason": "stop",
        "token_count": len(text.split()),
        "ttft_s": 0.01,
        "latency_s": 0.01,
        "decode_ms": None,
        "build_ms": None,
        "engine_ms": 10.0,
        "inqueue_ms": 0.0,
        "round_trip_s": 0.011,
        "engine": "lite",
        "model": "lite-1",
        "session_id": "sess-1",
        "history_lost": False,
        "skipped_similar": 0,
        "width": 640,
        "height": 360,
        "captured_at": None if pts_s is None else RECORDED_AT + timedelta(seconds=pts_s),
    }
    return CaptionRecord(**{**fields, **changes})
