from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from cli.video.clock import FrameClock

STEP = Fraction(1, 25)


def place(
    stamps: list[Fraction | int | None],
    *,
    zero: Fraction = Fraction(0),
    rate: Fraction | None = Fraction(25),
    duration: Fraction | None = None,
) -> list[Fraction]:
    clock = FrameClock(zero, rate)
    return [clock.place(None if stamp is None else Fraction(stamp), None, duration)[0] for stamp in stamps]


def test_times_count_from_zero() -> None:
    assert place([10, 11, 13], zero=Fraction(10)) == [0, 1, 3]


def test_a_missing_time_is_the_one_before_plus_its_duration() -> None:
    assert place([0, None, None, 1], duration=Fraction(1, 4)) == [0, Fraction(1, 4), Fraction(1, 2), 1]
    assert place([None, None]) == [0, STEP]


def test_a_backward_time_is_put_in_order() -> None:
    assert place([5, 3, 4, 6]) == [5, 5 + STEP, 5 + 2 * STEP, 6]
    assert place([5, 5]) == [5, 5 + STEP]


def test_decoding_times_are_taken_where_presentation_times_run_backwards() -> None:
    clock = FrameClock(Fraction(0), Fraction(25))
    pairs = [(0, 0), (2, 1), (1, 2), (5, 3), (3, 4), (4, 5)]
    times = [clock.place(Fraction(pts), Fraction(dts), None)[0] for pts, dts in pairs]
    assert times[3:] == [3, 4, 5]


def test_a_decoding_time_stands_in_for_a_missing_one() -> None:
    clock = FrameClock(Fraction(0), Fraction(25))
    clock.place(Fraction(0), None, None)
    assert clock.place(None, Fraction(3), None)[0] == 3


def test_durations_of_a_file_that_claims_an_absurd_rate_are_not_believed() -> None:
    clock = FrameClock(Fraction(0), Fraction(1000))
    clock.place(Fraction(0), None, Fraction(1, 1000))
    assert clock.place(Fraction(1, 30), None, Fraction(1, 1000)) == (Fraction(1, 30), Fraction(1, 30))


def test_without_any_rate_a_frame_lasts_as_long_as_the_one_before() -> None:
    clock = FrameClock(Fraction(0), None)
    assert clock.place(Fraction(0), None, None) == (0, STEP)
    assert clock.place(Fraction(1, 2), None, None)[1] == Fraction(1, 2)


def test_anchored_says_whether_the_first_time_was_known() -> None:
    for stamp in (Fraction(1), None):
        clock = FrameClock(Fraction(0), None)
        clock.place(stamp, None, None)
        clock.place(Fraction(9), None, None)
        assert clock.anchored == (stamp is not None)


stamps = st.none() | st.integers(-100, 1000).map(lambda value: Fraction(value, 90))


@given(
    st.lists(st.tuples(stamps, stamps, stamps), max_size=30), st.none() | st.integers(1, 2000).map(Fraction)
)
def test_time_only_goes_forward(
    frames: list[tuple[Fraction | None, Fraction | None, Fraction | None]], rate: Fraction | None
) -> None:
    clock = FrameClock(Fraction(0), rate)
    placed = [clock.place(*frame) for frame in frames]
    assert all(duration > 0 for _, duration in placed)
    assert all(a < b for (a, _), (b, _) in pairwise(placed))


def test_a_time_years_away_is_not_believed() -> None:
    assert place([0, 10**12, 2]) == [0, STEP, 2]
    assert place([10**12, 1]) == [0, 1]
    assert place([0, 86_400 * 30]) == [0, 86_400 * 30]  # a camera that woke up a month later
