"""The data that come with the package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant.datasets
from calibrant.datasets import load_cifar10, load_games


def test_games_are_in_the_order_of_the_dates_and_without_ties() -> None:
    games = load_games()
    assert len(games.y_true) == 28_366
    assert (np.diff(games.date) >= np.timedelta64(0)).all()
    assert set(games.y_true.tolist()) == {0, 1}
    assert games.y_prob.dtype == np.float64
    assert games.y_prob.min() > 0
    assert games.y_prob.max() < 1
    assert {len(column) for column in games.to_dict().values()} == {28_366}
    assert sorted(set(games.sport.tolist())) == ["mlb", "nba", "nfl", "nhl", "wnba"]


def test_games_keep_outcome_and_forecast_of_a_known_game() -> None:
    # The Astros won the last game of the 2022 World Series.
    games = load_games()
    assert (games.team1[-1], games.team2[-1], games.y_true[-1]) == ("Astros", "Phillies", 1)
    assert games.y_prob[-1] == pytest.approx(0.576373, abs=1e-6)


@pytest.mark.parametrize(
    ("split", "n", "first", "accuracy"),
    [("validation", 5_000, [2, 0, 3, 9, 6], 0.938), ("test", 10_000, [3, 8, 8, 0, 6], 0.924)],
)
def test_cifar10_splits(split: Any, n: int, first: list[int], accuracy: float) -> None:
    data = load_cifar10(split)
    assert data.logits.shape == (n, 10)
    assert data.logits.dtype == np.float32
    assert data.logits.flags.c_contiguous
    assert data.y_true[:5].tolist() == first
    assert np.mean(data.logits.argmax(axis=1) == data.y_true) == pytest.approx(accuracy, abs=1e-3)
    assert data.class_names[3] == "cat"


def test_cifar10_refuses_an_unknown_split() -> None:
    with pytest.raises(ValueError, match="split must be 'validation' or 'test', got 'train'"):
        load_cifar10("train")  # type: ignore[arg-type]


def test_pyarrow_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    with_polars = load_games().to_dict()
    _hide(monkeypatch, "polars")
    with_pyarrow = load_games().to_dict()
    for name, column in with_polars.items():
        np.testing.assert_array_equal(column, with_pyarrow[name])
        assert column.dtype == with_pyarrow[name].dtype


def test_without_a_reader_the_error_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    _hide(monkeypatch, "polars", "pyarrow")
    with pytest.raises(ImportError, match=r'pip install "calibrant\[cli\]"'):
        load_games()


def test_the_licences_travel_with_the_data() -> None:
    text = (Path(calibrant.datasets.__file__).parent / "ATTRIBUTION.md").read_text("utf-8")
    assert "CC BY 4.0" in text
    assert "Permission is hereby granted" in text


def _hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, package=None: None if name in packages else find_spec(name, package),
    )
