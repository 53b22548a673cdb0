"""Gaps and losses by threshold and by cost ratio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt

from calibrant import DecisionTable, decision_table
from calibrant.displays import ReliabilityGapDisplay
from calibrant.forecasts import Normal


def table(sd: float = 0.5, n_resamples: int = 0) -> DecisionTable:
    rng = np.random.default_rng(0)
    mu = rng.normal(size=200)
    y = rng.normal(mu, 1.0)
    return decision_table(
        Normal(mu, sd), y, thresholds=5, cost_ratios=4, levels=6, n_resamples=n_resamples,
        random_state=0,
    )  # fmt: skip


@pytest.mark.parametrize("by", ["threshold", "cost_ratio"])
@pytest.mark.parametrize("measure", ["reliability_gap", "decision_loss"])
def test_points_are_those_of_the_table(by: str, measure: str):
    held = table()
    display = ReliabilityGapDisplay.from_table(held, by=by, measure=measure, name="narrow")
    means = held.by_threshold() if by == "threshold" else held.by_cost_ratio()
    np.testing.assert_array_equal(display.line_.get_xydata(), np.c_[means[by], means[measure]])
    assert display.line_.get_label() == "narrow"
    assert display.predicted_line_ is None
    assert display.ax_.get_ylim()[0] == 0.0


def test_predicted_and_realised_losses():
    held = table()
    display = ReliabilityGapDisplay.from_table(held, measure="losses")
    means = held.by_threshold()
    np.testing.assert_array_equal(display.line_.get_ydata(), means["decision_loss"])
    np.testing.assert_array_equal(display.predicted_line_.get_ydata(), means["predicted_loss"])
    assert display.line_.get_color() == display.predicted_line_.get_color()
    assert display.line_.get_linestyle() != display.predicted_line_.get_linestyle()
    assert not display.ax_.collections


def test_the_interval_holds_the_realised_loss():
    held = table(n_resamples=50)
    display = ReliabilityGapDisplay.from_table(held, measure="losses", by="cost_ratio")
    means = held.by_cost_ratio()
    (band,) = display.ax_.collections
    vertices = band.get_paths()[0].vertices
    for k, x in enumerate(means["cost_ratio"]):
        ends = vertices[vertices[:, 0] == x, 1]
        predicted = means["predicted_loss"][k]
        assert ends.min() == pytest.approx(predicted - means["high"][k])
        assert ends.max() == pytest.approx(predicted - means["low"][k])
        assert ends.min() <= means["decision_loss"][k] <= ends.max()


@pytest.mark.parametrize("measure", ["reliability_gap", "losses"])
def test_several_forecasters(measure: str):
    first = ReliabilityGapDisplay.from_table(table(1.0), measure=measure, name="right")
    second = ReliabilityGapDisplay.from_table(table(0.2), measure=measure, ax=first.ax_)
    assert second.ax_ is first.ax_
    assert first.line_.get_color() != second.line_.get_color()
    assert first.line_.get_marker() != second.line_.get_marker()
    # The second needs more room than the first.
    assert first.ax_.get_ylim()[1] > second.line_.get_ydata().max() > 0
    assert first.ax_.get_ylim()[0] == 0.0


def test_from_predictions_makes_the_table():
    rng = np.random.default_rng(0)
    mu = rng.normal(size=100)
    y = rng.normal(mu, 1.0)
    options: dict[str, Any] = {"thresholds": [0.0, 1.0], "n_resamples": 0, "total": 2.0}
    display = ReliabilityGapDisplay.from_predictions(Normal(mu, 0.5), y, **options)
    expected = decision_table(Normal(mu, 0.5), y, **options)
    np.testing.assert_array_equal(display.table.reliability_gap, expected.reliability_gap)
    assert display.ax_.get_title(loc="left").endswith("the two errors cost 2 together")


def test_line_options_and_axes_of_the_caller():
    figure, ax = plt.subplots()
    display = ReliabilityGapDisplay(table()).plot(ax, name="mine", color="k", marker="x")
    assert display.figure_ is figure
    assert display.line_.get_color() == "k"
    assert display.line_.get_marker() == "x"
    assert display.line_.get_label() == "mine"
    assert plt.get_fignums() == [figure.number]


def test_bad_input():
    with pytest.raises(ValueError, match="table must be a DecisionTable, got dict"):
        ReliabilityGapDisplay.from_table({})
    with pytest.raises(ValueError, match="by must be 'threshold' or 'cost_ratio', got 'cost'"):
        ReliabilityGapDisplay.from_table(table(), by="cost")
    with pytest.raises(ValueError, match="measure must be 'reliability_gap', 'decision_loss' or"):
        ReliabilityGapDisplay.from_predictions(None, None, measure="gap")
    with pytest.raises(ValueError, match="ax must be a matplotlib Axes, got list"):
        ReliabilityGapDisplay.from_table(table(), ax=[])
