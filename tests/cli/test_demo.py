"""`calibrant demo`: the whole job on the data that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from scipy.special import expit, logit

import calibrant as cb
from calibrant.datasets import (
    Cifar10,
    Games,
    ProteinForecasts,
    load_cifar10,
    load_games,
    load_protein_forecasts,
)


def some_games() -> Games:
    columns = {name: column[::6] for name, column in load_games().to_dict().items()}
    # So few need forecasts that are clearly overconfident for a calibrator to be recommended.
    columns["y_prob"] = expit(2.0 * logit(columns["y_prob"]))
    return Games(**columns)


def some_images(split: Literal["validation", "test"]) -> Cifar10:
    whole = load_cifar10(split)
    return Cifar10(whole.y_true[:1000], whole.logits[:1000], whole.class_names, split)


def some_proteins(split: Literal["validation", "test"]) -> ProteinForecasts:
    whole = load_protein_forecasts(split)
    return ProteinForecasts(whole.forecast[:1000], whole.y[:1000], split)


def test_demo(calibrant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Some of the rows: the numbers do not matter here.
    monkeypatch.setattr("calibrant.cli.demo._RESAMPLES", 19)
    monkeypatch.setattr("calibrant.cli.demo.load_games", some_games)
    monkeypatch.setattr("calibrant.cli.demo.load_cifar10", some_images)
    monkeypatch.setattr("calibrant.cli.demo.load_protein_forecasts", some_proteins)
    run = calibrant("demo", "--output", "results")
    assert (run.code, run.stderr) == (0, "")
    folder = tmp_path / "results"
    for name in ("games", "cifar10"):
        assert cb.load(folder / f"{name}_calibrator.json").classes_.size in (2, 10)
    games = pl.read_csv(folder / "games_future_calibrated.csv")
    assert games.columns[-1] == "calibrated_y_prob"
    images = pl.read_parquet(folder / "cifar10_test_calibrated.parquet")
    assert len([name for name in images.columns if name.startswith("calibrated_z_")]) == 10
    assert cb.load(folder / "protein_map.json").n_iter_ > 0
    decisions = pl.read_csv(folder / "protein_decisions.csv")
    assert decisions.columns == ["mu", "sigma", "y", "decision", "probability"]
    assert not [path for path in folder.iterdir() if path.name.endswith(".tmp")]

    # Its commands are real: they can be given again, with the same results.
    commands = [line[2:].split() for line in run.stdout.splitlines() if line.startswith("$ ")]
    first = [command[1] for command in commands if command[1] != "forecast"]
    assert first == [*["evaluate", "fit", "apply", "evaluate"] * 2, "report"]
    second = [command[2] for command in commands if command[1] == "forecast"]
    assert second == ["evaluate", "recalibrate", "evaluate", "decide", "decide", "report"]
    for name in ("games", "protein"):
        assert "<!doctype html>" in (folder / f"{name}_report.html").read_text("utf-8").lower()
    again = calibrant(*commands[1][1:], "--force", "--json")
    assert again.json["method"] in run.stdout
    for command in commands[8:13]:
        repeated = calibrant(*command[1:], *(["--force"] if "--output" in command else []))
        assert repeated.code == 0
        assert repeated.stdout in run.stdout
    saved = (folder / "games_calibrator.json").read_text()
    assert calibrant(*commands[2][1:], "--force").code == 0
    assert saved == (folder / "games_calibrator.json").read_text()
    assert pl.read_csv(folder / "games_future_calibrated.csv").equals(games)


def test_demo_overwrites_nothing_unasked(calibrant, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "games_past.csv").write_text("mine")
    run = calibrant("demo", "--output", "mine")
    assert run.code == 2
    assert "mine exists already: choose another --output or pass --force" in run.stderr
    assert (tmp_path / "mine" / "games_past.csv").read_text() == "mine"
