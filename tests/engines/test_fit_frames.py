"""Calibrators fitted to frames are those fitted to arrays, in every engine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from calibrant import (
    BetaCalibration,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from calibrant.calibrators.base import Calibrator
from calibrant.engines import pooling

Maker = Callable[[pl.DataFrame], Any]

Z, Q, PAIR = ["z0", "z1", "z2"], ["q0", "q1", "q2"], ["not p", "p"]


@functools.cache
def data() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    n = 400
    prob = np.where(rng.random(n) < 0.5, rng.integers(0, 11, n) / 10, rng.random(n))
    score = 3 * rng.normal(size=n)
    logits = 2 * rng.normal(size=(n, 3))
    matrix = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    codes = [rng.choice(3, p=row) for row in np.sqrt(matrix) / np.sqrt(matrix).sum(1)[:, None]]
    return pl.DataFrame(
        {
            "p": prob,
            "not p": 1 - prob,
            "y": (rng.random(n) < prob**2).astype(int),
            "s": score,
            "event": np.where(rng.random(n) < 1 / (1 + np.exp(-score / 2)), "yes", "no"),
            "k": codes,
            "b": logits[:, 1] + 3 * rng.normal(size=n) > logits[:, 0],
            "w": rng.integers(0, 4, n),
            "v": rng.random(n),
            **{name: logits[:, k] for k, name in enumerate(Z)},
            **{name: matrix[:, k] for k, name in enumerate(Q)},
        }
    )


CASES: dict[str, tuple[Calibrator, str | list[str], str]] = {
    "platt": (PlattScaling(), "s", "event"),
    "platt of two": (PlattScaling(), PAIR, "y"),
    "beta": (BetaCalibration(), "p", "y"),
    "monotone": (BetaCalibration(constraint="monotone"), "not p", "y"),
    "temperature": (TemperatureScaling(), "s", "event"),
    "temperature of a probability": (TemperatureScaling(input="probability"), "p", "y"),
    "temperature of two": (TemperatureScaling(), ["z0", "z1"], "b"),
    "temperature of three": (TemperatureScaling(), Z, "k"),
    "temperature of probabilities": (TemperatureScaling(input="probability"), Q, "k"),
    "vector": (VectorScaling(), Z, "k"),
    "vector of probabilities": (VectorScaling(input="probability"), Q, "k"),
    "histogram": (HistogramBinning(), "p", "y"),
    "quantile": (HistogramBinning(strategy="quantile"), "p", "y"),
    "isotonic": (IsotonicCalibration(), "p", "y"),
    "one-vs-rest": (OneVsRest(PlattScaling()), Q, "k"),
    "one-vs-rest isotonic": (OneVsRest(IsotonicCalibration()), Q, "k"),
}

ATTRIBUTES = [
    "classes_",
    "n_features_in_",
    "loss_",
    "converged_",
    "intercept_",
    "slope_",
    "target_positive_",
    "target_negative_",
    "a_",
    "b_",
    "c_",
    "temperature_",
    "scale_",
    "bias_",
    "bin_edges_",
    "bin_values_",
    "bin_weights_",
    "global_rate_",
    "X_thresholds_",
    "y_thresholds_",
]


def values_of(rows: pl.DataFrame, prob: str | list[str]) -> np.ndarray:
    return rows[prob].to_numpy() if isinstance(prob, str) else rows.select(prob).to_numpy()


def check(name: str, make: Maker, weight: str | None = None) -> None:
    base, prob, y = CASES[name]
    rows = data()
    X = values_of(rows, prob)
    sample_weight = None if weight is None else rows[weight].to_numpy()
    expected = clone(base).fit(X, rows[y].to_list(), sample_weight=sample_weight)
    got = clone(base).fit_frame(make(rows), y=y, prob=prob, sample_weight=weight)
    for attribute in ATTRIBUTES:
        if hasattr(expected, attribute):
            one, other = getattr(got, attribute), getattr(expected, attribute)
            if attribute == "classes_":
                assert one.tolist() == other.tolist()
            else:
                np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-12, err_msg=attribute)
    np.testing.assert_allclose(got.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("weight", [None, "w", "v"])
@pytest.mark.parametrize("name", CASES)
def test_polars(name: str, weight: str | None) -> None:
    if (name, weight) == ("quantile", "v"):
        pytest.skip("whole-number weights only")
    check(name, pl.DataFrame.lazy, weight)


@pytest.mark.parametrize("name", ["beta", "temperature of three", "vector", "quantile", "isotonic"])
@pytest.mark.parametrize("local_backend", ["pandas", "pyarrow", "duckdb"], indirect=True)
def test_other_engines(name: str, local_backend: Maker) -> None:
    check(name, local_backend, "w")


@pytest.mark.parametrize("name", ["platt", "histogram", "isotonic"])
@pytest.mark.parametrize("local_backend", ["dask"], indirect=True)
def test_dask(name: str, local_backend: Maker) -> None:
    check(name, local_backend, "w")


@pytest.mark.parametrize("name", ["isotonic", "temperature"])
def test_spark(name: str, spark: Any) -> None:
    check(name, lambda rows: spark.createDataFrame(rows.to_arrow()))


@given(
    points=st.lists(
        st.tuples(
            st.one_of(st.floats(0, 1), st.sampled_from([0.0, -0.0, 0.5, 1e-300, 1.0])),
            st.booleans(),
            st.integers(0, 2),
        ),
        min_size=2,
        max_size=60,
    ),
    limit=st.integers(2, 20),
)
@example([(0.0, False, 0), (0.0, False, 1), (1e-300, False, 1), (1e-300, True, 1)], 2)
@settings(max_examples=40)
def test_isotonic_range_by_range_is_exact(
    points: list[tuple[float, bool, int]], limit: int
) -> None:
    prob, y, weight = zip(*[*points, (0.25, False, 1), (0.75, True, 1)], strict=True)
    rows = pl.LazyFrame({"p": prob, "y": y, "w": weight})
    expected = IsotonicCalibration().fit(prob, y, sample_weight=weight)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooling, "_MANY_ROWS", limit)
        got = IsotonicCalibration().fit_frame(rows, y="y", prob="p", sample_weight="w")
    grid = np.concatenate([prob, np.linspace(0, 1, 101)])
    np.testing.assert_allclose(got.predict_proba(grid), expected.predict_proba(grid), atol=1e-12)


def test_isotonic_range_by_range_with_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    # Most rows in one cell of the first grid, and one value that is more than a range by itself.
    prob = np.where(rng.random(30_000) < 0.7, rng.random(30_000) * 1e-9, rng.random(30_000))
    prob[:5_000] = 0.125
    y = rng.random(30_000) < np.sqrt(prob)
    monkeypatch.setattr(pooling, "_MANY_ROWS", 1_000)
    rows = pl.LazyFrame({"p": prob, "y": y})
    got = IsotonicCalibration().fit_frame(rows, y="y", prob="p")
    expected = IsotonicCalibration().fit(prob, y)
    np.testing.assert_array_equal(got.X_thresholds_, expected.X_thresholds_)
    np.testing.assert_array_equal(got.y_thresholds_, expected.y_thresholds_)


def both(base: Calibrator, X: Any, y: Any, match: str, category: type[Warning]) -> None:
    """The same warning and predictions from a frame."""
    with pytest.warns(category, match=match):
        expected = clone(base).fit(X, y)
    with pytest.warns(category, match=match):
        got = clone(base).fit_frame(pl.LazyFrame({"x": X, "y": y}), y="y", prob="x")
    np.testing.assert_allclose(got.predict_proba(X), expected.predict_proba(X), atol=1e-8)
    assert getattr(got, "converged_", True) == getattr(expected, "converged_", True)


def test_special_cases_are_those_of_arrays() -> None:
    flat, y = [0.3] * 6, [0, 1, 1, 0, 1, 1]
    both(PlattScaling(), flat, y, "all scores are equal", UserWarning)
    both(BetaCalibration(), flat, y, "all probabilities are equal", UserWarning)
    both(
        TemperatureScaling(input="probability"), [0.5] * 6, y, "no row prefers a class", UserWarning
    )
    apart, steps = [0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [0, 0, 0, 1, 1, 1]
    both(BetaCalibration(), apart, steps, "no finite optimum", ConvergenceWarning)
    both(TemperatureScaling(input="probability"), apart, steps, "lower bound", ConvergenceWarning)
    platt = PlattScaling().fit_frame(pl.DataFrame({"x": apart, "y": steps}), y="y", prob="x")
    assert platt.slope_ == pytest.approx(PlattScaling().fit(apart, steps).slope_, rel=1e-8)


def test_extreme_scores() -> None:
    for scale in (1e-300, 1e5, 1e300):
        X, y = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 3.0]) * scale, [0, 0, 1, 0, 1, 1]
        got = PlattScaling().fit_frame(pl.LazyFrame({"x": X, "y": y}), y="y", prob="x")
        expected = PlattScaling().fit(X, y)
        np.testing.assert_allclose(got.predict_proba(X), expected.predict_proba(X), rtol=1e-8)


def test_labels_and_the_positive_label() -> None:
    rows = data().lazy()
    named = PlattScaling().fit_frame(rows, y="event", prob="s", pos_label="no")
    listed = PlattScaling().fit_frame(rows, y="event", prob="s", labels=["yes", "no"])
    assert named.classes_.tolist() == listed.classes_.tolist() == ["yes", "no"]
    assert named.slope_ < 0
    assert named.slope_ == pytest.approx(listed.slope_)


@pytest.mark.parametrize("local_backend", ["pandas", "polars lazy", "duckdb"], indirect=True)
def test_errors_of_bad_data(local_backend: Maker) -> None:
    def fit(calibrator: Calibrator, p: Any, y: Any, w: Any = None) -> None:
        rows = pl.DataFrame({"p": p, "y": y, "w": [1.0] * len(y) if w is None else w})
        calibrator.fit_frame(local_backend(rows), y="y", prob="p", sample_weight="w")

    with pytest.raises(ValueError, match=r"frame\['p'\] is no probability in 1 row, such as 1.5"):
        fit(BetaCalibration(), [0.5, 1.5, 0.2], [0, 1, 1])
    with pytest.raises(ValueError, match=r"frame\['p'\] is no score in 1 row"):
        fit(PlattScaling(), [0.5, float("inf"), 0.2], [0, 1, 1])
    with pytest.raises(ValueError, match="is no weight in 1 row, such as -1.0"):
        fit(IsotonicCalibration(), [0.5, 0.1, 0.2], [0, 1, 1], [1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match="zero in every row"):
        fit(IsotonicCalibration(), [0.5, 0.1], [0, 1], [0.0, 0.0])
    with pytest.raises(ValueError, match="missing in some rows"):
        fit(IsotonicCalibration(), [0.5, 0.1, 0.2], ["a", None, "b"])
    with pytest.raises(ValueError, match="needs both classes"):
        fit(IsotonicCalibration(), [0.5, 0.1, 0.2], [0, 1, 0], [1.0, 0.0, 1.0])


def test_errors_of_what_cannot_be_fitted() -> None:
    rows = data().lazy()
    with pytest.raises(ValueError, match="DirichletCalibration cannot be fitted by sums"):
        DirichletCalibration().fit_frame(rows, y="k", prob=Q)
    with pytest.raises(ValueError, match="needs a column for each class"):
        VectorScaling().fit_frame(rows, y="k", prob="p")
    with pytest.raises(ValueError, match="is for two classes"):
        PlattScaling().fit_frame(rows, y="k", prob=Z)
    with pytest.raises(ValueError, match="has no column 'r'"):
        PlattScaling().fit_frame(rows, y="y", prob="r")
    with pytest.raises(ValueError, match="labels= or pos_label=, not both"):
        PlattScaling().fit_frame(rows, y="y", prob="p", labels=[0, 1], pos_label=1)
    with pytest.raises(ValueError, match="pos_label=2 must be one of two labels"):
        PlattScaling().fit_frame(rows, y="y", prob="p", pos_label=2)
    with pytest.raises(ValueError, match="do not sum to one"):
        TemperatureScaling(input="probability").fit_frame(rows, y="k", prob=["p", "v", "not p"])
    with pytest.raises(ValueError, match="use input='probability'"):
        VectorScaling().fit_frame(rows, y="k", prob=Q)
    with pytest.raises(ValueError, match="whole numbers"):
        HistogramBinning(strategy="quantile").fit_frame(rows, y="y", prob="p", sample_weight="v")
