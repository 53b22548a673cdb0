"""The map of a calibrator is what it predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from calibrant import (
    BetaCalibration,
    CrossValidated,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    PlattScaling,
    TemperatureScaling,
)
from calibrant.displays import CalibratorDisplay


def sample(n: int = 250) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    prob = rng.random(n)
    return prob, (rng.random(n) < prob**2).astype(int)


@pytest.mark.parametrize(
    "calibrator",
    [
        BetaCalibration(),
        HistogramBinning(n_bins=5),
        IsotonicCalibration(),
        TemperatureScaling(input="probability"),
        CrossValidated(BetaCalibration(), cv=3, random_state=0),
    ],
    ids=lambda calibrator: type(calibrator).__name__,
)
def test_maps_of_probabilities(calibrator: Any):
    prob, y = sample()
    calibrator.fit(prob, y)
    display = CalibratorDisplay.from_estimator(calibrator)
    grid = np.linspace(0, 1, 1001)
    np.testing.assert_array_equal(
        display.line_.get_xydata(), np.c_[grid, calibrator.predict_proba(grid)]
    )
    assert display.line_.get_label() == type(calibrator).__name__
    assert display.rug_ == []
    assert "Identity" in display.ax_.get_legend_handles_labels()[1]


def test_maps_of_scores():
    prob, y = sample()
    scores = 8 * prob - 3
    platt = PlattScaling().fit(scores, y)
    display = CalibratorDisplay.from_estimator(platt, scores, name="Platt")
    x, value = display.line_.get_xydata().T
    assert (x[0], x[-1]) == (scores.min(), scores.max())
    np.testing.assert_array_equal(value, platt.predict_proba(x))
    assert display.ax_.get_xlabel() == "Score"
    assert "Identity" not in display.ax_.get_legend_handles_labels()[1]
    without = CalibratorDisplay.from_estimator(platt)
    assert (without.x[0], without.x[-1]) == (-6, 6)


@pytest.mark.parametrize("calibrator", [BetaCalibration(), PlattScaling(), DirichletCalibration()])
def test_two_columns(calibrator: Any):
    prob, y = sample()
    both = np.c_[1 - prob, prob]
    calibrator.fit(both, y)
    display = CalibratorDisplay.from_estimator(calibrator, both)
    grid = display.x
    np.testing.assert_array_equal(display.y, calibrator.predict_proba(np.c_[1 - grid, grid])[:, 1])
    np.testing.assert_array_equal(display.rug, prob)


def ticks(lines: Any) -> np.ndarray:
    return np.array([segment[0][0] for segment in lines.get_segments()])


def test_the_rug_parts_events_from_others():
    prob, y = sample()
    beta = BetaCalibration().fit(prob, y)
    display = CalibratorDisplay.from_estimator(beta, prob, y)
    above, below = display.rug_
    np.testing.assert_array_equal(ticks(above), prob[y == 1])
    np.testing.assert_array_equal(ticks(below), prob[y == 0])
    assert above.get_segments()[0][0][1] > 0.9 > 0.1 > below.get_segments()[0][1][1]
    together = CalibratorDisplay.from_estimator(beta, prob)
    np.testing.assert_array_equal(ticks(together.rug_[0]), prob)


def test_large_rugs_are_thinned():
    prob, y = sample(5000)
    display = CalibratorDisplay.from_estimator(BetaCalibration().fit(prob, y), prob)
    shown = ticks(display.rug_[0])
    assert len(shown) == 300
    assert (shown[0], shown[-1]) == (prob.min(), prob.max())
    assert np.isin(shown, prob).all()


def test_text_labels():
    prob, y = sample()
    text = np.where(y == 1, "yes", "no")
    display = CalibratorDisplay.from_estimator(BetaCalibration().fit(prob, text), prob, text)
    assert display.ax_.get_ylabel() == "Calibrated probability of 'yes'"
    np.testing.assert_array_equal(display.rug_event, y == 1)


def test_several_maps_on_the_callers_axes():
    prob, y = sample()
    figure, ax = plt.subplots()
    first = CalibratorDisplay.from_estimator(BetaCalibration().fit(prob, y), prob, ax=ax)
    second = CalibratorDisplay.from_estimator(IsotonicCalibration().fit(prob, y), ax=ax, lw=4)
    assert first.ax_ is second.ax_ is ax
    assert first.figure_ is figure
    assert first.line_.get_linestyle() != second.line_.get_linestyle()
    assert second.line_.get_linewidth() == 4
    assert ax.get_title(loc="left") == "Calibration map\nTicks: data"
    assert len([line for line in ax.get_lines() if line.get_label() == "Identity"]) == 1


def test_maps_of_ones_own():
    x, y = np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.3, 0.9])
    display = CalibratorDisplay(x=x, y=y, name="mine").plot()
    np.testing.assert_array_equal(display.line_.get_xydata(), np.c_[x, y])
    assert display.line_.get_label() == "mine"
    assert display.rug_ == []


def test_bad_input():
    prob, y = sample()
    beta = BetaCalibration().fit(prob, y)
    draw = CalibratorDisplay.from_estimator
    remedy = r"draw other maps by CalibratorDisplay\(x=..., y=...\).plot\(\)"
    with pytest.raises(ValueError, match=f"LogisticRegression is not one of the calib.*{remedy}"):
        draw(LogisticRegression())
    with pytest.raises(NotFittedError):
        draw(BetaCalibration())
    with pytest.raises(ValueError, match=r"X\[0\] is 2.0, not a probability"):
        draw(beta, [2.0])
    with pytest.raises(ValueError, match=r"y\[0\] is 7, which is not among the labels"):
        draw(beta, [0.5, 0.6], [7, 1])
    with pytest.raises(ValueError, match="X has 2 rows but y has 1"):
        draw(beta, [0.5, 0.6], [1])
    with pytest.raises(ValueError, match="y is given without X"):
        draw(beta, None, y)
    with pytest.raises(ValueError, match="ax must be a matplotlib Axes"):
        draw(beta, ax="here")
    logits = np.c_[-prob, prob]
    with pytest.raises(ValueError, match="estimator takes two columns of logits"):
        draw(TemperatureScaling().fit(logits, y))
    three = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    with pytest.raises(ValueError, match="estimator is for 3 classes"):
        draw(DirichletCalibration().fit(three, np.arange(60) % 3))
