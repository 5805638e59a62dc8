"""Examples of the messages, for OpenAPI."""

from __future__ import annotations

from typing import Any, Final

_RETENTION: Final[dict[str, Any]] = {
    "max_video_segments": 8,
    "max_text_tokens": None,
    "max_session_tokens": 7000,
    "eviction_policy": "sliding_window",
    "reprefill_threshold": 0.7,
}
CREATION: Final[dict[str, Any]] = {
    "system_prompt": "Describe what happens in each frame in one short sentence.",
    "question": "What is going on here?",
    "fps": 1.0,
    "retention": {"max_video_segments": 8},
    "sampling": {"max_tokens": 48, "temperature": 0.3},
}
CREATED: Final[dict[str, Any]] = {
    "session_id": "5f0c6b1e9d5e4c3f8a53c4d7f1a2b3c4",
    "model": "lite-1",
    "fps": 1.0,
    "retention": _RETENTION,
}
CONFIG: Final[dict[str, Any]] = {
    "model": "lite-1",
    "retention": _RETENTION,
    "sampling": {
        "max_tokens": 24,
        "temperature": 0.3,
        "top_p": 0.9,
        "repetition_penalty": 1.1,
        "frequency_penalty": 0.0,
        "guided_json": None,
        "guided_choice": None,
        "guided_regex": None,
    },
}
IMAGE_BODY: Final[dict[str, Any]] = {  # a PNG of one grey pixel
    "image_b64": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1Pe"
    "AAAADElEQVR4nGNoaGgAAAMEAYFL09IQAAAAAElFTkSuQmCC"
}
REPLY: Final[dict[str, Any]] = {
    "frame_index": 0,
    "text": "A cup of coffee on a table.",
    "finish_reason": "stop",
    "token_count": 7,
    "ttft_s": 0.031,
    "latency_s": 0.112,
    "decode_ms": 2.1,
    "build_ms": 1.4,
    "engine_ms": 107.9,
    "inqueue_ms": 0.2,
}
CLOSED: Final[dict[str, Any]] = {
    "session_id": "5f0c6b1e9d5e4c3f8a53c4d7f1a2b3c4",
    "frames": 1,
    "closed": True,
}
