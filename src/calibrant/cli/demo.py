"""The whole job on the embedded data: measure, repair, apply to other rows, measure again."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Iterable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from calibrant.cli import show
from calibrant.cli.errors import UserError
from calibrant.cli.evaluation import Evaluation, evaluate
from calibrant.cli.files import open_table
from calibrant.cli.options import print_json
from calibrant.cli.predictions import Scale, named_predictions, read_data
from calibrant.datasets import load_cifar10, load_games, load_protein_forecasts
from calibrant.reporting.document import check_dependencies
from calibrant.saving import atomic_path


def run(folder: Path, *, overwrite: bool, as_json: bool) -> None:
    """Run the demonstration; all files are written into the folder."""
    try:
        check_dependencies()
    except ImportError as error:
        raise UserError(str(error)) from error
    folder.mkdir(parents=True, exist_ok=True)
    session = _Session(overwrite, as_json)
    _games(folder, session)
    _cifar10(folder, session)
    _proteins(folder, session)
    _reports(folder, session)
    if as_json:
        print_json({"files": session.files, "commands": session.done})
        return
    show.out.print()
    show.out.print(f"All files are in {folder}/: try the commands above on files of your own.")


class _Session:
    """Commands that are given one after another, and the files that come of them."""

    def __init__(self, overwrite: bool, as_json: bool) -> None:
        self.overwrite = overwrite
        self.as_json = as_json
        self.files: list[str] = []
        self.done: list[dict[str, Any]] = []
        """With `as_json`: each command and the object that it prints with --json."""

    def say(self, title: str, text: str = "") -> None:
        if self.as_json:
            return
        if self.files:
            show.out.print()
        show.out.rule(title)
        if text:
            show.out.print(text)

    def write(self, frame: pl.DataFrame, path: Path) -> None:
        with atomic_path(path, overwrite=self.overwrite) as temporary:
            write = frame.write_csv if path.suffix == ".csv" else frame.write_parquet
            write(temporary)
        self.files.append(str(path))

    def run(self, *words: str | Path, output: Path | None = None) -> None:
        """Run a command of calibrant."""
        from calibrant.cli.app import app

        arguments = [*map(str, words), *([] if output is None else ["--output", str(output)])]
        options = ["--force"] if output is not None and self.overwrite else []
        if self.as_json:
            with redirect_stdout(io.StringIO()) as printed:
                app([*arguments, *options, "--json"], standalone_mode=False)
            content = json.loads(printed.getvalue())
            self.done.append({"command": _line(arguments), "output": content})
        else:
            self.show(*arguments)
            app([*arguments, *options], standalone_mode=False)
        if output is not None and output.exists():
            self.files.append(str(output))

    def show(self, *words: str | Path) -> None:
        show.out.print()
        show.out.print(f"$ {_line(words)}", style="cyan", soft_wrap=True)


def _line(words: Iterable[str | Path]) -> str:
    return "calibrant " + shlex.join(map(str, words))


def _games(folder: Path, session: _Session) -> None:
    session.say("Will the home team win? FiveThirtyEight's forecasts of games")
    games = pl.DataFrame(load_games().to_dict())
    half = games.height // 2
    past, future = folder / "games_past.csv", folder / "games_future.csv"
    session.write(games[:half], past)
    session.write(games[half:], future)
    _job(past, future, folder / "games_calibrator.json", "y_true", "y_prob", "probability", session)


def _cifar10(folder: Path, session: _Session) -> None:
    session.say("What is in the picture? A DenseNet-40 on CIFAR-10")
    for split in ("validation", "test"):
        images = load_cifar10(split)
        names = np.array(images.class_names)
        columns = {f"z_{name}": images.logits[:, k] for k, name in enumerate(images.class_names)}
        frame = pl.DataFrame({"label": names[images.y_true], **columns})
        session.write(frame, folder / f"cifar10_{split}.parquet")
    past, future = (folder / f"cifar10_{split}.parquet" for split in ("validation", "test"))
    _job(past, future, folder / "cifar10_calibrator.json", "label", "z_", "logit", session)


def _job(
    past: Path,
    future: Path,
    saved: Path,
    label: str,
    predictions: str,
    scale: Scale,
    session: _Session,
) -> None:
    """Measure the past, repair it, apply the repair to the future, and compare there."""
    option = "--prob-prefix" if scale == "logit" else "--prob"
    columns = [option, predictions, *(["--input", "logit"] if scale == "logit" else [])]
    session.run("evaluate", past, "--label", label, *columns)
    session.run("fit", past, "--label", label, *columns, output=saved)
    if not saved.exists():
        return
    calibrated = future.with_stem(f"{future.stem}_calibrated")
    session.run("apply", saved, future, *columns, output=calibrated)
    new = f"calibrated_{predictions}"
    run = session.run if session.as_json else session.show  # for people: the two side by side
    run("evaluate", future, "--label", label, *columns)
    run("evaluate", calibrated, "--label", label, option, new)
    if not session.as_json:
        before = _evaluation(future, label, predictions, scale)
        show.before_and_after(before, _evaluation(calibrated, label, new, "probability"))


def _evaluation(path: Path, label: str, prefix: str, scale: Scale) -> Evaluation:
    """What `calibrant evaluate` finds."""
    table = open_table(path)
    columns = named_predictions(table, [], prefix)
    data = read_data(table, label, columns, weight=None, pos_label=None, scale=scale)
    with show.progress() as progress:
        return evaluate(
            data, bins=10, strategy="uniform", n_resamples=999, seed=0, progress=progress
        )


def _proteins(folder: Path, session: _Session) -> None:
    """Forecasts of a real outcome, and a decision that hangs on a threshold of it."""
    session.say(
        "How wrong is this protein structure? A neural network's forecasts",
        "The outcome y is the error of a predicted structure, in standard deviations from the mean "
        "error: low is good. Who takes a structure for good (y <= -0.5) that is not loses 5, who "
        "throws a good one away loses 1.",
    )
    for split in ("validation", "test"):
        frame = pl.DataFrame(load_protein_forecasts(split).to_dict())
        session.write(frame, folder / f"protein_{split}.csv")
    validation, test = folder / "protein_validation.csv", folder / "protein_test.csv"
    saved, decisions = folder / "protein_map.json", folder / "protein_decisions.csv"
    options = ["--mean", "mu", "--sd", "sigma", "--target", "y"]
    session.run("forecast", "evaluate", test, *options)
    session.run("forecast", "recalibrate", validation, *options, output=saved)
    session.run("forecast", "evaluate", test, *options, "--calibrator", saved)
    options += ["--threshold", "-0.5", "--cost-false-alarm", "5", "--cost-miss", "1"]
    session.run("forecast", "decide", test, *options)
    session.run("forecast", "decide", test, *options, "--calibrator", saved, output=decisions)


def _reports(folder: Path, session: _Session) -> None:
    """The same findings as pages to show to others."""
    session.say("Reports to show to others")
    games, page = folder / "games_future.csv", folder / "games_report.html"
    options = ["--label", "y_true", "--prob", "y_prob", "--by", "sport"]
    session.run("report", games, *options, output=page)
    proteins, page = folder / "protein_test.csv", folder / "protein_report.html"
    options = ["--mean", "mu", "--sd", "sigma", "--target", "y"]
    session.run("forecast", "report", proteins, *options, output=page)
