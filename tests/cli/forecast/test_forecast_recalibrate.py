"""`calibrant forecast recalibrate`: what the library fits is saved, and tried out of sample."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import calibrant as cb

NORMAL = ("--mean", "mu", "--sd", "sigma", "--target", "y")
RECALIBRATE = ("forecast", "recalibrate", "proteins.csv", *NORMAL, "-o", "map.json")
RANDOMIZED = {"pit": "randomized", "random_state": 0}


def methods() -> dict[str, tuple[tuple[str, ...], object]]:
    threshold = cb.ThresholdRecalibration
    return {
        "default": ((), threshold(early_stopping=True, **RANDOMIZED)),
        "layers": (("--layers", "2"), threshold(early_stopping=True, max_iter=2, **RANDOMIZED)),
        "all layers": (
            ("--no-early-stopping", "--tol", "0.12", "--layers", "5"),
            threshold(tol=0.12, max_iter=5, **RANDOMIZED),
        ),
        "average": (("--method", "average"), cb.AverageRecalibration(**RANDOMIZED)),
        "distribution": (
            ("--method", "distribution"),
            cb.DistributionRecalibration(**RANDOMIZED),
        ),
        "thresholdwise": (
            ("--method", "thresholdwise"),
            cb.ThresholdwiseRecalibration(**RANDOMIZED),
        ),
    }


@pytest.mark.parametrize("name", [*methods()])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_saved_is_fitted_on_all_rows(
    calibrant, proteins, tmp_path: Path, name: str, weighted: bool
) -> None:
    options, recalibration = methods()[name]
    options += ("--weight", "w") if weighted else ()
    run = calibrant(*RECALIBRATE, *options, "--json")
    assert run.code == 0
    forecast, y = proteins.forecasts["normal"], proteins.y
    recalibration.fit(forecast, y, sample_weight=proteins.weight if weighted else None)
    saved = cb.load(tmp_path / "map.json")
    assert saved.get_params() == recalibration.get_params()
    assert saved.to_dict() == recalibration.to_dict()
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".parquet") == [
        "map.json", "proteins.csv",
    ]  # fmt: skip


def test_every_family(calibrant, proteins, tmp_path: Path, family) -> None:
    name, options = family
    command = ("forecast", "recalibrate", "proteins.parquet", *options, "--target", "y")
    assert calibrant(*command, "-o", "map.json", "--layers", "3").code == 0
    expected = cb.ThresholdRecalibration(early_stopping=True, max_iter=3, **RANDOMIZED)
    expected.fit(proteins.forecasts[name], proteins.y)
    assert cb.load(tmp_path / "map.json").to_dict() == expected.to_dict()


def test_before_and_after_are_of_rows_that_were_held_out(calibrant, proteins) -> None:
    run = calibrant(*RECALIBRATE, "--json", "--seed", "4", "--layers", "4")
    assert (run.code, run.stderr) == (0, "")
    found = run.json
    assert (found["fitted_rows"], found["held_out_rows"]) == (600, 300)
    order = np.random.default_rng(4).permutation(900)
    held_out, fitted = np.sort(order[:300]), np.sort(order[300:])
    forecast, y = proteins.forecasts["normal"], proteins.y
    options = {"early_stopping": True, "max_iter": 4, "pit": "randomized", "random_state": 4}
    trial = cb.ThresholdRecalibration(**options)
    trial.fit(forecast[fitted], y[fitted])
    after = trial.transform(forecast[held_out])
    assert found["before"]["crps"] == pytest.approx(cb.crps(forecast[held_out], y[held_out]))
    assert found["after"]["crps"] == pytest.approx(cb.crps(after, y[held_out]))
    assert found["after"]["average_calibration_error"]["estimate"] == pytest.approx(
        cb.average_calibration_error(after, y[held_out])
    )
    whole = cb.ThresholdRecalibration(**options)
    whole.fit(forecast, y)
    assert found["n_layers"] == whole.n_iter_
    none, average, *layers = whole.cv_gaps_.tolist()
    gaps = {"no_layer": none, "average": average, "layers": layers}
    assert found["cross_validated_gaps"] == gaps
    assert [layer["threshold"] for layer in found["layers"]] == pytest.approx(
        [record.threshold for record in whole.history_]
    )


def test_what_a_person_sees(calibrant, proteins) -> None:
    found = calibrant(*RECALIBRATE, "--layers", "4", "--json").json
    run = calibrant(*RECALIBRATE, "--layers", "4", "--force")
    assert (run.code, run.stderr) == (0, "")
    assert max(map(len, run.stdout.splitlines())) <= 80
    assert "fitted on 600 rows drawn at random, measured on the other 300" in run.text
    gaps = [found[key]["reliability_gap"]["estimate"] for key in ("before", "after")]
    assert gaps[1] < gaps[0]
    assert f"The reliability gap falls from {gaps[0]:.4f} to {gaps[1]:.4f}" in run.text
    saved = f"Saved threshold recalibration ({found['shape']}), fitted on all rows, to map.json."
    assert run.text.endswith(saved)


def test_what_does_not_help_is_said(calibrant, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    mu = rng.normal(size=300)
    frame = pl.DataFrame({"mu": mu, "sigma": np.ones(300), "y": rng.normal(mu)})
    frame.write_csv(tmp_path / "proteins.csv")
    run = calibrant(*RECALIBRATE, "--no-early-stopping", "--tol", "1")
    assert run.code == 0
    assert cb.load(tmp_path / "map.json").n_iter_ == 0
    assert "Nothing changes: the forecasts stay as they are." in run.text
    assert "Saved threshold recalibration (no layer)" in run.text
    assert "It has no layer: it leaves forecasts as they are." in run.text
    run = calibrant(*RECALIBRATE, "--force", "--method", "distribution")
    assert run.code == 0
    assert "It does not help: the reliability gap goes from" in run.text


def test_a_warning_is_a_note(calibrant, proteins) -> None:
    run = calibrant(*RECALIBRATE, "--no-early-stopping", "--layers", "1", "--tol", "0")
    assert run.code == 0
    note = "Note: after 1 layers the largest threshold calibration error is"
    assert " ".join(run.stderr.split()).startswith(note)
    assert run.stderr.count("Note:") == 1


def test_a_new_process_reads_what_was_saved(calibrant, proteins, tmp_path: Path) -> None:
    assert calibrant(*RECALIBRATE, "--method", "average").code == 0
    apply = ("forecast", "apply", "map.json", "proteins.csv", *NORMAL[:4], "-o", "out.csv")
    main = "from calibrant.cli import main; main()"
    subprocess.run([sys.executable, "-c", main, *apply], cwd=tmp_path, check=True)
    assert pl.read_csv(tmp_path / "out.csv").height == 900


def test_an_existing_file_stays(calibrant, proteins, tmp_path: Path) -> None:
    (tmp_path / "map.json").write_text("mine")
    run = calibrant(*RECALIBRATE)
    assert run.code == 2
    assert "map.json exists already: choose another name or pass --force" in run.stderr
    assert (tmp_path / "map.json").read_text() == "mine"
    assert calibrant(*RECALIBRATE, "--force", "--method", "average").code == 0
    assert isinstance(cb.load(tmp_path / "map.json"), cb.AverageRecalibration)
