"""Credentials never reach a record, a log or an error."""

import pytest

from protocol.redaction import mask_credentials, mask_url


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("rtsp://admin:s3cret@10.0.0.5/live", "rtsp://***@10.0.0.5/live"),
        ("rtsp://admin@10.0.0.5:554/live", "rtsp://***@10.0.0.5:554/live"),
        ("rtsp://user:p@ss@host/x", "rtsp://***@host/x"),
        ("https://host/v.mp4?token=abc&start=3", "https://host/v.mp4?token=***&start=3"),
        ("https://h/v?X-Amz-Signature=abc&X-Amz-Date=1", "https://h/v?X-Amz-Signature=***&X-Amz-Date=1"),
        ("https://h/v?api_key=k&monkey=1", "https://h/v?api_key=***&monkey=1"),
        ("https://h/v?PASSWORD=k", "https://h/v?PASSWORD=***"),
        ("https://host/plain.mp4?t=1", "https://host/plain.mp4?t=1"),
        ("http://user:sek#ret@host/x", "http://***@host/x"),
        ("http://user:se/k?ret@host/x", "http://***@host/x"),
        ("http://host:8080/a", "http://host:8080/a"),
        ("http://host/a@b", "http://host/a@b"),
        ("clip.mp4", "clip.mp4"),
        ("http://user:pass@[bad", "http://***@[bad"),
    ],
)
def test_mask_url(url: str, masked: str) -> None:
    assert mask_url(url) == masked


def test_urls_inside_a_message_are_masked() -> None:
    message = "cannot open 'rtsp://a:b@h/1': see http://h/?key=z and a@b.org"
    assert mask_credentials(message) == "cannot open 'rtsp://***@h/1': see http://h/?key=*** and a@b.org"
