import math
import time
from collections.abc import Iterator

import pytest

from cli.video.backlog import Backlog


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock's time, to be set by the test."""
    moment = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: moment[0])
    return moment


def coming(now: list[float], waits_s: list[float]) -> Iterator[int]:
    """Packets, each of which has to be waited for so long."""
    for number, wait_s in enumerate(waits_s):
        now[0] += wait_s
        yield number


def test_it_is_over_when_a_packet_has_to_be_waited_for(now: list[float]) -> None:
    backlog = Backlog()
    over, waited = [], []
    for _ in backlog.through(coming(now, [0.001, 0.001, 0.03, 0.001, 0.03])):
        over.append(backlog.over_s)
        waited.append(backlog.waited)
        now[0] += 0.1  # decoding is no waiting
    assert over[:2] == [math.inf, math.inf]
    assert over[2:] == [pytest.approx(100.232)] * 3
    assert waited == [False, False, True, False, True]


def test_it_is_over_after_two_seconds_all_the_same(now: list[float]) -> None:
    backlog = Backlog()
    for number in backlog.through(coming(now, [0.001] * 30)):
        assert math.isinf(backlog.over_s) == (number < 20)
        now[0] += 0.1
    assert backlog.over_s == pytest.approx(102.021)


def test_everything_goes_through(now: list[float]) -> None:
    assert list(Backlog().through(range(5))) == [0, 1, 2, 3, 4]
