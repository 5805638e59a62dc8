import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.video.sampling import SamplingPlan
from cli.video.wanted import Wanted

seconds = st.integers(0, 4000).map(lambda value: Fraction(value, 360))
rates = st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(2), Fraction(7, 3), Fraction(30000, 1001)])
bases = st.sampled_from([Fraction(1, 90000), Fraction(1, 1000), Fraction(1, 25), Fraction(1001, 30000)])
plans = st.builds(
    SamplingPlan,
    mode=st.sampled_from(["rate", "keyframes", "every"]),
    fps=rates,
    start=seconds,
    end=st.none() | seconds,
    max_frames=st.none() | st.integers(1, 5),
)


@given(
    plans,
    bases,
    st.lists(st.integers(-50, 900), min_size=1, max_size=30, unique=True).map(sorted),
    st.sets(st.integers(0, 29)),
    seconds,
    seconds,
)
def test_what_a_sampler_takes_is_wanted(
    plan: SamplingPlan,
    base: Fraction,
    stamps: list[int],
    keyframes: set[int],
    zero: Fraction,
    shift: Fraction,
) -> None:
    """Whoever leaves out all that is not wanted gives the sampler all it takes."""
    wanted = Wanted(plan, base, zero, shift)
    shown = [stamp for stamp in stamps if stamp * base >= zero]
    assert shown == [stamp for stamp in stamps if stamp >= wanted.first_shown]
    sampler = plan.sampler()
    taken = []
    for number, stamp in enumerate(shown):
        if not sampler.done:
            time = stamp * base - zero + shift
            taken.append(sampler.push(stamp, time, keyframe=number in keyframes))
    for stamp in taken:
        if stamp is not None:
            number = shown.index(stamp)
            until = shown[number + 1] if number + 1 < len(shown) else stamp + 10**9
            assert wanted.frame(stamp, until, first=number == 0, keyframe=number in keyframes)


@given(rates, bases, seconds, seconds, st.integers(-1000, 10_000))
def test_ticks_and_stamps_agree(
    fps: Fraction, base: Fraction, zero: Fraction, shift: Fraction, stamp: int
) -> None:
    wanted = Wanted(SamplingPlan(fps=fps), base, zero, shift)
    tick = wanted.tick_from(stamp)
    assert tick == math.ceil((stamp * base - zero + shift) * fps)
    if tick >= 0:
        last = wanted.stamp_of(tick)
        assert last is not None
        assert last * base - zero + shift <= tick / fps < (last + 1) * base - zero + shift


def test_only_the_frame_on_screen_at_a_tick_is_wanted() -> None:
    wanted = Wanted(SamplingPlan(), Fraction(1, 1000), Fraction(0), Fraction(0))
    assert wanted.frame(960, 1001)
    assert not wanted.frame(960, 1000)  # the next one takes its place just then
    assert wanted.frame(1000, 1040)
    assert not wanted.frame(1001, 1040)
    assert wanted.frame(40, 3000)
    assert not wanted.frame(40, 80)
    assert Wanted(SamplingPlan(start=Fraction(1, 2)), Fraction(1, 1000), Fraction(0), Fraction(0)).frame(
        0, 2000
    )


def test_the_first_frame_serves_the_ticks_before_it() -> None:
    wanted = Wanted(SamplingPlan(), Fraction(1, 1000), Fraction(0), Fraction(0))
    assert wanted.frame(500, 540, first=True)
    assert not wanted.frame(500, 540)


@pytest.mark.parametrize("mode", ["rate", "keyframes", "every"])
def test_what_lies_beyond_the_end_shows_that_reading_may_stop(mode: str) -> None:
    plan = SamplingPlan(mode, end=Fraction(2))  # type: ignore[arg-type]
    wanted = Wanted(plan, Fraction(1, 1000), Fraction(0), Fraction(0))
    assert wanted.frame(2001, 2040)
    assert wanted.stamp_of(2) is None
    assert wanted.stamp_of(1) == 1000
