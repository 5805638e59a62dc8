"""Which frames of a live source are due."""

from __future__ import annotations

import random

import pytest

from cli.video.arrival_sampler import ArrivalSampler
from cli.video.sampling import SamplingPlan


def taken(plan: SamplingPlan, times_s: list[float]) -> list[int]:
    """The numbers of the frames that are due, of those that arrive at `times_s`."""
    sampler = ArrivalSampler(plan)
    return [number for number, time_s in enumerate(times_s) if sampler.due(time_s, keyframe=number % 10 == 0)]


def test_the_frame_that_comes_at_a_tick_is_taken() -> None:
    assert taken(SamplingPlan.of(fps=2), [k / 30 for k in range(91)]) == [0, 15, 30, 45, 60, 75, 90]


@pytest.mark.parametrize("rate", [5, 10, 30])
def test_a_camera_sampled_at_its_own_rate_loses_nothing_to_jitter(rate: int) -> None:
    chance = random.Random(1)
    times_s = [max(0.0, (k + chance.uniform(-0.3, 0.3)) / rate) for k in range(200)]
    times_s[0] = 0.0
    assert len(taken(SamplingPlan.of(fps=rate), sorted(times_s))) >= 196


@pytest.mark.parametrize("phase", [0.0, 0.25, 0.5, 0.75])
def test_a_camera_sampled_at_its_own_rate_loses_nothing_where_frames_come_in_pairs(phase: float) -> None:
    times_s = [0.0, *((2 * (k // 2) + phase + 0.01 * (k % 2)) / 30 for k in range(2, 200))]
    assert len(taken(SamplingPlan.of(fps=30), times_s)) >= 196


def test_a_slow_beginning_does_not_make_all_that_follows_due() -> None:
    times_s = [0.0, 0.3, *(0.3 + k / 30 for k in range(1, 91))]
    assert 31 <= len(taken(SamplingPlan.of(fps=10), times_s)) <= 36


def test_of_a_source_slower_than_the_ticks_each_frame_is_taken() -> None:
    assert taken(SamplingPlan.of(fps=30), [k / 5 for k in range(20)]) == list(range(20))


def test_a_frame_after_a_silence_is_taken_once() -> None:
    assert taken(SamplingPlan.of(fps=1), [0.0, 0.5, 60.2, 60.3, 61.1]) == [0, 2, 4]


def test_keyframes_and_every_frame_have_no_ticks() -> None:
    times_s = [k / 30 for k in range(31)]
    assert taken(SamplingPlan.of(keyframes=True), times_s) == [0, 10, 20, 30]
    assert taken(SamplingPlan.of(every_frame=True), times_s) == list(range(31))
