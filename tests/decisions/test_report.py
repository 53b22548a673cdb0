"""The report of one decision maker: what the functions give, honest intervals, plain words."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from calibrant.decisions import (
    ThresholdLoss,
    bayes_decision,
    decision_loss,
    decision_report,
    predicted_loss,
)
from calibrant.forecasts import Normal

LOSS = ThresholdLoss.from_errors(0.5, false_positive=6.0, false_negative=4.0)


def words(report):
    """What is printed, without line ends."""
    return " ".join(repr(report).split())


def sample(n=400, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    mu = rng.normal(size=n)
    return Normal(mu, spread), rng.normal(mu, 1.0)


@pytest.mark.parametrize("loss", [LOSS, ThresholdLoss(0.5, (1.0, 3.0), (2.0, -1.0), strict=True)])
@pytest.mark.parametrize("weight", [None, np.arange(12) % 3])
def test_the_numbers_are_those_of_the_functions(tied, loss, weight):
    forecast, y = tied
    report = decision_report(forecast, loss, y, random_state=0, sample_weight=weight)
    predicted = predicted_loss(forecast, loss, sample_weight=weight)
    realised = decision_loss(forecast, y, loss, sample_weight=weight)
    assert report.predicted_loss.estimate == pytest.approx(predicted, abs=1e-12)
    assert report.decision_loss.estimate == pytest.approx(realised, abs=1e-12)
    assert report.difference.estimate == pytest.approx(predicted - realised, abs=1e-12)
    acting = np.average(bayes_decision(forecast, loss), weights=weight)
    assert report.action_share == pytest.approx(acting, abs=1e-12)
    way = "le" if loss.direction == "le" else "ge"
    always = [
        predicted_loss(forecast, loss, level=level, direction=way, sample_weight=weight)
        for level in ((0.0, 1.0) if way == "ge" else (1.0, 0.0))
    ]
    assert report.predicted_always_1 == pytest.approx(always[0], abs=1e-12)
    never = ThresholdLoss(
        loss.threshold, 2 * loss.below[:1], 2 * loss.above[:1], strict=loss.strict
    )
    expected = predicted_loss(forecast, never, sample_weight=weight)
    assert report.predicted_always_0 == pytest.approx(expected, abs=1e-12)
    assert report.n == (12 if weight is None else 8)
    if not loss.strict:
        assert predicted <= min(report.predicted_always_0, report.predicted_always_1) + 1e-12


def test_intervals_of_a_twin_that_draws_rows():
    forecast, y = sample(300, spread=0.5)
    report = decision_report(forecast, LOSS, y, n_resamples=4000, random_state=0)
    prob, below = forecast.cdf(0.5), y <= 0.5
    act = prob >= 0.6
    predicted = np.where(act, 6 * (1 - prob), 4 * prob)
    realised = np.where(act, 6 * ~below, 4 * below)
    rows = np.random.default_rng(1).integers(300, size=(4000, 300))
    for found, values in (
        (report.predicted_loss, predicted),
        (report.decision_loss, realised),
        (report.difference, predicted - realised),
    ):
        low, high = np.quantile(values[rows].mean(axis=1), [0.025, 0.975])
        assert found.low == pytest.approx(low, abs=0.07 * (high - low))
        assert found.high == pytest.approx(high, abs=0.07 * (high - low))


def test_intervals_of_the_difference_hold_the_truth_as_often_as_they_say():
    held = 0
    for seed in range(200):
        forecast, y = sample(150, seed)  # the very distribution of y: the true difference is 0
        report = decision_report(
            forecast, LOSS, y, confidence_level=0.9, n_resamples=199, random_state=seed
        )
        held += report.difference.low <= 0 <= report.difference.high
    assert 166 <= held <= 193  # 180 expected; 3.3 standard deviations, and 0.1 % tails


def test_same_seed_same_report():
    forecast, y = sample()
    assert decision_report(forecast, LOSS, y, random_state=1) == decision_report(
        forecast, LOSS, y, random_state=1
    )
    assert decision_report(forecast, LOSS, y, random_state=1) != decision_report(
        forecast, LOSS, y, random_state=2
    )


def test_an_overconfident_forecast_understates_the_cost():
    report = decision_report(*_with_loss(*sample(spread=0.3)), random_state=0)
    assert report.difference.high < 0
    low, high = -report.difference.high, -report.difference.low
    assert f"it understates the cost by {-report.difference.estimate:#.3g}" in words(report)
    assert f"(95 % interval {low:#.3g} to {high:#.3g})." in words(report)


def test_an_underconfident_forecast_overstates_the_cost():
    report = decision_report(*_with_loss(*sample(spread=4.0)), random_state=0)
    assert report.difference.low > 0
    assert "it overstates the cost by" in words(report)


def test_a_calibrated_forecast_agrees_within_chance():
    report = decision_report(*_with_loss(*sample()), random_state=0, confidence_level=0.99)
    assert report.difference.low < 0 < report.difference.high
    assert "agrees within chance (99 % interval of the difference -" in words(report)
    assert repr(report).startswith("DecisionReport: 400 cases, outcome <= 0.5\n")


def _with_loss(forecast, y):
    return forecast, LOSS, y


def test_without_outcomes_the_forecast_alone_speaks():
    forecast, y = sample()
    report = decision_report(forecast, LOSS, random_state=0)
    assert report.decision_loss is None
    assert report.difference is None
    assert (
        report.predicted_loss == decision_report(forecast, LOSS, y, random_state=0).predicted_loss
    )
    assert "The forecast promises" in words(report)
    assert "realised" not in words(report)


def test_large_costs_are_written_out():
    loss = ThresholdLoss.from_errors(0.5, false_positive=1e6, false_negative=1e6, strict=True)
    forecast, y = sample()
    report = decision_report(forecast, loss, y, random_state=0)
    assert f"promised {report.predicted_loss.estimate:,.0f} per case" in words(report)
    assert "outcome < 0.5" in words(report)


def test_a_dictionary_of_plain_values():
    forecast, y = sample()
    report = decision_report(forecast, LOSS, y, random_state=0)
    content = json.loads(json.dumps(report.to_dict()))
    assert content["loss"] == LOSS.to_dict()
    assert content["difference"]["low"] == report.difference.low
    assert content["interpretation"] == report.interpretation
    assert decision_report(forecast, LOSS).to_dict()["decision_loss"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": [LOSS]}, "loss must be a ThresholdLoss, got [ThresholdLoss("),
        ({"loss": np.zeros(400)}, "loss must be a ThresholdLoss"),
        ({"n_resamples": 0}, "n_resamples must be an integer of at least 1, got 0"),
        ({"confidence_level": 0.0}, "confidence_level must be a number between 0 and 1"),
        ({"random_state": -1}, "random_state must be None"),
        ({"sample_weight": [1.0]}, "sample_weight has 1 entries for 400 rows"),
        ({"y": [1.0]}, "1"),
        ({"y": np.full(400, np.inf)}, "y[0] is inf"),
    ],
)
def test_bad_input(options, message):
    forecast, y = sample()
    with pytest.raises(ValueError, match=re.escape(message)):
        decision_report(forecast, **({"loss": LOSS, "y": y} | options))
