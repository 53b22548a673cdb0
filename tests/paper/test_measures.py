"""What is measured, and its summaries."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from paper.methods import METHODS
from paper.summaries import Summary, along, mean_of
from scipy import stats

from calibrant import ThresholdLoss, decision_loss, decision_table, predicted_loss
from calibrant.forecasts import Normal
from paper import measures


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    mu = rng.normal(size=400)
    return measures.Sample(Normal(mu, 0.5), mu + rng.normal(size=400))


def test_rules_of_one_maker(sample):
    predicted, realised = measures.losses_of_rules(*sample)
    loss = ThresholdLoss.from_cost_ratio(float(np.median(sample.y)), 0.5, strict=True)
    for number in (0, 17, 49):
        level = measures.LEVELS[number]
        assert predicted[number] == pytest.approx(
            predicted_loss(sample.forecast, loss, level=level), abs=1e-12
        )
        assert realised[number] == pytest.approx(
            decision_loss(sample.forecast, sample.y, loss, level=level), abs=1e-12
        )


def test_overall_is_the_mean_over_thresholds_and_ratios(sample):
    values = list(measures.of_forecast(*sample))
    for measure in (measures.GAP, measures.LOSS):
        by_axis = [
            np.mean([v.value for v in values if (v.axis, v.measure) == (axis, measure)])
            for axis in (measures.OVERALL, measures.BY_THRESHOLD, measures.BY_RATIO)
        ]
        assert by_axis[1:] == pytest.approx([by_axis[0]] * 2, abs=1e-12)


def test_gaps_at_frequent_outcomes_and_between(sample):
    forecast, y = Normal(sample.forecast.mu, 1.0), sample.y
    assert measures.gaps_at_frequent_outcomes(forecast, y) == {}
    whole = np.round(2.0 * y) / 2.0
    found = measures.gaps_at_frequent_outcomes(forecast, whole)
    values, counts = np.unique(whole, return_counts=True)
    frequent = values[counts >= 4]
    for measure, thresholds in (
        (measures.AT_FREQUENT, frequent),
        (measures.BETWEEN_FREQUENT, frequent[:-1] + np.diff(frequent) / 2.0),
    ):
        table = decision_table(forecast, whole, thresholds=thresholds, n_resamples=0)
        assert found[measure] == pytest.approx(table.reliability_gap.mean())
    # By these forecasts half of the rows at a value lie above it.
    assert found[measures.AT_FREQUENT] > found[measures.BETWEEN_FREQUENT]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_measured(sample, name):
    fitting, test = (measures.Sample(sample.forecast[part], sample.y[part])
                     for part in (slice(0, 250), slice(250, None)))  # fmt: skip
    found = {v.measure: v.value for v in measures.evaluate(METHODS[name], fitting, test)
             if v.axis == measures.OVERALL}  # fmt: skip
    assert np.isfinite(list(found.values())).all()
    assert (measures.LAYERS in found) == name.startswith("threshold,")
    assert (measures.CELL_ROWS in found) == name.startswith("distribution")


def test_interval_is_students():
    values = [1.0, 2.0, 4.0]
    mean = mean_of(values)
    low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    assert (mean.value - mean.half, mean.value + mean.half) == pytest.approx((low, high))
    assert mean_of([1.0, 1.1, 0.9]).sign == 1
    assert mean_of([-1.0, -1.1, -0.9]).sign == -1
    assert mean_of([1.0, -1.0]).sign == 0
    assert mean_of([1.0]).sign == 0


def test_differences_are_paired():
    keys = {"data": "crime", "family": "gaussian", "axis": "overall", "index": 0, "at": np.nan}
    rows = [
        {**keys, "seed": seed, "method": name, "measure": "m", "value": 10.0 * seed + shift}
        for seed in range(3)
        for name, shift in (("none", 1.0), ("average", 0.5), ("mine", 0.0))
    ]
    summary = Summary(pl.DataFrame(rows), "m")
    difference = summary.difference("crime", "gaussian", "average", "none")
    assert difference == pytest.approx((-0.5, 0.0))
    assert summary.methods() == ["none", "average", "mine"]
    assert summary.cases() == [("crime", "gaussian")]
    assert summary.difference("crime", "mixture", "average", "none") is None


def test_means_along_an_axis():
    keys = {"data": "crime", "family": "gaussian", "method": "none", "measure": "m", "axis": "a"}
    rows = [
        {**keys, "seed": seed, "index": index, "at": index + seed / 10.0, "value": index + seed}
        for seed in range(2)
        for index in range(3)
    ]
    found = along(pl.DataFrame(rows), "a", "m")
    assert found["at"].to_list() == pytest.approx([0.05, 1.05, 2.05])
    assert found["value"].to_list() == [0.5, 1.5, 2.5]
