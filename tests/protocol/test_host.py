"""One table for both transports: what an outcome is to be reported as, and whether it ends the session."""

import pytest

from protocol.errors import (
    Conflict,
    EngineFailure,
    FrameTooLarge,
    InvalidRequest,
    NotFound,
    Unavailable,
    UnsupportedMedia,
)
from protocol.host import Busy, Dead, Failed, Gone, OwnerLost


@pytest.mark.parametrize(
    ("outcome", "code", "ends"),
    [
        (Busy(), 409, False),
        (Gone(), 404, True),
        (Dead("it took too long"), 409, True),
        (OwnerLost("the worker left"), 503, True),
        (Failed(InvalidRequest("x")), 400, False),
        (Failed(NotFound("x")), 404, True),
        (Failed(Conflict("x")), 409, True),
        (Failed(FrameTooLarge("x")), 413, False),
        (Failed(UnsupportedMedia("x")), 415, False),
        (Failed(EngineFailure("x")), 500, True),
        (Failed(Unavailable("x")), 503, False),
    ],
)
def test_outcomes(outcome: Busy | Gone | Dead | OwnerLost | Failed, code: int, ends: bool) -> None:
    assert outcome.error.code == code
    assert outcome.ends_session is ends
    assert str(outcome.error)


def test_the_reason_is_told() -> None:
    assert str(Dead("it took too long").error) == (
        "the session is no longer usable: it took too long; create a new one"
    )
    assert "the worker left" in str(OwnerLost("the worker left").error)
