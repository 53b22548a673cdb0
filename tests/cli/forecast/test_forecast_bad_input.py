"""Every mistake in what the user gives: exit code 2 and one message that says what to do."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import calibrant as cb
from calibrant.forecasts import Ensemble, Normal

NORMAL = ("--mean", "mu", "--sd", "sigma", "--target", "y")
QUANTILES = ("--quantiles", "q10=0.1,q50=0.5", "--target", "y")
MEMBERS = ("--members-prefix", "m", "--target", "y")
HEADER = "mu,sigma,q10,q50,m1,m2,y,w\n"
FINE = "0,1,-1,0,-1,1,0.5,1\n" * 2


@pytest.mark.parametrize(
    ("options", "line", "message"),
    [
        (NORMAL, "x,1,-1,0,-1,1,0.5,1", 'column "mu" is "x", which is not a number'),
        (NORMAL, ",1,-1,0,-1,1,0.5,1", 'column "mu" is empty: fill it in or delete the row'),
        (NORMAL, "0,0,-1,0,-1,1,0.5,1", 'column "sigma" is "0", but a standard deviation is'),
        (NORMAL, "0,-2,-1,0,-1,1,0.5,1", 'column "sigma" is "-2", but a standard deviation is'),
        (NORMAL, "0,inf,-1,0,-1,1,0.5,1", 'column "sigma" is "inf", which is not a number'),
        (NORMAL, "0,1,-1,0,-1,1,,1", 'column "y" is empty: fill it in or delete the row'),
        (NORMAL, "0,1,-1,0,-1,1,nan,1", 'column "y" is "nan", which is not a number'),
        (QUANTILES, "0,1,2,0,-1,1,0.5,1", 'column "q50" is "0", below column "q10" with 2, but'),
        (QUANTILES, "0,1,-1,,-1,1,0.5,1", 'column "q50" is empty: fill it in'),
        (MEMBERS, "0,1,-1,0,-1,?,0.5,1", 'column "m2" is "?", which is not a number'),
        (MEMBERS, "0,1,-1,0,,1,0.5,1", 'column "m1" is empty'),
        ((*NORMAL, "--weight", "w"), "0,1,-1,0,-1,1,0.5,-1", 'column "w" is "-1", but a weight'),
        ((*NORMAL, "--weight", "w"), "0,1,-1,0,-1,1,0.5,", 'column "w" is empty'),
    ],
)
def test_a_wrong_line(calibrant, tmp_path: Path, options, line: str, message: str) -> None:
    (tmp_path / "data.csv").write_text(HEADER + FINE + line + "\n" + FINE)
    for command in (
        ("evaluate", "data.csv"),
        ("recalibrate", "data.csv", "-o", "map.json"),
        ("decide", "data.csv", "--threshold", "0", "--cost-miss", "1", "--cost-false-alarm", "1",
         "-o", "out.csv"),
    ):  # fmt: skip
        run = calibrant("forecast", *command, *options)
        assert_refused(run, f"data.csv, line 4: {message}")
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_the_remedy_for_crossing_quantiles(calibrant, tmp_path: Path) -> None:
    frame = pl.DataFrame({"q10": [0.0, 2.0], "q50": [1.0, 1.5], "y": [0.0, 1.0]})
    frame.write_parquet(tmp_path / "data.parquet")
    run = calibrant("forecast", "evaluate", "data.parquet", *QUANTILES)
    assert_refused(run, 'data.parquet, row 2: column "q50" is 1.5, below column "q10" with 2.0')
    assert "pass --sort-quantiles" in run.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "say which columns hold the forecast, in one way: --mean and --sd, or"),
        (("--mean", "mu", "--sd", "sigma", "--members-prefix", "m"), "in one way"),
        (("--mean", "mu", "--quantiles", "q10=0.1,q50=0.5"), "in one way"),
        (("--mean", "mu"), "a normal forecast needs --mean and --sd: --sd is missing"),
        (("--sd", "sigma"), "a normal forecast needs --mean and --sd: --mean is missing"),
        (("--mean", "mean", "--sd", "sigma"), 'data.csv has no column "mean". Its columns: mu, '),
        (("--mean", "mu", "--sd", "sigm"), 'no column "sigm". Did you mean "sigma"?'),
        (("--mean", "mu", "--sd", "mu"), 'column "mu" is asked for twice'),
        (("--mean", "y", "--sd", "sigma"), 'column "y" is asked for twice'),
        (("--quantiles", "q10=0.1"), "a forecast by --quantiles needs at least two of them"),
        (("--quantiles", "q10=0.1,q10=0.5"), '--quantiles names column "q10" twice'),
        (("--quantiles", "q10=0.1,q50=0.1"), 'columns "q10" and "q50" the same level 0.1'),
        (("--quantiles", "q10=10,q50=50"), "--quantiles q10=10: a level is a number between 0 and"),
        (("--quantiles", "q10=ten,q50=0.5"), "--quantiles q10=ten: a level is a number between"),
        (("--quantiles", "q10"), "--quantiles q10 is not COLUMN=LEVEL, as in q10=0.1"),
        (("--quantiles", "q10=0.1,q50"), "--quantiles q10=0.1,q50 is not COLUMN=LEVEL"),
        (("--quantiles", "q10=0.1,q51=0.5"), 'no column "q51". Did you mean "q50"?'),
        (("--members-prefix", "k"), 'no column of data.csv is named "k" and a number'),
        (("--members-prefix", "m", "--sort-quantiles"), "--sort-quantiles is for forecasts by"),
        (("--mean", "mu", "--sd", "sigma", "--weight", "v"), 'no column "v"'),
    ],
)
def test_which_columns(calibrant, tmp_path: Path, options, message: str) -> None:
    (tmp_path / "data.csv").write_text(HEADER + FINE)
    run = calibrant("forecast", "evaluate", "data.csv", "--target", "y", *options)
    assert_refused(run, message)


def test_weights_of_zero(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("mu,sigma,y,w\n0,1,0.5,0\n1,1,0.5,0\n")
    run = calibrant("forecast", "evaluate", "data.csv", *NORMAL, "--weight", "w")
    assert_refused(run, 'column "w" of data.csv is zero in every row')


def test_files(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.xlsx").write_text("")
    (tmp_path / "empty.csv").write_text("mu,sigma,y\n")
    for name, message in [
        ("none.csv", "there is no file none.csv"),
        ("data.xlsx", "data.xlsx is neither .csv nor .parquet"),
        ("empty.csv", "empty.csv has the names of columns, but no rows"),
    ]:
        assert_refused(calibrant("forecast", "evaluate", name, *NORMAL), message)


def test_recalibrate_refuses_what_cannot_work(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(HEADER + FINE * 10)
    recalibrate = ("forecast", "recalibrate", "data.csv", *NORMAL, "-o")
    for options, message in [
        (("map.csv",), "the recalibration is saved as JSON: map.csv should end with .json"),
        (("no/map.json",), "the folder no does not exist"),
        (("map.json",), "data.csv has 20 rows: a recalibration needs at least 30"),
        (("map.json", "--method", "average", "--layers", "3"), "--layers is for --method thres"),
        (("map.json", "--method", "average", "--tol", "0.1"), "--tol is for --method threshold"),
        (
            ("map.json", "--method", "distribution", "--no-early-stopping"),
            "--no-early-stopping is for --method threshold: leave it out",
        ),
    ]:
        assert_refused(calibrant(*recalibrate, *options), message)
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.parametrize("command", ["evaluate", "apply", "decide"])
def test_calibrator_files(calibrant, tmp_path: Path, command: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    (tmp_path / "data.csv").write_text(HEADER + FINE)
    cb.AverageRecalibration().fit(Normal(np.zeros(50), 1.0), y).save(tmp_path / "whole.json")
    whole = (tmp_path / "whole.json").read_text()
    (tmp_path / "half.json").write_text(whole[: len(whole) // 2])
    document = json.loads(whole)
    del document["content"]["fitted"]
    (tmp_path / "unfitted.json").write_text(json.dumps(document))
    cb.PlattScaling().fit(y, y > 0.1 * rng.normal(size=50)).save(tmp_path / "platt.json")
    ensemble = Ensemble(rng.normal(size=(50, 5)))
    cb.DistributionRecalibration(n_bins=2).fit(ensemble, y).save(tmp_path / "ensemble.json")
    for name, message in [
        ("none.json", "there is no file none.json"),
        ("half.json", "half.json is not a complete JSON file"),
        ("unfitted.json", "unfitted.json is damaged or was edited by hand"),
        ("platt.json", "platt.json holds a PlattScaling, not a recalibration of forecasts"),
        ("ensemble.json", "use forecasts of the family that was fitted"),
    ]:
        if command == "apply":
            options = (name, "data.csv", *NORMAL[:4], "-o", "out.csv")
        else:
            options = ("data.csv", *NORMAL, "--calibrator", name)
        if command == "decide":
            options += ("--threshold", "0", "--cost-miss", "1", "--cost-false-alarm", "1")
        assert_refused(calibrant("forecast", command, *options), message)
        assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--levels", "0.1,x"), '--levels 0.1,x: "x" is not a number'),
        (("--levels", "0.1,,0.2"), '"" is not a number; write them as 0.1,0.5'),
        (("--levels", "5,95"), "--levels 5: a level is a number between 0 and 1"),
        (("--levels", "0.1,0.10"), "--levels 0.1,0.10: 0.10 is there twice"),
        (("--cdf-at", "1,inf"), '--cdf-at 1,inf: "inf" is not a number'),
        (("--cdf-at", "1,1.0"), "--cdf-at 1,1.0: 1.0 is there twice"),
    ],
)
def test_what_apply_appends(calibrant, tmp_path: Path, options, message: str) -> None:
    (tmp_path / "data.csv").write_text(HEADER + FINE)
    forecast = Normal(np.zeros(9), 1.0)
    cb.AverageRecalibration().fit(forecast, np.arange(9.0)).save(tmp_path / "map.json")
    apply = ("forecast", "apply", "map.json", "data.csv", *NORMAL[:4], "-o", "out.csv")
    assert_refused(calibrant(*apply, *options), message)
    assert_refused(calibrant(*apply[:-1], "out.txt"), "out.txt is neither .csv nor .parquet")


@pytest.mark.parametrize(
    ("threshold", "false_alarm", "miss", "message"),
    [
        ("nan", "1", "1", "--threshold must be a finite number, got nan"),
        ("0", "inf", "1", "--cost-false-alarm must be a finite number, got inf"),
        ("0", "0", "0", "--cost-false-alarm and --cost-miss are both 0: nothing is at stake"),
    ],
)
def test_costs(calibrant, tmp_path: Path, threshold, false_alarm, miss, message: str) -> None:
    (tmp_path / "data.csv").write_text(HEADER + FINE)
    costs = ("--threshold", threshold, "--cost-false-alarm", false_alarm, "--cost-miss", miss)
    assert_refused(calibrant("forecast", "decide", "data.csv", *NORMAL, *costs), message)


def test_values_of_options(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(HEADER + FINE)
    decide = ("decide", "data.csv", *NORMAL, "--threshold", "0", "--cost-miss", "1")
    for command in (
        ("evaluate", "data.csv", *NORMAL, "--seed", "-1"),
        ("recalibrate", "data.csv", *NORMAL, "-o", "map.json", "--method", "magic"),
        ("recalibrate", "data.csv", *NORMAL, "-o", "map.json", "--layers", "0"),
        (*decide, "--cost-false-alarm", "-1"),
        (*decide,),
    ):
        run = calibrant("forecast", *command)
        assert (run.code, run.stdout) == (2, "")
        assert "--" in run.stderr


def assert_refused(run, message: str) -> None:
    assert run.code == 2, run
    assert run.stderr.startswith("Error: ")
    assert message in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1, "one message, no traceback"
    assert not run.stdout
