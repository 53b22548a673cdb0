"""The whole job on the embedded data: measure, repair, apply to other rows, measure again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from calibrant.cli import reporting, show
from calibrant.cli.applying import write_calibrated
from calibrant.cli.evaluation import Evaluation, evaluate
from calibrant.cli.files import open_table
from calibrant.cli.forecast import app as forecast
from calibrant.cli.predictions import Data, Scale, named_predictions, read_data
from calibrant.cli.selection import compare, recommended
from calibrant.datasets import load_cifar10, load_games, load_protein_forecasts
from calibrant.saving import atomic_path, save

_CV, _SEED, _RESAMPLES = 5, 0, 999


def run(folder: Path, *, overwrite: bool) -> None:
    """Run the demonstration; all files are written into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    _games(folder, overwrite)
    _cifar10(folder, overwrite)
    _proteins(folder, overwrite)
    _reports(folder, overwrite)
    show.out.print()
    show.out.print(f"All files are in {folder}/: try the commands above on files of your own.")


def _games(folder: Path, overwrite: bool) -> None:
    show.out.rule("Will the home team win? FiveThirtyEight's forecasts of games")
    games = pl.DataFrame(load_games().to_dict())
    half = games.height // 2
    past, future = folder / "games_past.csv", folder / "games_future.csv"
    _write(games[:half], past, overwrite)
    _write(games[half:], future, overwrite)
    _job(
        past, future, folder / "games_calibrator.json", "y_true", "y_prob", "probability", overwrite
    )


def _cifar10(folder: Path, overwrite: bool) -> None:
    show.out.print()
    show.out.rule("What is in the picture? A DenseNet-40 on CIFAR-10")
    for split in ("validation", "test"):
        images = load_cifar10(split)
        names = np.array(images.class_names)
        columns = {f"z_{name}": images.logits[:, k] for k, name in enumerate(images.class_names)}
        frame = pl.DataFrame({"label": names[images.y_true], **columns})
        _write(frame, folder / f"cifar10_{split}.parquet", overwrite)
    _job(
        folder / "cifar10_validation.parquet",
        folder / "cifar10_test.parquet",
        folder / "cifar10_calibrator.json",
        "label",
        "z_",
        "logit",
        overwrite,
    )


def _proteins(folder: Path, overwrite: bool) -> None:
    """Forecasts of a real outcome, and a decision that hangs on a threshold of it."""
    show.out.print()
    show.out.rule("How wrong is this protein structure? A neural network's forecasts")
    show.out.print(
        "The outcome y is the error of a predicted structure, in standard deviations from the mean "
        "error: low is good. Who takes a structure for good (y <= -0.5) that is not loses 5, who "
        "throws a good one away loses 1."
    )
    for split in ("validation", "test"):
        frame = pl.DataFrame(load_protein_forecasts(split).to_dict())
        _write(frame, folder / f"protein_{split}.csv", overwrite)
    validation, test = folder / "protein_validation.csv", folder / "protein_test.csv"
    saved, decisions = folder / "protein_map.json", folder / "protein_decisions.csv"
    columns: dict[str, Any] = {"quantiles": [], "mean": "mu", "sd": "sigma", "target": "y"}
    options = "--mean mu --sd sigma --target y"

    _command(f"calibrant forecast evaluate {test} {options}")
    forecast.evaluate(test, **columns)
    _command(f"calibrant forecast recalibrate {validation} {options} --output {saved}")
    forecast.recalibrate(validation, output=saved, force=overwrite, **columns)
    _command(f"calibrant forecast evaluate {test} {options} --calibrator {saved}")
    forecast.evaluate(test, calibrator=saved, **columns)

    stake: dict[str, Any] = {"threshold": -0.5, "cost_false_alarm": 5.0, "cost_miss": 1.0}
    options += " --threshold -0.5 --cost-false-alarm 5 --cost-miss 1"
    _command(f"calibrant forecast decide {test} {options}")
    forecast.decide(test, **stake, **columns)
    _command(
        f"calibrant forecast decide {test} {options} --calibrator {saved} --output {decisions}"
    )
    forecast.decide(test, calibrator=saved, output=decisions, force=overwrite, **stake, **columns)


def _reports(folder: Path, overwrite: bool) -> None:
    """The same findings as pages to show to others."""
    show.out.print()
    show.out.rule("Reports to show to others")
    games, page = folder / "games_future.csv", folder / "games_report.html"
    _command(f"calibrant report {games} --label y_true --prob y_prob --by sport --output {page}")
    reporting.report(
        games, label="y_true", prob=["y_prob"], output=page, by="sport", force=overwrite
    )
    proteins, page = folder / "protein_test.csv", folder / "protein_report.html"
    _command(
        f"calibrant forecast report {proteins} --mean mu --sd sigma --target y --output {page}"
    )
    reporting.forecast_report(
        proteins, target="y", output=page, quantiles=[], mean="mu", sd="sigma", force=overwrite
    )


def _write(frame: pl.DataFrame, path: Path, overwrite: bool) -> None:
    with atomic_path(path, overwrite=overwrite) as temporary:
        if path.suffix == ".csv":
            frame.write_csv(temporary)
        else:
            frame.write_parquet(temporary)


def _job(
    past: Path,
    future: Path,
    saved: Path,
    label: str,
    predictions: str,
    scale: Scale,
    overwrite: bool,
) -> None:
    """Measure the past, repair it, apply the repair to the future, and compare there."""
    flag = "--prob-prefix" if scale == "logit" else "--prob"
    options = f"{flag} {predictions}" + (" --input logit" if scale == "logit" else "")
    table = open_table(past)
    given = ([], predictions) if scale == "logit" else ([predictions], None)
    columns = named_predictions(table, *given)

    _command(f"calibrant evaluate {past} --label {label} {options}")
    data = read_data(table, label, columns, weight=None, pos_label=None, scale=scale)
    show.evaluation(_evaluate(data), str(past), data.mapping())

    _command(f"calibrant fit {past} --label {label} {options} --output {saved}")
    with show.progress() as progress:
        found = compare(data, scale, cv=_CV, seed=_SEED, progress=progress)
    show.comparison(found)
    calibrator, notes = recommended(found)
    show.notes(found.recommended, notes)
    if calibrator is None:
        return
    save(calibrator, saved, overwrite=overwrite, input=scale)
    show.out.print(f"Saved {found.recommended} to {saved}.", style="bold")

    output = future.with_stem(f"{future.stem}_calibrated")
    _command(f"calibrant apply {saved} {future} {options} --output {output}")
    rows = write_calibrated(
        calibrator,
        open_table(future),
        columns,
        output,
        scale=scale,
        prefix="calibrated_",
        overwrite=overwrite,
    )
    show.written(rows, str(future), output, [f"calibrated_{column}" for column in columns])

    again = f"--prob-prefix calibrated_{predictions}" if scale == "logit" else ""
    _command(
        f"calibrant evaluate {output} --label {label} {again or f'--prob calibrated_{predictions}'}"
    )
    calibrated = open_table(output)
    before = read_data(calibrated, label, columns, weight=None, pos_label=None, scale=scale)
    new = tuple(f"calibrated_{column}" for column in columns)
    after = read_data(calibrated, label, new, weight=None, pos_label=None, scale="probability")
    show.before_and_after(_evaluate(before), _evaluate(after))


def _command(line: str) -> None:
    show.out.print()
    show.out.print(f"$ {line}", style="cyan", soft_wrap=True)


def _evaluate(data: Data) -> Evaluation:
    with show.progress() as progress:
        return evaluate(
            data,
            bins=10,
            strategy="uniform",
            n_resamples=_RESAMPLES,
            seed=_SEED,
            progress=progress,
        )
