"""Brier score and log loss: scikit-learn's on arrays, and the same on frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from calibrant import brier_score, log_loss

Maker = Callable[[pl.DataFrame], Any]

CLASSES = ["ant", "bee", "cat"]


def binary_rows(n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    prob = np.concatenate([[0.0, 1.0, 1.0, 0.0], rng.random(n - 4)])
    return pl.DataFrame(
        {
            "y": (rng.random(n) < 0.5).astype(int),
            "p": prob,
            "w": rng.random(n),
            "g": rng.integers(0, 3, n),
        }
    )


def multiclass_rows(n: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    prob = rng.dirichlet(np.ones(3), n)
    prob[0] = [1, 0, 0]
    columns = {name: prob[:, k] for k, name in enumerate(CLASSES)}
    return pl.DataFrame({"y": rng.choice(CLASSES, n), **columns, "w": rng.random(n)})


@pytest.mark.parametrize("weighted", [False, True])
def test_arrays_agree_with_scikit_learn(weighted: bool) -> None:
    rows = binary_rows()
    y, prob = rows["y"].to_numpy(), rows["p"].to_numpy()
    weight = rows["w"].to_numpy() if weighted else None
    assert brier_score(y, prob, sample_weight=weight) == pytest.approx(
        brier_score_loss(y, prob, sample_weight=weight), rel=1e-12
    )
    assert log_loss(y, prob, sample_weight=weight) == pytest.approx(
        sklearn_log_loss(y, prob, sample_weight=weight), rel=1e-12
    )
    rows = multiclass_rows()
    y, prob = rows["y"].to_numpy(), rows.select(CLASSES).to_numpy()
    weight = rows["w"].to_numpy() if weighted else None
    assert brier_score(y, prob, sample_weight=weight) == pytest.approx(
        brier_score_loss(y, prob, labels=CLASSES, sample_weight=weight), rel=1e-12
    )
    assert log_loss(y, prob, sample_weight=weight) == pytest.approx(
        sklearn_log_loss(y, prob, labels=CLASSES, sample_weight=weight), rel=1e-12
    )


def test_single_precision_is_clipped_by_its_own_eps() -> None:
    found = log_loss([0, 1], np.array([1.0, 0.5], dtype=np.float32))
    eps = float(np.finfo(np.float32).eps)
    assert found == pytest.approx(-(np.log(eps) + np.log(0.5)) / 2)
    rows = pl.LazyFrame({"y": [0, 1], "p": pl.Series([1.0, 0.5], dtype=pl.Float32)})
    assert log_loss(rows, y="y", prob="p") == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("score", [brier_score, log_loss])
def test_frames(local_backend: Maker, score: Callable[..., Any], weight: str | None) -> None:
    rows = binary_rows()
    values = None if weight is None else rows[weight]
    found = score(local_backend(rows), y="y", prob="p", sample_weight=weight)
    assert found == pytest.approx(score(rows["y"], rows["p"], sample_weight=values), rel=1e-12)
    rows = multiclass_rows()
    values = None if weight is None else rows[weight]
    found = score(local_backend(rows), y="y", prob=CLASSES, labels=CLASSES, sample_weight=weight)
    expected = score(rows["y"], rows.select(CLASSES), sample_weight=values)
    assert found == pytest.approx(expected, rel=1e-12)


def test_spark(spark: Any) -> None:
    rows = multiclass_rows()
    frame = spark.createDataFrame(rows.to_arrow())
    for score in (brier_score, log_loss):
        found = score(frame, y="y", prob=CLASSES, labels=CLASSES, sample_weight="w")
        expected = score(rows["y"], rows.select(CLASSES), sample_weight=rows["w"])
        assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("score", [brier_score, log_loss])
def test_groups(local_backend: Maker, score: Callable[..., Any]) -> None:
    rows = binary_rows()
    found = score(local_backend(rows), y="y", prob="p", by="g")
    assert list(found) == [0, 1, 2]
    for group, value in found.items():
        part = rows.filter(g=group)
        assert value == pytest.approx(score(part["y"], part["p"]), rel=1e-12)


@pytest.mark.parametrize("score", [brier_score, log_loss])
def test_bad_rows(local_backend: Maker, score: Callable[..., Any]) -> None:
    rows = binary_rows().with_columns(p=pl.col("p") * 2)
    with pytest.raises(ValueError, match="'p'.* is no probability in"):
        score(local_backend(rows), y="y", prob="p")
