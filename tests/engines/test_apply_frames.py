"""Calibrated columns of frames are what `predict_proba` gives, in every engine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from calibrant import (
    AutoCalibration,
    BetaCalibration,
    CrossValidated,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from calibrant.calibrators.base import Calibrator

Maker = Callable[[pl.DataFrame], Any]


@functools.cache
def fitted() -> dict[str, tuple[Calibrator, np.ndarray]]:
    """Calibrators, and rows to apply them to that include ends, knots and edges."""
    rng = np.random.default_rng(0)
    n = 300
    prob = rng.random(n)
    y = rng.random(n) < prob**2
    score = 3 * rng.normal(size=n)
    logits = 2 * rng.normal(size=(n, 3))
    matrix = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    codes = np.array([rng.choice(3, p=row**2 / (row**2).sum()) for row in matrix])
    pair = np.column_stack([1 - prob, prob])
    isotonic, histogram = IsotonicCalibration().fit(prob, y), HistogramBinning().fit(prob, y)
    points = np.concatenate([isotonic.X_thresholds_, histogram.bin_edges_, prob[:20]])
    points = np.concatenate([points, np.nextafter(points, 0), np.nextafter(points, 1), [0.0, 1.0]])
    scores = np.concatenate([score[:20], [0.0, -745.0, 745.0, 1e5, -1e5]])
    corners = np.vstack([matrix[:20], np.eye(3), [[0.5, 0.5, 0.0]]])
    z = np.vstack([logits[:20], [[0, 0, 0], [800, -800, 0], [1e5, 0, -1e5]]])
    one = {
        "platt": (PlattScaling().fit(score, y), scores),
        "beta": (BetaCalibration().fit(prob, y), points),
        "temperature": (TemperatureScaling().fit(score, score + rng.normal(size=n) > 0), scores),
        "temperature of probabilities": (
            TemperatureScaling(input="probability").fit(prob, y),
            points,
        ),
        "histogram": (histogram, points),
        "quantile": (HistogramBinning(strategy="quantile", n_bins=7).fit(prob, y), points),
        "one bin": (HistogramBinning(n_bins=1).fit(prob, y), points),
        "isotonic": (isotonic, points),
        "cross-validated": (
            CrossValidated(BetaCalibration(), cv=3, random_state=0).fit(prob, y),
            points,
        ),
    }
    several = {
        "beta of two columns": (BetaCalibration().fit(pair, y), pair[:20]),
        "temperature of two logits": (
            TemperatureScaling().fit(logits[:, :2], logits[:, 1] + score > logits[:, 0]),
            z[:, :2],
        ),
        "temperature of three": (TemperatureScaling().fit(logits, codes), z),
        "vector": (VectorScaling().fit(logits, codes), z),
        "vector of probabilities": (
            VectorScaling(input="probability").fit(matrix, codes),
            corners,
        ),
        "dirichlet": (DirichletCalibration(lambda_=0.01).fit(matrix, codes), corners),
        "one-vs-rest": (OneVsRest(BetaCalibration()).fit(matrix, codes), corners),
        "one-vs-rest isotonic": (OneVsRest(IsotonicCalibration()).fit(matrix, codes), corners),
        **{
            f"auto {name}": (
                AutoCalibration([base], input="logit", cv=2, random_state=0).fit(logits, codes),
                z,
            )
            for name, base in {
                "vector": VectorScaling(),
                "dirichlet": DirichletCalibration(lambda_=0.1),
                "one-vs-rest": OneVsRest(PlattScaling()),
            }.items()
        },
        "auto of probabilities": (
            AutoCalibration([VectorScaling()], cv=2, random_state=0).fit(matrix, codes),
            corners,
        ),
    }
    return one | several


NAMES = tuple(fitted())


def as_rows(values: np.ndarray) -> tuple[pl.DataFrame, str | list[str]]:
    """The values with a column that stays, and the names of theirs."""
    if values.ndim == 1:
        return pl.DataFrame({"id": np.arange(len(values)), 'my "p"': values}), 'my "p"'
    columns = {f"class {k}": values[:, k] for k in range(values.shape[1])}
    return pl.DataFrame({"id": np.arange(len(values)), **columns}), list(columns)


def collected(frame: Any) -> pl.DataFrame:
    held = nw.from_native(frame)
    held = held.collect() if isinstance(held, nw.LazyFrame) else held
    return pl.DataFrame(held.to_arrow()).sort("id")


def check(name: str, make: Maker) -> None:
    calibrator, values = fitted()[name]
    rows, prob = as_rows(values)
    frame = make(rows)
    found = calibrator.transform_frame(frame, prob=prob)
    assert type(found) is type(frame)
    got = collected(found)
    new = [f"{c}_calibrated" for c in ([prob] if isinstance(prob, str) else prob)]
    assert got.columns == [*rows.columns, *new]
    numbers = got.select(new).to_numpy().reshape(values.shape)
    np.testing.assert_allclose(numbers, calibrator.predict_proba(values), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("local_backend", ["pandas", "polars lazy", "duckdb"], indirect=True)
def test_every_map(name: str, local_backend: Maker) -> None:
    check(name, local_backend)


@pytest.mark.parametrize("name", ["platt", "isotonic", "histogram", "temperature of three"])
@pytest.mark.parametrize("local_backend", ["polars", "pyarrow", "dask"], indirect=True)
def test_the_other_engines(name: str, local_backend: Maker) -> None:
    check(name, local_backend)


@pytest.mark.parametrize("name", ["histogram", "temperature of three"])
def test_spark(name: str, spark: Any) -> None:
    check(name, lambda rows: spark.createDataFrame(rows.to_arrow()))


def test_many_pieces(local_backend: Maker) -> None:
    rng = np.random.default_rng(1)
    prob = rng.random(900)
    many = HistogramBinning(n_bins=300, strategy="quantile").fit(prob, rng.random(900) < prob)
    rows = pl.DataFrame({"id": range(601), "p": [*np.repeat(many.bin_edges_, 2)[:601]]})
    got = collected(many.transform_frame(local_backend(rows), prob="p", name="q"))
    np.testing.assert_array_equal(got["q"], many.predict_proba(rows["p"]))


BAD = {
    "histogram": [None, float("nan"), -1e-9, 1.0000001, 0.5],
    "isotonic": [None, float("nan"), -1e-9, 1.0000001, 0.5],
    "beta": [None, float("nan"), -1e-9, 1.0000001, 0.5],
    "platt": [None, float("nan"), float("inf"), -float("inf"), 0.5],
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize(
    "local_backend", ["pandas", "polars lazy", "duckdb", "dask"], indirect=True
)
def test_rows_that_predict_proba_refuses_get_nothing(name: str, local_backend: Maker) -> None:
    calibrator, _ = fitted()[name]
    rows = pl.DataFrame({"id": range(5), "p": BAD[name]})
    got = collected(calibrator.transform_frame(local_backend(rows), prob="p"))
    missing = np.isnan(got["p_calibrated"].cast(pl.Float64).fill_null(np.nan).to_numpy())
    assert missing.tolist() == [True, True, True, True, False]


def test_matrix_rows_that_do_not_sum_to_one_get_nothing() -> None:
    calibrator, _ = fitted()["dirichlet"]
    rows = pl.DataFrame({"a": [0.2, 0.2], "b": [0.3, 0.3], "c": [0.5, 0.6]})
    got = calibrator.transform_frame(rows, prob=["a", "b", "c"], name=["x", "y", "z"])
    assert got["x"].is_null().to_list() == [False, True]


def test_single_precision_is_read_as_by_predict_proba() -> None:
    calibrator, values = fitted()["dirichlet"]
    single = values.astype(np.float32)
    rows = pl.DataFrame({f"c{k}": single[:, k] for k in range(3)})
    got = calibrator.transform_frame(rows, prob=rows.columns).select(pl.col("^.*_calibrated$"))
    np.testing.assert_allclose(got.to_numpy(), calibrator.predict_proba(single), rtol=1e-12)


def test_errors() -> None:
    calibrator, _ = fitted()["histogram"]
    rows = pl.DataFrame({"p": [0.5], "p_calibrated": [0.5], "q": [0.5]})
    with pytest.raises(ValueError, match="prob names the column 'r', but the columns.*'p'"):
        calibrator.transform_frame(rows, prob="r")
    with pytest.raises(ValueError, match="has a column 'p_calibrated' already"):
        calibrator.transform_frame(rows, prob="p")
    with pytest.raises(ValueError, match="fitted on shape"):
        calibrator.transform_frame(rows, prob=["p", "q"], name=["a", "b"])
    with pytest.raises(ValueError, match="one name for one column"):
        calibrator.transform_frame(rows, prob="p", name=["a"])
    with pytest.raises(ValueError, match="frame is of type list"):
        calibrator.transform_frame([0.5], prob="p")
    with pytest.raises(NotFittedError):
        HistogramBinning().transform_frame(rows, prob="q")


def test_columns_in_another_order_than_the_classes_are_refused() -> None:
    prob = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7], [0.3, 0.4, 0.3]])
    calibrator = OneVsRest(HistogramBinning()).fit(prob, ["a", "b", "c", "a"])
    rows = pl.DataFrame(prob, schema=["a", "b", "c"])
    with pytest.raises(ValueError, match="put the columns in that order"):
        calibrator.transform_frame(rows, prob=["b", "a", "c"])
