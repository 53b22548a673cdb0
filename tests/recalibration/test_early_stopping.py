"""Early stopping: the number of layers that helps on rows that were not fitted."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold

from calibrant import (
    AverageRecalibration,
    ThresholdLoss,
    ThresholdRecalibration,
    reliability_gap,
)
from calibrant.forecasts import Normal

from .test_threshold import fit


def sample(n, kind, seed=0):
    rng = np.random.default_rng(seed)
    mu = rng.normal(size=n)
    scale = {"calibrated": 1.0, "wide": 0.4, "uneven": np.where(mu > 0.0, 2.0, 0.4)}[kind]
    return Normal(mu, 1.0), mu + scale * rng.normal(size=n)


def held_out_gaps(forecast, y, cv, max_iter, grid):
    """The documented yardstick, by refitting every number of layers on every fold."""
    ratios = np.linspace(0.0, 1.0, 2001)

    def mean_gap(new, outcomes):
        thresholds, levels = grid["thresholds"], grid["levels"]
        cdf = new.cdf(thresholds[:, None])
        r = (outcomes <= thresholds[:, None]) - cdf
        acts = cdf[:, None, :] >= levels[:, None]
        a, b = (acts * r[:, None]).mean(-1), -(~acts * r[:, None]).mean(-1)
        gaps = np.abs(ratios * a[..., None] + (1.0 - ratios) * b[..., None])
        return np.trapezoid(gaps, ratios).mean()

    layered, average = np.zeros(max_iter + 1), 0.0
    folds = list(cv.split(y))
    for train, test in folds:
        for k in range(max_iter + 1):
            fitted = fit(forecast[train], y[train], max_iter=k, **grid)
            layered[k] += mean_gap(fitted.transform(forecast[test]), y[test]) / len(folds)
        one_map = AverageRecalibration().fit(forecast[train], y[train])
        average += mean_gap(one_map.transform(forecast[test]), y[test]) / len(folds)
    return layered, average


def test_gaps_are_those_of_refitting_on_every_fold():
    forecast, y = sample(500, "uneven")
    grid = {
        "thresholds": np.linspace(-1.0, 1.0, 5),
        "levels": np.linspace(0.2, 0.8, 4),
        "min_group_size": 30,
        "tol": 0.02,
    }
    cv = KFold(4, shuffle=True, random_state=3)
    fitted = fit(forecast, y, early_stopping=True, cv=cv, max_iter=4, **grid)
    layers, average = held_out_gaps(forecast, y, cv, 4, grid)
    expected = [layers[0], average, *layers[1:]]
    np.testing.assert_allclose(fitted.cv_gaps_, expected, atol=1e-6)
    assert fitted.n_iter_ == np.argmin(expected) - 1 > 0


def test_chooses_the_average_map_where_rows_cannot_be_divided():
    y = 0.4 * np.random.default_rng(0).normal(size=400)
    forecast = Normal(np.zeros(400), 1.0)
    fitted = ThresholdRecalibration(early_stopping=True, random_state=0)
    with pytest.warns(UserWarning, match="no threshold and level"):
        fitted.fit(forecast, y)
    assert np.argmin(fitted.cv_gaps_) == 1
    assert [layer.level for layer in fitted.history_] == [1.0]
    average = AverageRecalibration().fit(forecast, y).transform(forecast)
    np.testing.assert_allclose(fitted.transform(forecast).cdf(y), average.cdf(y), atol=1e-15)


def test_mostly_chooses_nothing_where_nothing_is_wrong():
    chosen = []
    for seed in range(20):
        forecast, y = sample(400, "calibrated", seed)
        fitted = ThresholdRecalibration(early_stopping=True, tol=0.0, random_state=0)
        chosen.append(fitted.fit(forecast, y).n_iter_)
    assert np.mean(np.array(chosen) == 0) > 0.5


@pytest.mark.parametrize("kind", ["calibrated", "wide", "uneven"])
def test_held_out_reliability_is_not_made_worse(kind):
    losses = [ThresholdLoss.from_cost_ratio(t, 0.5) for t in (-1.0, 0.0, 1.0)]
    before, after = [], []
    for seed in range(5):
        forecast, y = sample(1200, kind, seed)
        new, y_new = sample(20_000, kind, 100 + seed)
        fitted = ThresholdRecalibration(early_stopping=True, random_state=seed).fit(forecast, y)
        before.append(np.mean(reliability_gap(new, y_new, losses)))
        after.append(np.mean(reliability_gap(fitted.transform(new), y_new, losses)))
    assert np.mean(after) <= np.mean(before) + 1e-12 or np.mean(after) < 0.05
    if kind != "calibrated":
        assert np.mean(after) < 0.6 * np.mean(before)


def test_same_seed_same_folds():
    forecast, y = sample(600, "uneven")
    gaps = [fit(forecast, y, early_stopping=True, random_state=seed).cv_gaps_ for seed in (0, 0, 1)]
    np.testing.assert_array_equal(gaps[0], gaps[1])
    assert (gaps[0] != gaps[2]).any()


def test_progress_counts_folds():
    calls = []
    forecast, y = sample(300, "wide")
    fit(
        forecast, y, early_stopping=True, cv=3,
        progress=lambda done, total: calls.append((done, total)),
    )  # fmt: skip
    assert calls == [(1, 3), (2, 3), (3, 3)]
