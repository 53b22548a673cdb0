"""Kernel errors of frames are those of arrays within the bound that the docstring states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import mmce, skce

Maker = Callable[[pl.DataFrame], Any]

CLASSES = ["ant", "bee", "cat"]


def binary_rows(n: int = 800, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    prob = rng.beta(0.6, 1.0, n)
    return pl.DataFrame(
        {
            "y": (rng.random(n) < prob**1.5).astype(int),
            "p": prob,
            "w": rng.random(n) * 3,
            "g": rng.choice(["a", "b"], n),
        }
    )


def multiclass_rows(n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    prob = rng.dirichlet(np.ones(3), n)
    columns = {name: prob[:, k] for k, name in enumerate(CLASSES)}
    return pl.DataFrame({"y": rng.choice(CLASSES, n), **columns})


@pytest.mark.parametrize("weight", [None, "w"])
def test_engines(backend: Maker, weight: str | None) -> None:
    rows = binary_rows()
    values = None if weight is None else rows[weight]
    found = skce(backend(rows), y="y", prob="p", sample_weight=weight)
    assert found == pytest.approx(skce(rows["y"], rows["p"], sample_weight=values), abs=5e-9)


@pytest.mark.parametrize("kind", ["classwise", "confidence"])
def test_classes_and_groups(local_backend: Maker, kind: str) -> None:
    rows = multiclass_rows().with_columns(g=pl.Series(["a", "b", "b", "b"] * 100))
    found = skce(
        local_backend(rows), y="y", prob=CLASSES, kind=kind, by="g", labels=CLASSES, bandwidth=0.5
    )
    for group, value in found.items():
        part = rows.filter(g=group)
        expected = skce(part["y"], part.select(CLASSES), kind=kind, bandwidth=0.5)
        assert value == pytest.approx(expected, abs=5e-9)
    found = mmce(local_backend(rows), y="y", prob=CLASSES, labels=CLASSES)
    assert found == pytest.approx(mmce(rows["y"], rows.select(CLASSES)), abs=1e-6)


@pytest.mark.parametrize("estimator", ["uq", "biased"])
@pytest.mark.parametrize("bandwidth", [0.05, 0.2, 2.0])
def test_error_is_within_the_bound_and_shrinks(estimator: str, bandwidth: float) -> None:
    rows = binary_rows()
    n = len(rows)
    options: dict[str, Any] = {"estimator": estimator, "bandwidth": bandwidth}
    exact = skce(rows["y"], rows["p"], **options)
    errors = []
    for n_cells in (1, 4, 16, 64, 256, 1024):
        found = skce(rows.lazy(), y="y", prob="p", n_cells=n_cells, **options)
        errors.append(abs(found - exact))
        cell = np.floor(rows["p"].to_numpy() * n_cells)
        size = np.abs(rows["y"] - rows["p"]).to_numpy()
        shares = np.array([size[cell == c].sum() for c in np.unique(cell)]) / n
        bound = (shares**2).sum() / (2 * n_cells * bandwidth)
        assert errors[-1] <= bound * n / (n - 1) + 1e-15
    assert errors[-1] < 1e-3 * errors[0]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1), st.integers(0, 3)), min_size=2, max_size=30),
    st.integers(1, 50),
)
def test_any_rows_are_within_the_bound(values: list[tuple[bool, float, int]], n_cells: int) -> None:
    y, prob, weight = (np.array(column) for column in zip(*values, strict=True))
    if weight.sum() < 2:
        weight[0] = 2
    rows = pl.LazyFrame({"y": y, "p": prob, "w": weight})
    found = skce(rows, y="y", prob="p", sample_weight="w", n_cells=n_cells, estimator="biased")
    exact = skce(y, prob, sample_weight=weight, estimator="biased")
    assert abs(found - exact) <= 1 / (2 * n_cells * 0.2) + 1e-12


def test_few_distinct_predictions_are_exact() -> None:
    rows = binary_rows().with_columns(pl.col("p").round(1))
    found = skce(rows.lazy(), y="y", prob="p", n_cells=16)
    assert found == pytest.approx(skce(rows["y"], rows["p"]), abs=1e-14)


def test_what_a_frame_cannot() -> None:
    rows = binary_rows(20)
    with pytest.raises(ValueError, match="rows of a frame have no order"):
        skce(rows, y="y", prob="p", estimator="ul")
    with pytest.raises(ValueError, match="bandwidth='median' compares all pairs"):
        skce(rows, y="y", prob="p", bandwidth="median")
    with pytest.raises(ValueError, match="bandwidth must be a positive number"):
        skce(rows, y="y", prob="p", bandwidth=-1)
    with pytest.raises(ValueError, match="n_cells must be an integer"):
        skce(rows, y="y", prob="p", n_cells=0)
    with pytest.raises(ValueError, match="too wide for a bandwidth"):
        skce(rows, y="y", prob="p", n_cells=2, bandwidth=1e-3)
    with pytest.raises(ValueError, match="pass kind='confidence' or kind='classwise'"):
        skce(multiclass_rows(20), y="y", prob=CLASSES, labels=CLASSES)
    with pytest.raises(ValueError, match="there is one row only"):
        skce(rows.head(1), y="y", prob="p")
    with pytest.raises(ValueError, match="is no probability in 20 rows"):
        mmce(rows.with_columns(p=pl.lit(7.0)), y="y", prob="p")
