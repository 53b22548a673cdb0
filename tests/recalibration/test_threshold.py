"""Threshold recalibration: Algorithm 1, its layers, its guarantee and its bad input."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import StratifiedKFold

import calibrant
from calibrant import ThresholdRecalibration, pit, threshold_calibration_error
from calibrant.forecasts import Ensemble, Normal


def fit(forecast, y, sample_weight=None, **options):
    """Fitted without the warning that so few layers do not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        recalibration = ThresholdRecalibration(**options)
        return recalibration.fit(forecast, y, sample_weight=sample_weight)


def test_reference(case, family):
    content, forecast, y = case
    inputs = content["inputs"]
    new = family(inputs["family"])(**inputs["new_params"])
    points = np.array(content["t_grid"])[:, None]
    for block in content["threshold_recalibration"]:
        options = {"tol": block["eps"], "min_group_size": block["min_group"]}
        fitted = fit(forecast, y, max_iter=block["max_layers"], **options)
        assert fitted.n_iter_ == len(block["layers"])
        for found, expected in zip(fitted.history_, block["layers"], strict=True):
            assert (found.n_lower, found.n_upper) == (expected["n_lower"], expected["n_upper"])
            assert found.threshold == pytest.approx(expected["y0"], abs=1e-12)
            assert found.level == pytest.approx(expected["alpha"], abs=1e-12)
            assert found.tce == pytest.approx(expected["tce"], abs=1e-12)
        recalibrated = fitted.transform(new)
        np.testing.assert_array_equal(recalibrated.codes, block["groups_new"])
        found = recalibrated.cdf(points).T
        np.testing.assert_allclose(found, block["cdf_new"], rtol=0, atol=1e-11)
        # Where rounding decides whether two PITs are equal, their targets may be swapped.
        after = np.sort(pit(fitted.transform(forecast), y))
        np.testing.assert_allclose(after, np.sort(block["pit_after"]), rtol=0, atol=4e-3)
        assert np.mean(np.abs(after - np.sort(block["pit_after"])) < 1e-11) > 0.95
        assert fitted.max_tce_ == pytest.approx(block["max_tce_after"], abs=1e-5)
        for n_layers, expected in enumerate(block["cdf_rows"], start=1):
            part = fit(forecast, y, max_iter=n_layers, **options).transform(forecast[:5])
            np.testing.assert_allclose(part.cdf(points).T, expected, rtol=0, atol=1e-11)


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    mu = rng.normal(size=3000)
    return Normal(mu, 1.0), mu + np.where(mu > 0.0, 1.6, 0.5) * rng.standard_t(5, size=3000)


def slow_fit(forecast, y, thresholds, levels, min_group_size, n_layers):
    """Algorithm 1 in the plainest way: chosen cells and PITs."""

    def error(u):
        u, i = np.sort(u), np.arange(1, len(u) + 1)
        h = lambda x: x * np.abs(x) / 2.0  # noqa: E731
        return (h(u - (i - 1) / len(u)) - h(u - i / len(u))).sum()

    u, cdf = forecast.cdf(y), forecast.cdf(thresholds[:, None])
    chosen = []
    for _ in range(n_layers):
        best, cell = -1.0, None
        for j in range(len(thresholds)):
            for level in levels:
                low = cdf[j] <= level
                if min(low.sum(), (~low).sum()) >= min_group_size:
                    tce = error(u[low]) + error(u[~low])
                    if tce > best + 1e-13:
                        best, cell = tce, (j, level)
        low = cdf[cell[0]] <= cell[1]
        for rows in (low, ~low):
            ranks = np.arange(1, rows.sum() + 1) / (rows.sum() + 1)
            distinct, place = np.unique(np.sort(u[rows]), return_inverse=True)
            targets = np.bincount(place, ranks) / np.bincount(place)
            knots, values = np.pad(distinct, 1), np.pad(targets, 1)
            knots[-1] = values[-1] = 1.0
            u[rows] = np.interp(u[rows], knots, values)
            cdf[:, rows] = np.interp(cdf[:, rows], knots, values)
        chosen.append((thresholds[cell[0]], cell[1], best))
    return chosen, u


def test_is_algorithm_1(sample):
    forecast, y = sample[0][:400], sample[1][:400]
    thresholds, levels = np.linspace(-1.0, 1.0, 9), np.linspace(0.1, 0.9, 7)
    chosen, pits = slow_fit(forecast, y, thresholds, levels, 40, 6)
    fitted = fit(
        forecast, y, thresholds=thresholds, levels=levels, min_group_size=40, tol=0.0, max_iter=6
    )
    found = [(layer.threshold, layer.level, layer.tce) for layer in fitted.history_]
    np.testing.assert_allclose(found, chosen, rtol=0, atol=1e-12)
    np.testing.assert_allclose(pit(fitted.transform(forecast), y), pits, rtol=0, atol=1e-12)


def test_reached_error_is_at_most_tol(sample):
    forecast, y = sample
    fitted = ThresholdRecalibration(tol=0.05, max_iter=50).fit(forecast, y)
    assert fitted.converged_
    assert fitted.max_tce_ <= 0.05 < fitted.history_[-1].tce
    after = threshold_calibration_error(fitted.transform(forecast), y)
    assert after.max == pytest.approx(fitted.max_tce_, abs=1e-12)
    assert after.max < 0.3 * threshold_calibration_error(forecast, y).max


def test_history_tells_the_error_before_each_layer(sample):
    forecast, y = sample
    fitted = fit(forecast, y, tol=0.0, max_iter=3)
    for n_layers, layer in enumerate(fitted.history_):
        before = fit(forecast, y, tol=0.0, max_iter=n_layers).transform(forecast)
        surface = threshold_calibration_error(before, y)
        assert layer.tce == pytest.approx(surface.max, abs=1e-12)
        assert layer.n_lower + layer.n_upper == 3000


def test_calibrated_forecasts_stay_as_they_are(sample):
    rng = np.random.default_rng(1)
    forecast = Normal(rng.normal(size=5000), 1.0)
    y = rng.normal(forecast.mu)
    fitted = ThresholdRecalibration(tol=0.1).fit(forecast, y)
    assert (fitted.n_iter_, fitted.converged_, fitted.history_) == (0, True, [])
    np.testing.assert_array_equal(fitted.transform(forecast).cdf(y), forecast.cdf(y))
    assert fitted.transform(forecast).mean() == pytest.approx(forecast.mean(), abs=1e-9)


@settings(max_examples=15)
@given(st.integers(0, 10**6))
@example(1532)  # a tie
def test_weights_are_repeated_rows_and_order_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    forecast = Ensemble(rng.integers(-3, 4, size=(60, 6)) / 2.0)
    y, weight = rng.integers(-3, 4, size=60) / 2.0, rng.integers(0, 4, size=60)
    rows = rng.permutation(np.repeat(np.arange(60), weight))
    options = {"tol": 0.0, "max_iter": 3, "min_group_size": 5, "thresholds": 7}
    weighted = fit(forecast, y, weight, **options)
    repeated = fit(forecast[rows], y[rows], **options)
    for one, other in zip(weighted.history_, repeated.history_, strict=True):
        assert one.tce == pytest.approx(other.tce, abs=1e-12)
        if (one.threshold, one.level) != (other.threshold, other.level):
            return  # two cells have the largest error, and rounding chooses
        assert one == replace(other, tce=one.tce)
    points = np.linspace(-2.0, 2.0, 9)[:, None]
    np.testing.assert_allclose(
        weighted.transform(forecast).cdf(points), repeated.transform(forecast).cdf(points),
        atol=1e-12,
    )  # fmt: skip


def test_same_on_one_processor(sample, monkeypatch):
    forecast, y = sample
    fitted = fit(forecast, y, tol=0.0, max_iter=4)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0}, raising=False)
    alone = fit(forecast, y, tol=0.0, max_iter=4)
    assert fitted.history_ == alone.history_
    np.testing.assert_array_equal(
        fitted.transform(forecast).cdf(y), alone.transform(forecast).cdf(y)
    )


def test_saved_and_loaded(sample, tmp_path):
    forecast, y = sample
    fitted = fit(forecast, y, tol=0.0, max_iter=3)
    fitted.save(tmp_path / "map.json")
    read = calibrant.load(tmp_path / "map.json")
    np.testing.assert_array_equal(
        read.transform(forecast).cdf(y), fitted.transform(forecast).cdf(y)
    )
    assert (read.n_iter_, read.converged_) == (3, False)
    assert clone(read).get_params() == fitted.get_params()


def test_progress_counts_layers(sample):
    calls = []
    fit(*sample, tol=0.0, max_iter=3, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_progress_does_not_hinder_saving(sample, tmp_path):
    fitted = fit(*sample, max_iter=1, progress=print)
    fitted.save(tmp_path / "map.json")
    assert calibrant.load(tmp_path / "map.json").progress is None


def test_warns_when_not_converged(sample):
    with pytest.warns(ConvergenceWarning, match=r"after 2 layers .* above tol=0: raise max_iter"):
        fitted = ThresholdRecalibration(tol=0.0, max_iter=2).fit(*sample)
    assert not fitted.converged_


def test_warns_when_no_groups_are_large_enough():
    forecast = Normal(np.zeros(100), 1.0)
    with pytest.warns(UserWarning, match="no threshold and level divides the rows"):
        fitted = ThresholdRecalibration().fit(forecast, np.linspace(-1.0, 1.0, 100))
    assert fitted.n_iter_ == 0
    assert np.isnan(fitted.max_tce_)


def test_a_fit_without_groups_can_be_saved(tmp_path):
    forecast = Normal(np.zeros(100), 1.0)
    with pytest.warns(UserWarning, match="no threshold and level"):
        fitted = ThresholdRecalibration().fit(forecast, np.linspace(-1.0, 1.0, 100))
    fitted.save(tmp_path / "map.json")
    same = calibrant.load(tmp_path / "map.json").transform(forecast)
    np.testing.assert_array_equal(same.cdf(0.3), forecast.cdf(0.3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": -0.1}, "tol must be None or a finite number of at least 0, got -0.1"),
        ({"tol": "small"}, "tol must be None or"),
        ({"max_iter": 2.5}, "max_iter must be an integer of at least 0, got 2.5"),
        ({"thresholds": 0}, "thresholds must be a number of at least 1"),
        ({"levels": [2.0]}, r"levels\[0\] is 2.0"),
        ({"min_group_size": "a"}, "min_group_size must be None or a number"),
        ({"pit": "x"}, "pit must be 'value' or"),
        ({"early_stopping": "yes"}, "early_stopping must be true or false"),
        ({"early_stopping": True, "cv": 1}, "cv=1 folds of 3000 rows cannot be made"),
        ({"early_stopping": True, "cv": []}, "cv has no folds"),
        ({"early_stopping": True, "cv": [1, 2]}, "cv gives no splits of 3000 rows"),
        ({"early_stopping": True, "cv": StratifiedKFold(3)}, "cv gives no splits of 3000 rows"),
        ({"early_stopping": True, "cv": [([], [1])]}, "fold 0 of cv has no rows to fit on"),
        (
            {"early_stopping": True, "cv": [([1], [9000])]},
            "fold 0 of cv names row 9000, but the rows are 0 to 2999",
        ),
        (
            {"early_stopping": True, "cv": [([0, 1], [1, 2])]},
            "fold 0 of cv trains on row 1, which it also holds out",
        ),
        ({"early_stopping": True, "random_state": -1}, "random_state must be None"),
    ],
)
def test_bad_parameters(sample, options, message):
    with pytest.raises(ValueError, match=message):
        ThresholdRecalibration(**options).fit(*sample)


def test_unfitted():
    with pytest.raises(NotFittedError):
        ThresholdRecalibration().transform(Normal([0.0], 1.0))


def test_weights_that_are_shares_of_a_whole_are_refused(sample):
    forecast, y = sample
    with pytest.raises(ValueError, match=r"sample_weight sums to 1 for 3000 rows .* mean of one"):
        ThresholdRecalibration().fit(forecast, y, sample_weight=np.full(3000, 1 / 3000))
    with pytest.raises(ValueError, match="sample_weight sums to 1 for"):
        threshold_calibration_error(forecast, y, sample_weight=np.full(3000, 1 / 3000))


def test_given_splits_do_not_go_with_rows_that_are_left_out(sample):
    forecast, y = sample
    halves = [(np.arange(1500), np.arange(1500, 3000))]
    weight = np.arange(3000) > 10
    with pytest.raises(ValueError, match="rows of weight zero are left out"):
        ThresholdRecalibration(early_stopping=True, cv=halves).fit(
            forecast, y, sample_weight=weight
        )


@pytest.mark.parametrize("wrong", [1.5, -0.1, np.nan])
def test_cdfs_that_are_none_are_refused(wrong, sample):
    class Wrong(Normal):
        def cdf(self, y):
            found = super().cdf(y)
            found[..., 2] = wrong
            return found

    forecast = Wrong(sample[0].mu[:300], 1.0)
    with pytest.raises(ValueError, match=r"cdf of forecast 2 is .*, not a probability"):
        ThresholdRecalibration().fit(forecast, sample[1][:300])
    fitted = fit(sample[0], sample[1], max_iter=1, tol=0.0)
    with pytest.raises(ValueError, match="not a probability"):
        fitted.transform(forecast).cdf(0.0)
    with pytest.raises(ValueError, match="not a probability"):
        pit(forecast, sample[1][:300])
