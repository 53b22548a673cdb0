"""Weights are of importance: their scale has no say, and uneven ones amount to fewer rows."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from calibrant import average_calibration_error
from calibrant.forecasts import Normal
from calibrant.reporting import forecast_report, report


def number(value: float) -> str:
    return format(value, ".2g" if 0 < abs(value) < 0.001 else ".4f")


def pvalue(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


@pytest.fixture(scope="module")
def classes():
    """Labels, probabilities that are 0.04 too high, uneven weights and groups."""
    rng = np.random.default_rng(0)
    prob = rng.uniform(0.1, 0.9, 400)
    y = rng.random(400) < prob - 0.04
    return y, prob, rng.gamma(0.7, size=400), rng.choice(["a", "b", "c"], 400)


@pytest.fixture(scope="module")
def classes_report(classes):
    y, prob, weight, by = classes
    return report(y, prob, sample_weight=weight, by=by, n_resamples=19)


@pytest.fixture(scope="module")
def outcomes():
    """Forecasts, outcomes that are 0.2 higher, uneven weights and groups."""
    rng = np.random.default_rng(1)
    mu = rng.normal(size=300)
    y = mu + 0.2 + rng.normal(size=300)
    return Normal(mu, 1.0), y, rng.gamma(0.7, size=300), rng.choice(["a", "b", "c"], 300)


@pytest.fixture(scope="module")
def outcomes_report(outcomes):
    forecast, y, weight, by = outcomes
    return forecast_report(forecast, y, sample_weight=weight, by=by, n_resamples=19)


def test_scale_of_weights_changes_nothing(classes, classes_report, page):
    y, prob, weight, by = classes
    found = report(y, prob, sample_weight=weight / weight.sum(), by=by, n_resamples=19)
    assert found.verdict == classes_report.verdict
    assert page(found.html).tables == page(classes_report.html).tables


def test_scale_of_weights_changes_nothing_about_forecasts(outcomes, outcomes_report, page):
    forecast, y, weight, by = outcomes
    found = forecast_report(forecast, y, sample_weight=weight / weight.sum(), by=by, n_resamples=19)
    assert found.verdict == outcomes_report.verdict
    assert page(found.html).tables == page(outcomes_report.html).tables


def test_whole_weights_are_of_importance_too(page):
    y, prob = [1, 0, 0, 0] * 25, [0.5] * 100
    plain, thousand = (
        report(y, prob, sample_weight=np.full(100, weight), n_resamples=9).verdict
        for weight in (1, 1000)
    )
    assert plain == thousand


def test_groups_are_tested_by_their_weighted_mean_gap(classes, classes_report, page):
    y, prob, weight, by = classes
    expected = {}
    for name in "abc":
        surplus = variance = 0.0
        for happened, p, w, group in zip(y, prob, weight, by, strict=True):
            if group == name:
                surplus += w * (happened - p)
                variance += w * w * p * (1.0 - p)
        expected[name] = 2.0 * NormalDist().cdf(-abs(surplus) / variance**0.5)
    rows = page(classes_report.html).tables["Groups"][1:]
    found = {row[0].split()[0]: row[7] for row in rows}
    assert found == {name: pvalue(p) for name, p in expected.items()}
    assert len({*found.values()} - {"< 0.001"}) > 1


def slow_kolmogorov(pits, weight) -> float:
    """The largest distance on either side of every PIT, scaled by Kish's number of rows."""
    total = weight.sum()
    distance = 0.0
    for at in pits:
        below = sum(w for u, w in zip(pits, weight, strict=True) if u < at) / total
        upto = sum(w for u, w in zip(pits, weight, strict=True) if u <= at) / total
        distance = max(distance, abs(below - at), abs(upto - at))
    return float(stats.kstwobign.sf(distance * np.sqrt(total**2 / (weight**2).sum())))


def test_weighted_kolmogorov_and_holm(outcomes, outcomes_report, page):
    forecast, y, weight, by = outcomes
    pits = stats.norm.cdf(y - forecast.mu)
    assert f"p = {slow_kolmogorov(pits, weight):.3f}." in outcomes_report.html
    expected = {name: slow_kolmogorov(pits[by == name], weight[by == name]) for name in "abc"}
    reached, adjusted = 0.0, {}
    for rank, name in enumerate(sorted(expected, key=expected.__getitem__)):
        reached = max(reached, min(1.0, (3 - rank) * expected[name]))
        adjusted[name] = reached
    rows = page(outcomes_report.html).tables["Groups"][1:]
    found = {row[0].split()[0]: row[7:] for row in rows}
    assert found == {name: [pvalue(expected[name]), pvalue(adjusted[name])] for name in "abc"}
    assert 0.001 < min(expected.values()) < max(expected.values()) < 0.9
    for row in rows:
        own = by == row[0].split()[0]
        chance = np.sqrt(np.pi / 32.0 * (weight[own] ** 2).sum()) / weight[own].sum()
        assert row[6] == number(chance)
        assert row[4] == number(
            average_calibration_error(forecast[own], y[own], sample_weight=weight[own])
        )


def test_facts_count_weights():
    y = np.arange(1.0, 60.0)
    weight = np.where(y <= 10, 1000.0, 1e-6)
    found = forecast_report(Normal(y, 1.0), y, sample_weight=weight, n_resamples=9)
    middle, low, high = (
        float(found.html.partition(before)[2].split()[0].rstrip("</p>"))
        for before in ("outcomes of ", "nine of ten from ", "nine of ten from 1 to ")
    )
    assert low == 1.0
    assert 4.0 <= middle <= 7.0
    assert high <= 11.0
