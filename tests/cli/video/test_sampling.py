import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.video.sampling import SamplingPlan
from protocol.errors import UsageError

Timed = tuple[Fraction, bool]


def run(plan: SamplingPlan, frames: list[Timed], end: Fraction) -> list[Fraction]:
    sampler = plan.sampler()
    taken = []
    for pts, keyframe in frames:
        if sampler.done:
            break
        taken.append(sampler.push(pts, pts, keyframe=keyframe))
    taken.append(sampler.finish(end))
    return [pts for pts in taken if pts is not None]


def by_definition(plan: SamplingPlan, frames: list[Timed], end: Fraction) -> list[Fraction]:
    """The rule as it is stated, tick by tick."""
    if not frames:
        return []
    taken: list[Fraction] = []
    if plan.mode == "rate":
        stop = end if plan.end is None else min(end, plan.end)
        for tick in range(math.ceil(stop * plan.fps)):
            time = tick / plan.fps
            if time < plan.start:
                continue
            shown = [pts for pts, _ in frames if pts <= time] or [frames[0][0]]
            if not taken or taken[-1] != shown[-1]:
                taken.append(shown[-1])
    else:
        taken = [
            pts
            for pts, keyframe in frames
            if plan.start <= pts
            and (plan.end is None or pts < plan.end)
            and (keyframe or plan.mode == "every")
        ]
    return taken[: plan.max_frames]


times = st.integers(0, 4000).map(lambda value: Fraction(value, 360))
rates = st.one_of(
    st.integers(1, 70).map(Fraction),
    st.sampled_from([Fraction(30000, 1001), Fraction(2997, 100), Fraction(1, 3), Fraction(7, 10)]),
)
videos = st.lists(st.tuples(times, st.booleans()), max_size=30, unique_by=lambda frame: frame[0]).map(sorted)
plans = st.builds(
    SamplingPlan,
    mode=st.sampled_from(["rate", "every", "keyframes"]),
    fps=rates,
    start=times,
    end=st.none() | times,
    max_frames=st.none() | st.integers(1, 9),
)


@given(plans, videos, st.integers(1, 720).map(lambda value: Fraction(value, 360)))
def test_samples_are_those_of_the_rule(plan: SamplingPlan, frames: list[Timed], last: Fraction) -> None:
    end = frames[-1][0] + last if frames else Fraction(0)
    assert run(plan, frames, end) == by_definition(plan, frames, end)


@given(rates, videos, times, times)
def test_a_range_samples_the_frames_the_whole_would(
    fps: Fraction, frames: list[Timed], start: Fraction, length: Fraction
) -> None:
    end = frames[-1][0] + 1 if frames else Fraction(0)
    part = run(SamplingPlan(fps=fps, start=start, end=start + length), frames, end)
    assert set(part) <= set(run(SamplingPlan(fps=fps), frames, end))


@given(plans, videos)
def test_frames_before_the_first_needed_may_be_left_unread(plan: SamplingPlan, frames: list[Timed]) -> None:
    end = frames[-1][0] + 1 if frames else Fraction(0)
    before = [index for index, (pts, _) in enumerate(frames) if pts <= plan.first_needed]
    assert run(plan, frames[before[-1] :] if before else frames, end) == run(plan, frames, end)


def test_ticks_do_not_drift() -> None:
    frames = [(Fraction(index * 1001, 30000), False) for index in range(100_000)]
    plan = SamplingPlan(fps=Fraction(30000, 1001))
    assert run(plan, frames, frames[-1][0] + Fraction(1, 30)) == [pts for pts, _ in frames]


def test_done_as_soon_as_nothing_more_is_wanted() -> None:
    sampler = SamplingPlan(end=Fraction(2)).sampler()
    assert sampler.push("a", Fraction(0)) is None
    assert sampler.push("b", Fraction(1)) == "a"
    assert not sampler.done
    assert sampler.push("c", Fraction(3)) == "b"
    assert sampler.done
    assert sampler.push("d", Fraction(4)) is None
    assert sampler.finish(Fraction(9)) is None


def test_a_range_without_a_tick_wants_nothing() -> None:
    assert SamplingPlan(start=Fraction(1, 5), end=Fraction(4, 5)).sampler().done


@pytest.mark.parametrize(
    ("fps", "rate"),
    [
        (None, Fraction(1)),
        (29.97, Fraction(2997, 100)),
        ("30000/1001", Fraction(30000, 1001)),
        (0.1, Fraction(1, 10)),
        (Fraction(5), Fraction(5)),
    ],
)
def test_rates_are_the_numbers_that_were_written(fps: float | str | None, rate: Fraction) -> None:
    assert SamplingPlan.of(fps=fps).fps == rate


@pytest.mark.parametrize(
    "options",
    [
        {"fps": 0},
        {"fps": -1.0},
        {"fps": math.nan},
        {"fps": math.inf},
        {"fps": "fast"},
        {"fps": "1/0"},
        {"fps": 1001},
        {"max_frames": 0},
        {"start": "x"},
        {"start": "5", "end": "5"},
        {"end": "0"},
        {"every_frame": True, "keyframes": True},
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        SamplingPlan.of(**options)


def test_options_make_the_plan() -> None:
    assert SamplingPlan.of(start="0:10", end="20.5", max_frames=3, keyframes=True) == SamplingPlan(
        "keyframes", Fraction(1), Fraction(10), Fraction(41, 2), 3
    )
    assert SamplingPlan.of(every_frame=True).mode == "every"


@pytest.mark.parametrize(
    ("plan", "duration", "rate", "expected"),
    [
        (SamplingPlan(), Fraction(10), Fraction(25), 10),
        (SamplingPlan(), Fraction(21, 2), None, 11),
        (SamplingPlan(fps=Fraction(50)), Fraction(10), Fraction(25), 250),
        (SamplingPlan(start=Fraction(4), end=Fraction(6)), Fraction(10), None, 2),
        (SamplingPlan(start=Fraction(20)), Fraction(10), None, 0),
        (SamplingPlan(max_frames=3), Fraction(10), None, 3),
        (SamplingPlan(end=Fraction(6)), None, None, 6),
        (SamplingPlan(), None, Fraction(25), None),
        (SamplingPlan("every"), Fraction(10), Fraction(25), 250),
        (SamplingPlan("every"), Fraction(10), None, None),
        (SamplingPlan("keyframes"), Fraction(10), Fraction(25), None),
    ],
)
def test_expected_frames(
    plan: SamplingPlan, duration: Fraction | None, rate: Fraction | None, expected: int | None
) -> None:
    assert plan.expected_frames(duration, rate) == expected


def test_a_loop_needs_a_limit_and_is_as_long_as_it() -> None:
    words = "--loop has no end of its own; add --max-frames, --duration or --end"
    with pytest.raises(UsageError, match=words):
        SamplingPlan.of(loop=True)
    by_count = SamplingPlan.of(loop=True, max_frames=40)
    assert (by_count.span(Fraction(4)), by_count.expected_frames(Fraction(4))) == (None, 40)
    by_time = SamplingPlan.of(loop=True, start="2", end="12", fps=2)
    assert (by_time.span(Fraction(4)), by_time.expected_frames(Fraction(4))) == (10, 20)
    assert SamplingPlan.of(loop=True, end="12", max_frames=5).expected_frames(Fraction(4)) == 5


def test_a_duration_counts_from_the_start() -> None:
    assert SamplingPlan.of(start="10", duration="1:00").end == 70
    with pytest.raises(UsageError, match="--end and --duration"):
        SamplingPlan.of(end="5", duration="5")
    with pytest.raises(UsageError, match="must be above 0"):
        SamplingPlan.of(duration="0")
