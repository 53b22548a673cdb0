"""Theorem 1: no gap for any loss and rule under threshold calibration, but not under less.

Finite populations on which calibration holds exactly, at the points that are looked at.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.decisions import (
    ThresholdLoss,
    decision_loss,
    decision_table,
    predicted_loss,
    reliability_gap,
)
from calibrant.forecasts import Ensemble, Forecast

costs = st.integers(-50, 50).map(lambda k: k / 10)
levels = st.floats(0.0, 1.0)
directions = st.sampled_from(["ge", "le"])


class Uniform(Forecast):
    """Equally likely anywhere between `low` and `high`."""

    _row_fields = ("low", "high")

    def __init__(self, low, high):
        self.low, self.high = np.array(low, dtype=float), np.array(high, dtype=float)

    def cdf(self, y):
        return np.clip((y - self.low) / (self.high - self.low), 0.0, 1.0)

    def ppf(self, p):
        return self.low + p * (self.high - self.low)


def empirical(seed):
    """Groups of rows whose forecast is the distribution of the outcomes of the group."""
    rng = np.random.default_rng(seed)
    members, outcomes = [], []
    for centre in range(6):
        group = rng.integers(centre - 4, centre + 5, size=8) / 2
        members.append(np.tile(group, (8, 1)))
        outcomes.append(rng.permutation(group))
    return Ensemble(np.concatenate(members)), np.concatenate(outcomes)


def spread(lows, highs, halves=None):
    """Uniform forecasts with an outcome in the middle of each unit of their range, or of a half."""
    low, high, y = [], [], []
    for k, (a, b) in enumerate(zip(lows, highs, strict=True)):
        middles = np.arange(a, b) + 0.5
        if halves is not None:
            middles = np.repeat(np.split(middles, 2)[halves[k]], 2)
        low += [a] * len(middles)
        high += [b] * len(middles)
        y.append(middles)
    return Uniform(low, high), np.concatenate(y)


CALIBRATED = spread([0, 2, 1, 4, -3, 0], [8, 6, 17, 6, 5, 16])


def gap(forecast, y, loss, level, **rule):
    predicted = predicted_loss(forecast, loss, level=level, **rule)
    realised = decision_loss(forecast, y, loss, level=level, **rule)
    single = reliability_gap(forecast, y, loss, levels=[level], **rule)
    assert single == pytest.approx(abs(predicted - realised), abs=1e-12)
    return single


@given(
    st.integers(0, 20), st.integers(-4, 6).map(lambda k: k / 2), costs, costs, costs, costs,
    st.booleans(), levels, st.integers(-4, 6).map(lambda k: k / 2), directions,
)  # fmt: skip
def test_no_gap_where_forecasts_are_the_distributions_of_their_groups(
    seed, threshold, b0, b1, a0, a1, strict, level, rule_threshold, direction
):
    forecast, y = empirical(seed)
    loss = ThresholdLoss(threshold, (b0, b1), (a0, a1), strict=strict)
    rule = {"rule_threshold": rule_threshold, "direction": direction}
    assert gap(forecast, y, loss, level, **rule) == pytest.approx(0.0, abs=1e-12)
    assert predicted_loss(forecast, loss) == pytest.approx(
        decision_loss(forecast, y, loss), abs=1e-12
    )


@given(
    st.integers(-4, 18), costs, costs, costs, costs, st.booleans(), levels, st.integers(-4, 18),
    directions,
)  # fmt: skip
def test_no_gap_where_a_continuous_forecast_is_threshold_calibrated(
    threshold, b0, b1, a0, a1, strict, level, rule_threshold, direction
):
    forecast, y = CALIBRATED
    # Definition 3 at all c that the outcomes can tell apart.
    pit = forecast.cdf(y)
    acting = forecast.cdf(rule_threshold) <= level
    if acting.any():
        np.testing.assert_allclose(
            [(pit[acting] <= c).mean() for c in (0.0, 0.5, 1.0)], [0.0, 0.5, 1.0], atol=1e-12
        )
    loss = ThresholdLoss(threshold, (b0, b1), (a0, a1), strict=strict)
    rule = {"rule_threshold": rule_threshold, "direction": direction}
    assert gap(forecast, y, loss, level, **rule) == pytest.approx(0.0, abs=1e-12)


def test_no_maker_of_the_table_has_a_gap_under_threshold_calibration():
    forecast, y = CALIBRATED
    for strict in (True, False):
        table = decision_table(
            forecast, y, thresholds=np.arange(-4, 19), strict=strict, n_resamples=99, random_state=0
        )
        assert table.decision_loss.max() > 1
        np.testing.assert_allclose(table.reliability_gap, 0.0, atol=1e-12)
        np.testing.assert_allclose(table.difference, 0.0, atol=1e-12)
        assert (table.low <= 1e-12).all()
        assert (table.high >= -1e-12).all()


def test_average_calibration_is_not_enough():
    # Outcomes in the lower half of the low forecasts, in the upper half of the high ones.
    forecast, y = spread([0, 8], [8, 16], halves=[0, 1])
    pit = forecast.cdf(y)
    grid = np.arange(9) / 8
    np.testing.assert_allclose([(pit <= c).mean() for c in grid], grid, atol=1e-12)

    loss = ThresholdLoss.from_cost_ratio(4.0, 0.3)
    # F(4) is 1/2 in half of the rows: these act, at a predicted 3 * 1/2, and all are below.
    assert predicted_loss(forecast, loss) == pytest.approx(0.5 * 3.0 * 0.5)
    assert decision_loss(forecast, y, loss) == 0.0
    assert reliability_gap(forecast, y, loss) > 0.5
    always = ThresholdLoss(4.0, (1.0, 1.0), (0.0, 0.0))
    assert gap(forecast, y, always, 0.0) == pytest.approx(0.25)
