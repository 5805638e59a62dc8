"""What the checks found, as JSON."""

import json

from protocol.client.server_info import ServerInfo


def test_json_has_the_limits_and_nothing_is_left_out() -> None:
    info = ServerInfo(
        url="http://h", backend="nim", model="m", sampling={"max_tokens": 24}, round_trip_s=0.0015
    )
    assert json.loads(json.dumps(info.to_json())) == {
        "url": "http://h",
        "backend": "nim",
        "model": "m",
        "profile": None,
        "version": None,
        "retention": {},
        "sampling": {"max_tokens": 24},
        "limits": {"max_frame_bytes": 8388608, "max_frame_pixels": 4194304},
        "round_trip_ms": 1.5,
    }
