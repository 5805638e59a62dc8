"""The JSONL record and the schema that ships with it."""

import json
from datetime import UTC, datetime, timedelta
from time import monotonic

import jsonschema
import numpy as np
import pytest

from cli.output.record import FIELDS, CaptionRecord, ErrorRecord, GapRecord, json_schema
from protocol.errors import FrameRefused
from protocol.frame import Frame
from protocol.messages import SERVER_RETENTION, Created, FrameReply
from protocol.source import Gap
from tests.cli.output.records import record

CREATED = Created(session_id="s", model="m", fps=1, retention=SERVER_RETENTION)


def test_a_record_says_what_was_said_of_which_frame() -> None:
    frame = Frame(
        pixels=np.zeros((360, 640, 3), np.uint8),
        pts_s=1 / 3,
        captured_at=datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
    )
    reply = FrameReply(frame_index=4, text=" \x1b[1mA sign.\x1b[0m", token_count=2, latency_s=0.1234567891)
    made = CaptionRecord.of(
        frame,
        reply,
        source="a\udcff.mp4",
        frame_index=7,
        engine="lite",
        created=CREATED,
        history_lost=False,
        skipped_similar=3,
        size=(640, 360),
        round_trip_s=0.2,
    )
    line = json.loads(made.model_dump_json())
    assert tuple(line) == FIELDS
    assert line == {
        "type": "caption",
        "source": "a\ufffd.mp4",
        "frame_index": 7,
        "pts_s": 0.333333,
        "text": "A sign.",
        "finish_reason": "stop",
        "token_count": 2,
        "ttft_s": None,
        "latency_s": 0.123457,
        "decode_ms": None,
        "build_ms": None,
        "engine_ms": None,
        "inqueue_ms": None,
        "round_trip_s": 0.2,
        "engine": "lite",
        "model": "m",
        "session_id": "s",
        "history_lost": False,
        "skipped_similar": 3,
        "unchanged": 0,
        "width": 640,
        "height": 360,
        "captured_at": "2024-01-02T03:04:05Z",
        "lag_s": None,
        "dropped_since_last": None,
    }
    jsonschema.validate(line, json_schema(), format_checker=jsonschema.FormatChecker())


def test_the_record_of_an_error_says_which_frame_got_no_caption() -> None:
    frame = Frame(pixels=np.zeros((36, 64, 3), np.uint8), pts_s=2 / 3)
    error = FrameRefused("too\nlarge", code=413, hint="scale it")
    made = ErrorRecord.of(frame, error, source="a.mp4", engine="nim", created=CREATED)
    line = json.loads(made.model_dump_json())
    assert line == {
        "type": "error",
        "source": "a.mp4",
        "pts_s": 0.666667,
        "code": 413,
        "message": "too large; scale it",
        "session_lost": False,
        "engine": "nim",
        "model": "m",
        "session_id": "s",
        "skipped_similar": 0,
        "captured_at": None,
    }
    jsonschema.validate(line, json_schema(), format_checker=jsonschema.FormatChecker())


def test_a_live_frame_tells_its_lag_and_what_went_by_before_it() -> None:
    frame = Frame(pixels=np.zeros((36, 64, 3), np.uint8), pts_s=2.0, arrived_s=monotonic() - 1)
    made = CaptionRecord.of(
        frame,
        FrameReply(frame_index=0, text="A sign.", token_count=2),
        source="camera:0",
        frame_index=0,
        engine="lite",
        created=CREATED,
        history_lost=False,
        dropped=3,
        size=(64, 36),
        round_trip_s=0.2,
    )
    assert made.dropped_since_last == 3
    assert made.lag_s is not None
    assert made.lag_s >= 1


def test_the_record_of_a_gap_says_from_when_to_when() -> None:
    made = GapRecord.of(Gap(2 / 3, 5.0, "the\nconnection was lost"), source="rtsp://camera")
    line = json.loads(made.model_dump_json())
    assert datetime.fromisoformat(line.pop("ended_at")).utcoffset() == timedelta(0)
    assert line == {
        "type": "gap",
        "source": "rtsp://camera",
        "start_s": 0.666667,
        "end_s": 5.0,
        "reason": "the connection was lost",
    }
    whole = json.loads(made.model_dump_json())
    jsonschema.validate(whole, json_schema(), format_checker=jsonschema.FormatChecker())


def test_the_schema_is_valid_and_asks_for_every_field() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    caption, error, gap = schema["oneOf"]
    assert set(caption["required"]) == set(FIELDS)
    assert set(error["required"]) == set(ErrorRecord.model_fields)
    assert set(gap["required"]) == set(GapRecord.model_fields)
    for kind in (caption, error, gap):
        assert all(part.get("description") for part in kind["properties"].values())


@pytest.mark.parametrize(
    "change", [{"frame_index": -1}, {"text": None}, {"width": "wide"}, {"captured_at": 5}]
)
def test_the_schema_refuses_what_is_no_record(change: dict[str, object]) -> None:
    line = {**json.loads(record(1.0, "A sign.").model_dump_json()), **change}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(line, json_schema())
