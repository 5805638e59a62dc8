"""Quantiles of lags, in little room."""

import random
from statistics import quantiles

import pytest

from cli.output.lags import Lags


def test_quantiles_are_right_to_a_hundredth() -> None:
    draw = random.Random(7).lognormvariate
    values = [draw(0, 1) for _ in range(5000)]
    lags = Lags()
    for value in values:
        lags.add(value)
    exact = quantiles(values, n=20)
    assert lags.quantile(0.5) == pytest.approx(exact[9], rel=0.01)
    assert lags.quantile(0.95) == pytest.approx(exact[18], rel=0.02)
    assert lags.quantile(1) == pytest.approx(max(values), rel=0.01)


def test_one_lag_is_every_quantile_and_none_is_none() -> None:
    lags = Lags()
    assert not lags
    lags.add(0.0)  # an arrival and its caption within one tick of the clock
    assert lags
    assert lags.quantile(0.5) == lags.quantile(1) == pytest.approx(1e-4, rel=0.01)


def test_a_long_run_takes_no_more_room() -> None:
    lags = Lags()
    for k in range(100_000):
        lags.add(1 + k % 1000 / 1000)
    assert len(lags._counts) <= 71  # ln 2 in steps of a hundredth
