"""SQL expressions of calibrators give what `predict_proba` gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from calibrant import HistogramBinning, PlattScaling, TemperatureScaling
from calibrant.calibrators.base import Calibrator

from .test_apply_frames import NAMES, as_rows, fitted


def numbers_of(calibrator: Calibrator, rows: pl.DataFrame, prob: Any) -> np.ndarray:
    duckdb = pytest.importorskip("duckdb")
    texts = calibrator.to_sql(prob)
    texts = [texts] if isinstance(texts, str) else texts
    relation = duckdb.from_arrow(rows.to_arrow())
    found = relation.project(", ".join(f"{text} AS c{k}" for k, text in enumerate(texts)))
    return np.column_stack([column.to_numpy() for column in pl.DataFrame(found.to_arrow_table())])


@pytest.mark.parametrize("name", NAMES)
def test_duckdb(name: str) -> None:
    calibrator, values = fitted()[name]
    rows, prob = as_rows(values)
    numbers = numbers_of(calibrator, rows, prob).reshape(values.shape)
    np.testing.assert_allclose(numbers, calibrator.predict_proba(values), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", ["beta", "histogram"])
def test_spark(name: str, spark: Any) -> None:
    calibrator, values = fitted()[name]
    values = values[:30]
    frame = spark.createDataFrame(pl.DataFrame({"a `b`": values}).to_arrow())
    text = calibrator.to_sql("a `b`", dialect="spark")
    numbers = [row[0] for row in frame.selectExpr(f"{text} AS q").collect()]
    np.testing.assert_allclose(numbers, calibrator.predict_proba(values), rtol=1e-12)


def test_bad_rows_are_null() -> None:
    calibrator, _ = fitted()["isotonic"]
    rows = pl.DataFrame({"p": [None, float("nan"), -1e-9, 1.0000001, 0.5]})
    missing = np.isnan(numbers_of(calibrator, rows, "p").ravel())
    assert missing.tolist() == [True, True, True, True, False]


def test_names_and_numbers_in_each_dialect() -> None:
    histogram = HistogramBinning(n_bins=1).fit([0.1, 0.2, 0.6], [0, 1, 0])
    third = "0.3333333333333333"
    duck, postgres = 'CAST("a""`\\b" AS DOUBLE)', 'CAST("a""`\\b" AS DOUBLE PRECISION)'
    spark, query = 'CAST(`a"``\\b` AS DOUBLE)', 'CAST(`a"\\`\\\\b` AS FLOAT64)'
    texts = {
        "duckdb": f"CASE WHEN ({duck} - {duck}) BETWEEN 0.0e0 AND 0.0e0 "
        f"AND {duck} BETWEEN 0.0e0 AND 1.0e0 THEN {third}e0 END",
        "postgres": f"CASE WHEN ({postgres} - {postgres}) BETWEEN "
        f"DOUBLE PRECISION '0.0e0' AND DOUBLE PRECISION '0.0e0' AND {postgres} BETWEEN "
        "DOUBLE PRECISION '0.0e0' AND DOUBLE PRECISION '1.0e0' "
        f"THEN DOUBLE PRECISION '{third}e0' END",
        "spark": f"CASE WHEN ({spark} - {spark}) BETWEEN 0.0e0D AND 0.0e0D "
        f"AND {spark} BETWEEN 0.0e0D AND 1.0e0D THEN {third}e0D END",
        "bigquery": f"CASE WHEN ({query} - {query}) BETWEEN 0.0e0 AND 0.0e0 "
        f"AND {query} BETWEEN 0.0e0 AND 1.0e0 THEN {third}e0 END",
    }
    assert {dialect: histogram.to_sql('a"`\\b', dialect=dialect) for dialect in texts} == texts


def test_a_tree_of_choices_is_balanced() -> None:
    prob = np.linspace(0, 1, 1024)
    histogram = HistogramBinning(n_bins=1024).fit(prob, np.arange(1024) % 2)
    text = histogram.to_sql("p")
    depth = np.cumsum([(w == "CASE") - (w == "END") for w in text.split()]).max()
    assert depth == 1 + 10


def test_errors() -> None:
    platt = PlattScaling().fit([-1.0, 0.0, 1.0, 2.0], [0, 1, 0, 1])
    with pytest.raises(ValueError, match="dialect must be one of 'duckdb'.*, got 'oracle'"):
        platt.to_sql("s", dialect="oracle")
    with pytest.raises(ValueError, match="fitted on shape"):
        platt.to_sql(["s", "t"])

    class Own(TemperatureScaling):
        pass

    assert Own().fit([-1.0, 0.5, 1.0, -2.0], [0, 0, 1, 0]).to_sql("s").startswith("CASE")

    class Other(Calibrator):
        def _fit(self, scores: Any, codes: Any, weight: Any) -> None: ...

        def _predict(self, scores: Any) -> Any:
            return scores

    with pytest.raises(ValueError, match="the map of Other is not known as a formula"):
        Other().fit([0.1, 0.2], [0, 1]).to_sql("p")
