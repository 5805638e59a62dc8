"""Which options go together, and what is the default of the others."""

from pathlib import Path
from typing import Any

import pytest

from protocol.client.address import ServerAddress
from protocol.client.settings import ClientSettings
from protocol.errors import UsageError

PLAIN, SECURE = ServerAddress("http://host"), ServerAddress("https://host")


def choose(address: ServerAddress = PLAIN, **options: Any) -> ClientSettings:
    return ClientSettings.choose(address, **options)


@pytest.mark.parametrize(
    ("options", "transport", "frame_format"),
    [
        ({}, "websocket", "binary"),
        ({"transport": "rest"}, "rest", "base64"),
        ({"backend": "dynamo"}, "rest", "base64"),
        ({"frame_format": "base64"}, "websocket", "base64"),
    ],
)
def test_defaults(options: dict[str, Any], transport: str, frame_format: str) -> None:
    settings = choose(**options)
    assert (settings.transport, settings.frame_format) == (transport, frame_format)
    assert settings.frame_encoding == "jpeg"
    assert (settings.frame_timeout_s, settings.control_timeout_s) == (1800, 30)
    assert not settings.reconnect


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "dynamo", "transport": "websocket"}, "has no WebSocket"),
        ({"transport": "rest", "frame_format": "binary"}, "--transport websocket"),
        ({"backend": "dynamo", "frame_format": "binary"}, "--frame-format binary"),
        ({"backend": "triton"}, "--backend triton: choose from nim, dynamo"),
        ({"transport": "grpc"}, "choose from websocket, rest"),
        ({"frame_format": "hex"}, "choose from binary, base64"),
        ({"frame_encoding": "webp"}, "choose from jpeg, png"),
        ({"insecure": True, "ca_cert": Path("ca.pem")}, "exclude each other"),
        ({"ca_cert": Path("ca.pem")}, "--ca-cert is for https"),
        ({"frame_timeout_s": 0.0}, "--frame-timeout 0: must be above 0"),
        ({"control_timeout_s": float("nan")}, "--connect-timeout nan: must be above 0"),
        ({"api_key": "two words"}, "--api-key"),
        ({"api_key": "line\nbreak"}, "--api-key"),
    ],
)
def test_contradictions_are_usage_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        choose(**options)
    assert caught.value.exit_code == 2


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(choose(SECURE, api_key="secret"))
