"""Pauses between tries."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from protocol.client.backoff import Backoff, retry_after_s


def test_pauses_double_up_to_a_limit_and_end() -> None:
    pauses = list(Backoff(first_s=1, longest_s=4, tries=6).pauses())
    assert len(pauses) == 5
    for pause, most in zip(pauses, (1, 2, 4, 4, 4), strict=True):
        assert most / 2 <= pause <= most


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        (None, None),
        ("", None),
        ("soon", None),
        ("-1", None),
        ("inf", None),
        ("nan", None),
    ],
)
def test_retry_after_in_seconds(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header) == seconds


def test_retry_after_as_a_date() -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    found = retry_after_s(format_datetime(later, usegmt=True))
    assert found is not None
    assert 3000 < found <= 3600
    assert retry_after_s("Wed, 21 Oct 2015 07:28:00 GMT") == 0
