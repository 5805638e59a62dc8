"""What is read from an HTTP answer."""

import pytest

from protocol.client.answer import Answer


@pytest.mark.parametrize(
    ("body", "found"),
    [(b'{"a": 1}', {"a": 1}), (b"[1]", None), (b"<html>", None), (b"", None), (b"[" * 9999, None)],
)
def test_a_json_object(body: bytes, found: object) -> None:
    assert Answer(200, body).json_object() == found


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"error": {"message": "no such\\nmodel.", "code": 404}}', "no such model"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b'{"object": "error", "message": "gone"}', "gone"),
        (b"<html><body>nginx", "HTTP status 404 without a reason"),
    ],
)
def test_the_servers_own_words(body: bytes, reason: str) -> None:
    assert Answer(404, body).reason == reason


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(200, b"hello", "text/html"), "a web page"),
        (Answer(200, b" <!doctype html>"), "a web page"),
        (Answer(200, b"hello"), "something else than a JSON object"),
        (Answer(200, b" "), "nothing"),
    ],
)
def test_what_it_is_instead(answer: Answer, kind: str) -> None:
    assert answer.kind == kind
