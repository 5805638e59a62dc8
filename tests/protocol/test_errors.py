"""Errors are one line, with an exit code for the command and a code for the protocol."""

import pytest

from protocol import errors


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.InvalidRequest, 400),
        (errors.NotFound, 404),
        (errors.Conflict, 409),
        (errors.FrameTooLarge, 413),
        (errors.UnsupportedMedia, 415),
        (errors.EngineFailure, 500),
        (errors.Unavailable, 503),
    ],
)
def test_session_errors_have_the_protocols_codes(kind: type[errors.SessionError], code: int) -> None:
    assert kind.code == code
    assert issubclass(kind, errors.StreamError)


def test_exit_codes() -> None:
    assert errors.UsageError("x").exit_code == 2
    assert errors.InvalidRequest("x").exit_code == 2
    assert errors.InputError("x").exit_code == 1


def test_the_hint_follows_the_message() -> None:
    assert str(errors.InputError("a.mp4: no such file")) == "a.mp4: no such file"
    assert (
        str(errors.OutputError("o.srt: exists", hint="use --overwrite")) == "o.srt: exists; use --overwrite"
    )
