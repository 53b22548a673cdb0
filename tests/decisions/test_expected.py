"""Bayes decisions, predicted and realised cost and the gap: reference, twins, invariants."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from calibrant.decisions import (
    ThresholdLoss,
    bayes_decision,
    decision_loss,
    predicted_loss,
    reliability_gap,
)
from calibrant.forecasts import Ensemble, Normal


def loss_of(entry, threshold):
    return ThresholdLoss(
        threshold, below=(entry["c10"], entry["c11"]), above=(entry["c00"], entry["c01"])
    )


def close(value, expected):
    assert value == pytest.approx(expected, abs=1e-12, rel=0)


# ---------------------------------------------------------------------- reference


def test_bayes_decisions_of_the_reference(case):
    content, forecast, y = case
    for entry in content["threshold_losses"]:
        for at in entry["at"]:
            loss = loss_of(entry, at["y0"])
            actions = bayes_decision(forecast, loss)
            assert "".join(map(str, actions)) == at["actions"], (entry["name"], at["y0"])
            close(predicted_loss(forecast, loss), at["predicted"])
            close(decision_loss(forecast, y, loss), at["true"])


def test_rules_at_another_threshold_of_the_reference(case):
    content, forecast, y = case
    for entry in content["rules_at_another_y0"]:
        loss = loss_of(entry, entry["loss_y0"])
        place = {"rule_threshold": entry["rule_y0"], "direction": entry["direction"]}
        level = entry["alpha"]
        close(predicted_loss(forecast, loss, level=level, **place), entry["predicted"])
        close(decision_loss(forecast, y, loss, level=level, **place), entry["true"])
        close(reliability_gap(forecast, y, loss, levels=[level], **place), entry["gap"])


def test_points_of_the_simulation(case):
    content, forecast, y = case
    for point in content["simulation"]["points"]:
        strict = point["events"] != "le"
        loss = ThresholdLoss.from_cost_ratio(point["y0"], point["c"], strict=strict)
        level = point["alpha"]
        close(decision_loss(forecast, y, loss, level=level), point["true"])
        if point["events"] == "lt" and isinstance(forecast, Ensemble):
            continue  # there P(Y <= y0) stands for P(Y < y0)
        close(predicted_loss(forecast, loss, level=level), point["predicted"])
        close(reliability_gap(forecast, y, loss, levels=[level]), point["gap"])


# ---------------------------------------------------------------------- twins


def brute(forecast, y, loss, act):
    """Predicted and realised cost by loops; `act` says what to do in row i."""
    predicted, realised = [], []
    for i in range(len(forecast)):
        left = forecast.cdf_left if loss.strict else forecast.cdf
        p = left(loss.threshold)[i]
        below = y[i] < loss.threshold or (y[i] == loss.threshold and not loss.strict)
        a = int(act(i))
        predicted.append(p * loss.below[a] + (1 - p) * loss.above[a])
        realised.append(loss.below[a] if below else loss.above[a])
    return np.mean(predicted), np.mean(realised)


halves = st.integers(-4, 4).map(lambda k: k / 2)
costs = st.integers(-4, 4).map(float)
losses = st.builds(
    ThresholdLoss, halves, st.tuples(costs, costs), st.tuples(costs, costs), strict=st.booleans()
)


@given(losses, st.sampled_from([0.0, 0.25, 0.4, 1.0]), halves, st.sampled_from(["ge", "le", None]))
@settings(max_examples=60)
def test_rules_by_loops(loss, level, rule_threshold, direction):
    rng = np.random.default_rng(5)
    forecast = Ensemble(rng.integers(-4, 5, size=(12, 4)) / 2)
    y = rng.integers(-4, 5, size=12) / 2
    way = direction or ("le" if loss.direction == "le" else "ge")
    compared = forecast.cdf(rule_threshold)

    def act(i):
        return compared[i] <= level if way == "le" else compared[i] >= level

    predicted, realised = brute(forecast, y, loss, act)
    rule = {"rule_threshold": rule_threshold, "direction": direction}
    close(predicted_loss(forecast, loss, level=level, **rule), predicted)
    close(decision_loss(forecast, y, loss, level=level, **rule), realised)
    gap = reliability_gap(forecast, y, loss, levels=[level], **rule)
    close(gap, abs(predicted - realised))


@given(losses)
def test_the_bayes_rule_is_the_rule_at_the_level_of_the_loss(loss):
    rng = np.random.default_rng(6)
    forecast = Ensemble(rng.integers(-4, 5, size=(12, 4)) / 2)
    y = rng.integers(-4, 5, size=12) / 2
    actions = bayes_decision(forecast, loss)
    predicted, realised = brute(forecast, y, loss, actions.__getitem__)
    close(predicted_loss(forecast, loss), predicted)
    close(decision_loss(forecast, y, loss), realised)
    if loss.level is not None and 0 <= loss.level <= 1:
        assert predicted_loss(forecast, loss, level=loss.level) == predicted_loss(forecast, loss)


@given(losses)
def test_no_rule_at_the_threshold_is_predicted_to_cost_less_than_the_bayes_rule(loss):
    forecast = Normal(np.linspace(-2, 2, 9), 1.0)
    best = predicted_loss(forecast, loss)
    for level, direction in itertools.product(np.linspace(0, 1, 21), ["ge", "le"]):
        assert best <= predicted_loss(forecast, loss, level=level, direction=direction) + 1e-12


def test_the_gap_is_the_mean_over_levels(tied):
    forecast, y = tied
    levels = [0.75, 0.1, 0.5, 0.5]
    for direction, strict in itertools.product(["ge", "le"], [True, False]):
        loss = ThresholdLoss(0.5, (5.0, 1.0), (0.0, 2.0), strict=strict)
        gaps = [
            predicted_loss(forecast, loss, level=level, direction=direction)
            - decision_loss(forecast, y, loss, level=level, direction=direction)
            for level in levels
        ]
        gap = reliability_gap(forecast, y, loss, levels=levels, direction=direction)
        close(gap, np.abs(gaps).mean())
    assert reliability_gap(forecast, y, loss) == reliability_gap(
        forecast, y, loss, levels=np.linspace(0.05, 0.95, 50)
    )


# ---------------------------------------------------------------------- invariants

LOSSES = [
    ThresholdLoss.from_cost_ratio(0.0, 0.5),
    ThresholdLoss.from_cost_ratio(0.5, 0.25, strict=True),
    ThresholdLoss(0.5, (0.0, 3.0), (2.0, 0.0)),
    ThresholdLoss(0.0, (1.0, 2.0), (1.0, 2.0)),
    ThresholdLoss(0.5, (0.0, 3.0), (2.0, 0.0), strict=True),
]


def measures(forecast, y, loss, **options):
    yield predicted_loss(forecast, loss, **options)
    yield decision_loss(forecast, y, loss, **options)
    yield reliability_gap(forecast, y, loss, **options)


def test_a_list_of_losses_gives_what_each_gives(tied):
    forecast, y = tied
    assert bayes_decision(forecast, LOSSES).shape == (5, 12)
    np.testing.assert_array_equal(
        bayes_decision(forecast, LOSSES), [bayes_decision(forecast, loss) for loss in LOSSES]
    )
    for together, *single in zip(
        measures(forecast, y, LOSSES),
        *(measures(forecast, y, loss) for loss in LOSSES),
        strict=True,
    ):
        assert together.shape == (5,)
        np.testing.assert_array_equal(together, single)
    assert decision_loss(forecast, y, LOSSES[:1]).shape == (1,)
    assert isinstance(decision_loss(forecast, y, LOSSES[0]), float)


def test_losses_at_one_threshold_share_one_evaluation():
    asked = []

    class Counting(Normal):
        def cdf(self, y):
            asked.append(y)
            return super().cdf(y)

    forecast = Counting(np.zeros(3), 1.0)
    predicted_loss(forecast, LOSSES)
    assert sorted(asked) == [0.0, 0.5]
    asked.clear()
    reliability_gap(forecast, np.zeros(3), LOSSES, rule_threshold=2.0)
    assert sorted(asked) == [0.0, 0.5, 2.0]


@pytest.mark.parametrize("loss", LOSSES)
def test_whole_weights_are_repeated_rows(tied, loss):
    forecast, y = tied
    weight = np.arange(12) % 4
    rows = np.repeat(np.arange(12), weight)
    for weighted, repeated in zip(
        measures(forecast, y, loss, sample_weight=weight),
        measures(forecast[rows], y[rows], loss),
        strict=True,
    ):
        close(weighted, repeated)


@pytest.mark.parametrize("loss", LOSSES)
def test_huge_weights_do_not_overflow(tied, loss):
    forecast, y = tied
    huge = np.full(12, 1e307)
    for weighted, plain in zip(
        measures(forecast, y, loss, sample_weight=huge), measures(forecast, y, loss), strict=True
    ):
        close(weighted, plain)


def test_the_order_of_rows_does_not_matter(tied):
    forecast, y = tied
    rows = np.random.default_rng(0).permutation(12)
    for one, other in zip(
        measures(forecast, y, LOSSES), measures(forecast[rows], y[rows], LOSSES), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_twice_the_costs_twice_the_loss(tied, loss):
    forecast, y = tied
    double = ThresholdLoss(
        loss.threshold,
        [2 * cost for cost in loss.below],
        [2 * cost for cost in loss.above],
        strict=loss.strict,
    )
    for one, other in zip(measures(forecast, y, loss), measures(forecast, y, double), strict=True):
        close(other, 2 * one)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_cost_added_to_both_actions_changes_no_decision(tied, loss):
    forecast, y = tied
    shifted = ThresholdLoss(
        loss.threshold, [cost + 4.0 for cost in loss.below], loss.above, strict=loss.strict
    )
    np.testing.assert_array_equal(bayes_decision(forecast, loss), bayes_decision(forecast, shifted))
    below = y < loss.threshold if loss.strict else y <= loss.threshold
    difference = decision_loss(forecast, y, shifted) - decision_loss(forecast, y, loss)
    close(difference, 4.0 * below.mean())


def test_decisions_are_whole_numbers(tied):
    actions = bayes_decision(tied[0], LOSSES[0])
    assert actions.dtype == np.int64
    assert set(actions) == {0, 1}


def test_frames_and_float32_are_understood():
    forecast = Normal(np.linspace(-1, 1, 5), 1.0)
    y = np.array([0.5, -0.25, 1.0, 0.0, -2.0])
    expected = decision_loss(forecast, y, LOSSES)
    for held in (y.tolist(), y.astype(np.float32), pd.Series(y), pl.Series(y)):
        np.testing.assert_array_equal(decision_loss(forecast, held, LOSSES), expected)


def test_scipy_distributions_are_forecasts():
    mu, y = np.linspace(-1, 1, 5), np.array([0.5, -0.25, 1.0, 0.0, -2.0])
    ours, theirs = Normal(mu, 2.0), stats.norm(mu, 2.0)
    for one, other in zip(measures(ours, y, LOSSES), measures(theirs, y, LOSSES), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize("function", [bayes_decision, predicted_loss])
@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (3.0, "loss must be a ThresholdLoss or a sequence of them, got 3.0"),
        ([], "loss is an empty sequence"),
        ([LOSSES[0], "x"], "loss[1] is 'x': it must be a ThresholdLoss"),
        (None, "loss must be a ThresholdLoss or a sequence of them, got None"),
    ],
)
def test_bad_losses(tied, function, loss, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        function(tied[0], loss)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.5}, "level must be between 0 and 1, got 1.5"),
        ({"level": "0.5"}, "level must be a number, got '0.5'"),
        ({"level": np.nan}, "level is nan"),
        ({"rule_threshold": 1.0}, "rule_threshold is for rules other than the Bayes rule"),
        ({"direction": "ge"}, "direction is for rules other than the Bayes rule"),
        ({"level": 0.5, "direction": "gt"}, "direction must be 'ge', 'le' or None, got 'gt'"),
        ({"level": 0.5, "rule_threshold": np.inf}, "rule_threshold is inf"),
        ({"sample_weight": [1.0]}, "sample_weight has 1 entries for 12 rows"),
        ({"sample_weight": np.zeros(12)}, "sample_weight is zero in every row"),
        ({"sample_weight": [-1.0] + [1.0] * 11}, "sample_weight[0] is -1.0"),
    ],
)
def test_bad_options(tied, options, message):
    forecast, y = tied
    for call in (
        lambda: predicted_loss(forecast, LOSSES[0], **options),
        lambda: decision_loss(forecast, y, LOSSES[0], **options),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            call()


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (1, "levels is 1: it must be a number of values of at least 2, or an array"),
        (True, "levels has shape ()"),
        (0.5, "levels has shape ()"),
        ([], "levels has shape (0,)"),
        ([[0.5]], "levels has shape (1, 1)"),
        ([0.5, 1.5], "levels[1] is 1.5"),
        ([0.5, np.nan], "levels[1] is nan"),
        (["a"], "levels has dtype"),
    ],
)
def test_bad_levels(tied, levels, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        reliability_gap(*tied, LOSSES[0], levels=levels)


@pytest.mark.parametrize("function", [decision_loss, reliability_gap])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "y is None"),
        (np.zeros(11), "11"),
        (np.zeros((12, 1)), "y has shape (12, 1)"),
        (1.0, "y has shape ()"),
        ([np.nan] + [0.0] * 11, "y[0] is nan"),
        (["a"] * 12, "y has dtype"),
    ],
)
def test_bad_outcomes(tied, function, y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        function(tied[0], y, LOSSES[0])


def test_bad_forecasts():
    with pytest.raises(ValueError, match="cdf"):
        bayes_decision([0.1, 0.2], LOSSES[0])
