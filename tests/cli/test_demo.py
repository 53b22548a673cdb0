"""`calibrant demo`: the whole job on the data that come with the package."""

from __future__ import annotations

import shlex
import sys
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


@pytest.fixture
def some_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the embedded data: the numbers do not matter here."""
    monkeypatch.setattr("calibrant.cli.demo.load_games", some_games)
    monkeypatch.setattr("calibrant.cli.demo.load_cifar10", some_images)
    monkeypatch.setattr("calibrant.cli.demo.load_protein_forecasts", some_proteins)


def test_demo(calibrant, tmp_path: Path, some_rows: None) -> None:
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
    commands = [shlex.split(line[2:]) for line in run.stdout.splitlines() if line.startswith("$ ")]
    first = [command[1] for command in commands if command[1] != "forecast"]
    assert first == [*["evaluate", "fit", "apply", "evaluate", "evaluate"] * 2, "report"]
    second = [command[2] for command in commands if command[1] == "forecast"]
    assert second == ["evaluate", "recalibrate", "evaluate", "decide", "decide", "report"]
    for name in ("games", "protein"):
        assert "<!doctype html>" in (folder / f"{name}_report.html").read_text("utf-8").lower()
    again = calibrant(*commands[1][1:], "--force", "--json")
    assert again.json["method"] in run.stdout
    for command in commands[10:15]:
        repeated = calibrant(*command[1:], *(["--force"] if "--output" in command else []))
        assert repeated.code == 0
        assert repeated.stdout in run.stdout
    saved = (folder / "games_calibrator.json").read_text()
    assert calibrant(*commands[2][1:], "--force").code == 0
    assert saved == (folder / "games_calibrator.json").read_text()
    assert pl.read_csv(folder / "games_future_calibrated.csv").equals(games)


def test_json(calibrant, tmp_path: Path, some_rows: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command with the object that it prints by itself, and what was written."""
    page = cb.report([0, 1], [0.2, 0.7], n_resamples=9)
    for name in ("report", "forecast_report"):  # slow, and tested elsewhere
        monkeypatch.setattr(f"calibrant.reporting.{name}", lambda *_, **options: page)
    folder = tmp_path / "my results"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    run = calibrant("demo", "--output", "my results", "--force", "--json")
    assert (run.code, run.stderr) == (0, "")
    assert run.stdout.count("\n") == 1
    written = {str(path.relative_to(tmp_path)) for path in folder.iterdir()}
    assert {*run.json["files"]} == written - {"my results/mine.txt"}
    assert len(run.json["files"]) == len(written) - 1
    commands = run.json["commands"]
    assert len(commands) == 17
    assert commands[-1]["output"]["verdict"] == page.verdict
    for command in commands[:5]:
        arguments = shlex.split(command["command"])[1:]
        again = calibrant(*arguments, *["--force"] * ("--output" in arguments), "--json")
        assert again.json == command["output"]


def test_a_missing_package_is_told_before_the_work(
    calibrant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)  # as if it were not installed
    run = calibrant("demo", "--output", "results")
    assert (run.code, run.stdout) == (2, "")
    assert "a report needs altair" in run.stderr
    assert "pip install" in run.stderr
    assert not (tmp_path / "results").exists()


def test_demo_overwrites_nothing_unasked(calibrant, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "games_past.csv").write_text("mine")
    run = calibrant("demo", "--output", "mine")
    assert run.code == 2
    assert "mine exists already: choose another --output or pass --force" in run.stderr
    assert (tmp_path / "mine" / "games_past.csv").read_text() == "mine"
