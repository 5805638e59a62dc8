import pytest

from cli.video.arrival_clock import ArrivalClock


def test_what_is_waited_for_comes_now_whatever_its_timestamp_says() -> None:
    clock = ArrivalClock()
    for now_s, stamp_s in ((10.0, 3.0), (10.1, 3.5), (10.3, 0.0), (10.4, None)):
        assert clock.arrived_s(now_s, stamp_s, waited=True) == now_s


def test_what_was_there_already_came_when_its_timestamp_says() -> None:
    """The reader was kept for two seconds."""
    clock = ArrivalClock()
    assert clock.arrived_s(10.0, 3.0, waited=True) == 10
    came = [clock.arrived_s(12 + number / 1000, 3 + number / 10, waited=False) for number in range(1, 20)]
    assert came == pytest.approx([10 + number / 10 for number in range(1, 20)])
    assert clock.arrived_s(12.1, 5.1, waited=True) == 12.1
    assert clock.arrived_s(14.0, 5.2, waited=False) == pytest.approx(12.2)


@pytest.mark.parametrize("step_s", [-50.0, 0.0, 1 / 180_000, 7.0])
def test_timestamps_that_lie_are_kept_between_the_last_and_now(step_s: float) -> None:
    clock = ArrivalClock()
    last = clock.arrived_s(10.0, 3.0, waited=True)
    for number in range(1, 10):
        now_s = 12 + number / 1000
        came = clock.arrived_s(now_s, 3 + number * step_s, waited=False)
        assert last <= came <= now_s
        last = came
    assert clock.arrived_s(12.1, 3 + 10 * step_s, waited=True) == 12.1


def test_without_timestamps_what_is_read_now_came_now() -> None:
    clock = ArrivalClock()
    assert [clock.arrived_s(now_s, None, waited=False) for now_s in (1.0, 2.0)] == [1, 2]
    assert clock.arrived_s(3.0, 7.0, waited=False) == 3
    assert clock.arrived_s(5.0, 8.0, waited=False) == 4
