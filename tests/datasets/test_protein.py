"""The embedded forecasts of protein structures."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant.datasets
from calibrant import average_calibration_error, log_score
from calibrant.datasets import load_protein_forecasts
from calibrant.forecasts import Normal


@pytest.mark.parametrize(
    ("split", "n", "first"),
    [("validation", 3_201, (-0.898906, 0.20339, -0.690133)), ("test", 13_719, None)],
)
def test_splits(split: Any, n: int, first: tuple[float, ...] | None) -> None:
    data = load_protein_forecasts(split)
    assert isinstance(data.forecast, Normal)
    assert data.split == split
    assert data.y.dtype == data.forecast.mu.dtype == data.forecast.sigma.dtype == np.float64
    assert data.y.shape == (len(data.forecast),) == (n,)
    columns = data.to_dict()
    assert list(columns) == ["mu", "sigma", "y"]
    if first is not None:
        assert [column[0] for column in columns.values()] == pytest.approx(first, abs=1e-6)


def test_scores_are_those_of_the_network() -> None:
    # The negative log likelihood that was noted when the network was trained.
    test = load_protein_forecasts()
    assert test.split == "test"
    assert log_score(test.forecast, test.y) == pytest.approx(0.90, abs=0.005)
    assert average_calibration_error(test.forecast, test.y) == pytest.approx(0.0320, abs=5e-5)


def test_numbers_are_floats_of_single_precision() -> None:
    for column in load_protein_forecasts("validation").to_dict().values():
        np.testing.assert_array_equal(column, column.astype(np.float32))


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(ValueError, match="split must be 'validation' or 'test', got 'val'"):
        load_protein_forecasts("val")  # type: ignore[arg-type]


def test_pyarrow_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    with_polars = load_protein_forecasts().to_dict()
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, package=None: None if name == "polars" else find_spec(name, package),
    )
    for name, column in load_protein_forecasts().to_dict().items():
        np.testing.assert_array_equal(column, with_polars[name])


def test_the_licence_travels_with_the_data() -> None:
    text = (Path(calibrant.datasets.__file__).parent / "ATTRIBUTION.md").read_text("utf-8")
    assert "| `protein_forecasts.parquet` |" in text
    assert "* `protein_forecasts.parquet`:" in text
