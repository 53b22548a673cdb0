"""Decision curves against counting by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt

from calibrant import PlattScaling
from calibrant.displays import DecisionCurveDisplay


def sample(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    prob = np.round(rng.random(n), 2)  # ties with thresholds
    return (rng.random(n) < prob).astype(int), prob


def by_hand(y: np.ndarray, prob: np.ndarray, t: float) -> tuple[float, float]:
    acts = prob >= t
    true, false = np.mean(acts & (y == 1)), np.mean(acts & (y == 0))
    missed = np.mean(~acts & (y == 1))
    return float(true - false * t / (1 - t)), float(t * false + (1 - t) * missed)


def test_net_benefit_and_cost_are_those_of_counting():
    y, prob = sample()
    display = DecisionCurveDisplay.from_predictions(y, prob)
    expected = np.array([by_hand(y, prob, t) for t in display.thresholds])
    np.testing.assert_allclose(display.net_benefit, expected[:, 0], atol=1e-12)
    np.testing.assert_allclose(display.cost, expected[:, 1], atol=1e-12)
    np.testing.assert_array_equal(display.thresholds, np.arange(1, 100) / 100)


@pytest.mark.parametrize("measure", ["net_benefit", "cost"])
def test_lines_are_the_values(measure: str):
    y, prob = sample()
    display = DecisionCurveDisplay.from_predictions(y, prob, measure=measure)
    values = getattr(display, measure)
    np.testing.assert_array_equal(display.line_.get_xydata(), np.c_[display.thresholds, values])
    lines = {line.get_label(): line.get_ydata() for line in display.ax_.get_lines()}
    everyone, nobody = (
        [by_hand(y, np.full(len(y), p), t)[measure == "cost"] for t in display.thresholds]
        for p in (1.0, 0.0)
    )
    np.testing.assert_allclose(lines["Treat all"], everyone, atol=1e-12)
    np.testing.assert_allclose(lines["Treat none"], nobody, atol=1e-12)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 10)), min_size=1, max_size=30))
@example([(False, 3), (False, 7)])
@example([(True, 3), (True, 7)])
@example([(False, 1)] * 11 + [(False, 10), (True, 0)])  # nothing but harm
def test_net_benefit_is_what_cost_saves(rows: list[tuple[bool, int]]):
    y, prob = np.array([r[0] for r in rows]), np.array([r[1] / 10 for r in rows])
    _, ax = plt.subplots()
    display = DecisionCurveDisplay.from_predictions(y, prob, ax=ax)
    t = display.thresholds
    saved = (1 - t) * display.prevalence - display.cost
    np.testing.assert_allclose(display.net_benefit, saved / (1 - t), atol=1e-10)
    low, high = ax.get_ylim()
    assert low < 0.0 < high
    assert low < display.net_benefit.max() < high
    plt.close("all")


def test_outcomes_without_an_event():
    display = DecisionCurveDisplay.from_predictions([0, 0, 0, 0], [0.1, 0.3, 0.6, 0.8])
    assert display.prevalence == 0.0
    low, high = display.ax_.get_ylim()
    assert display.net_benefit.min() == pytest.approx(-1.0)
    assert low < -1.0 < 0.0 < high < -low
    display.plot(measure="cost")


def test_integer_weights_repeat_rows():
    y, prob = sample(50)
    weight = np.random.default_rng(1).integers(0, 3, 50)
    weighted = DecisionCurveDisplay.from_predictions(y, prob, sample_weight=weight)
    repeated = DecisionCurveDisplay.from_predictions(np.repeat(y, weight), np.repeat(prob, weight))
    np.testing.assert_allclose(weighted.net_benefit, repeated.net_benefit, atol=1e-12)


def test_single_precision():
    y, prob = sample()
    double = prob.astype(np.float32).astype(np.float64)
    single = DecisionCurveDisplay.from_predictions(y, prob.astype(np.float32))
    np.testing.assert_allclose(
        single.net_benefit, DecisionCurveDisplay.from_predictions(y, double).net_benefit
    )


def test_several_models_share_the_reference_lines():
    y, prob = sample()
    first = DecisionCurveDisplay.from_predictions(y, prob, name="raw")
    second = DecisionCurveDisplay.from_predictions(y, prob**2, name="squared", ax=first.ax_)
    texts = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert texts == ["raw", "squared", "Treat all", "Treat none"]
    assert first.line_.get_color() != second.line_.get_color()
    assert first.line_.get_linestyle() != second.line_.get_linestyle()


def test_labels_and_estimators():
    y, prob = sample()
    text = np.where(y == 1, "yes", "no")
    plain = DecisionCurveDisplay.from_predictions(y, prob)
    named = DecisionCurveDisplay.from_predictions(text, prob, pos_label="yes")
    np.testing.assert_array_equal(named.net_benefit, plain.net_benefit)
    platt = PlattScaling().fit(prob, text)
    fitted = DecisionCurveDisplay.from_estimator(platt, prob, text)
    expected = DecisionCurveDisplay.from_predictions(y, platt.predict_proba(prob))
    np.testing.assert_array_equal(fitted.net_benefit, expected.net_benefit)
    assert fitted.line_.get_label() == "PlattScaling"
    with pytest.raises(ValueError, match="estimator dict has no predict_proba"):
        DecisionCurveDisplay.from_estimator({}, prob, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "benefit"}, "measure must be 'net_benefit' or 'cost', got 'benefit'"),
        ({"thresholds": [0.5, 1.0]}, r"thresholds\[1\] is 1.0: thresholds are between 0 and 1"),
        ({"thresholds": [0.5, 1.5]}, r"thresholds\[1\] is 1.5, not a probability"),
        ({"thresholds": 0.5}, r"thresholds has shape \(\)"),
        ({"thresholds": []}, r"thresholds has shape \(0,\)"),
        ({"ax": 0}, "ax must be a matplotlib Axes, got int"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        DecisionCurveDisplay.from_predictions(*sample(), **options)


def test_two_classes_only():
    with pytest.raises(ValueError, match="y_prob has 3 columns: decision curves are for two"):
        DecisionCurveDisplay.from_predictions([0, 1, 2], np.full((3, 3), 1 / 3))
