"""Files whose statistics leave nan out, and keys that doubles cannot tell apart."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from calibrant import (
    BetaCalibration,
    IsotonicCalibration,
    PlattScaling,
    brier_score,
    ece,
    log_loss,
    reliability_table,
    skce,
)


def read(rows: pl.DataFrame, path: Path, engine: str) -> Any:
    rows.write_parquet(path)
    if engine == "polars":
        return pl.scan_parquet(path)
    return pytest.importorskip("duckdb").read_parquet(str(path))


def rows_with_nan(column: str) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    prob = rng.uniform(size=300)
    columns = {"y": (rng.uniform(size=300) < prob).astype(int), "p": prob, "w": np.ones(300)}
    columns[column][17] = np.nan
    return pl.DataFrame(columns)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize(
    "measure",
    [
        lambda frame: ece(frame, y="y", prob="p", sample_weight="w"),
        lambda frame: ece(frame, y="y", prob="p", strategy="quantile"),
        lambda frame: reliability_table(frame, y="y", prob="p", bin_edges=[0.0, 0.5, 1.0]),
        lambda frame: brier_score(frame, y="y", prob="p"),
        lambda frame: log_loss(frame, y="y", prob="p"),
        lambda frame: skce(frame, y="y", prob="p"),
        lambda frame: BetaCalibration().fit_frame(frame, y="y", prob="p"),
        lambda frame: IsotonicCalibration().fit_frame(frame, y="y", prob="p"),
    ],
)
def test_nan_in_a_file_is_no_probability(measure: Any, engine: str, tmp_path: Path) -> None:
    frame = read(rows_with_nan("p"), tmp_path / "rows.parquet", engine)
    with pytest.raises(ValueError, match=r"frame\['p'\] is no probability in 1 row"):
        measure(frame)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_nan_in_a_file_is_no_weight_and_no_score(engine: str, tmp_path: Path) -> None:
    frame = read(rows_with_nan("w"), tmp_path / "weights.parquet", engine)
    with pytest.raises(ValueError, match=r"frame\['w'\] is no weight in 1 row"):
        ece(frame, y="y", prob="p", sample_weight="w")
    frame = read(rows_with_nan("p"), tmp_path / "scores.parquet", engine)
    with pytest.raises(ValueError, match=r"frame\['p'\] is no score in 1 row"):
        PlattScaling().fit_frame(frame, y="y", prob="p")


@pytest.mark.parametrize("calibrator", [PlattScaling(), BetaCalibration(), IsotonicCalibration()])
def test_nan_in_a_file_gets_no_prediction(calibrator: Any, tmp_path: Path) -> None:
    rows = rows_with_nan("p")
    good = rows.filter(pl.col("p").is_not_nan())
    calibrator.fit(good["p"], good["y"])
    frame = read(rows, tmp_path / "rows.parquet", "duckdb")
    found = calibrator.transform_frame(frame, prob="p", name="q").fetchnumpy()["q"]
    sql = frame.project(f"{calibrator.to_sql('p')} AS q").fetchnumpy()["q"]
    for column in (found, sql):
        missing = np.ma.getmaskarray(np.ma.asarray(column))
        assert missing.nonzero()[0].tolist() == [17]


@pytest.mark.parametrize(
    "keys",
    [
        [2**53, 2**53 + 1, None],
        [Decimal("12345678901234567.1"), Decimal("12345678901234567.3"), None],
        [False, True, None],
    ],
)
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_groups_are_told_apart(keys: list[Any], engine: str, tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1, 0], "p": [0.1, 0.9, 0.5], "id": keys})
    frame = read(rows, tmp_path / "rows.parquet", engine)
    found = reliability_table(frame, y="y", prob="p", by="id")
    assert list(found) == keys
    assert [type(key) for key in found] == [type(key) for key in keys]
    assert [table.sum_prob.sum() for table in found.values()] == [0.1, 0.9, 0.5]


def test_by_is_named(tmp_path: Path) -> None:
    frame = read(rows_with_nan("w"), tmp_path / "rows.parquet", "polars")
    with pytest.raises(ValueError, match="by must be the name of a column or a list of names"):
        ece(frame, y="y", prob="p", by=np.array(["w"]))
