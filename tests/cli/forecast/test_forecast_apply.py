"""`calibrant forecast apply`: all rows and columns, and the recalibrated forecasts beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import calibrant as cb
from calibrant.forecasts import Quantiles

NORMAL = ("--mean", "mu", "--sd", "sigma")
APPLY = ("forecast", "apply", "map.json", "proteins.csv", *NORMAL)
DEFAULT = ["q0.05", "q0.25", "q0.5", "q0.75", "q0.95", "mean"]


@pytest.fixture
def fitted(proteins, tmp_path: Path) -> cb.ThresholdRecalibration:
    recalibration = cb.ThresholdRecalibration(early_stopping=True, random_state=0)
    recalibration.fit(proteins.forecasts["normal"], proteins.y)
    assert recalibration.n_iter_ > 1
    recalibration.save(tmp_path / "map.json")
    return recalibration


@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("source", ["proteins.csv", "proteins.parquet"])
def test_quantiles_and_mean(
    calibrant, proteins, fitted, tmp_path: Path, source: str, output: str
) -> None:
    command = ("forecast", "apply", "map.json", source, *NORMAL, "-o", output)
    run = calibrant(*command, "--json")
    assert (run.code, run.stderr) == (0, "")
    assert run.json == {"file": source, "output": output, "rows": 900, "columns": DEFAULT}
    read = pl.read_csv if output.endswith("csv") else pl.read_parquet
    written = read(tmp_path / output)
    assert written.columns == [*proteins.frame.columns, *DEFAULT]
    expected = fitted.transform(proteins.forecasts["normal"])
    for name in DEFAULT[:-1]:
        values = expected.ppf(float(name[1:]))
        np.testing.assert_allclose(written[name].to_numpy(), values, rtol=1e-12)
    np.testing.assert_allclose(written["mean"].to_numpy(), expected.mean(), rtol=1e-9, atol=1e-9)
    if source.endswith("parquet") and output.endswith("parquet"):
        assert written.select(proteins.frame.columns).equals(proteins.frame)
    assert written["y"].cast(pl.Float64).to_list() == proteins.y.tolist()


def test_text_of_a_csv_file_stays_as_it_was(calibrant, proteins, fitted, tmp_path: Path) -> None:
    assert calibrant(*APPLY, "-o", "out.csv", "--cdf-at", "0").code == 0
    before = (tmp_path / "proteins.csv").read_text().splitlines()
    after = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.rpartition(",")[0] for line in after] == before


def test_every_family(calibrant, proteins, tmp_path: Path, family) -> None:
    name, options = family
    recalibration = cb.AverageRecalibration().fit(proteins.forecasts[name], proteins.y)
    recalibration.save(tmp_path / "map.json")
    command = ("forecast", "apply", "map.json", "proteins.csv", *options, "-o", "out.parquet")
    assert calibrant(*command, "--levels", "0.1, 0.9", "--cdf-at", "-0.5,1e1,0").code == 0
    written = pl.read_parquet(tmp_path / "out.parquet")
    new = ["q0.1", "q0.9", "mean", "cdf_-0.5", "cdf_1e1", "cdf_0"]
    assert written.columns[-6:] == new
    expected = recalibration.transform(proteins.forecasts[name])
    columns = [expected.ppf(0.1), expected.ppf(0.9), expected.mean()]
    columns += [expected.cdf(point) for point in (-0.5, 10.0, 0.0)]
    for column, values in zip(new, columns, strict=True):
        np.testing.assert_allclose(written[column].to_numpy(), values, rtol=1e-9, atol=1e-9)


def test_probabilities_alone(calibrant, proteins, fitted, tmp_path: Path) -> None:
    run = calibrant(*APPLY, "-o", "out.csv", "--cdf-at", "0,0.5")
    assert (run.code, run.stderr) == (0, "")
    assert run.text == "Wrote 900 rows of proteins.csv to out.csv, with cdf_0, cdf_0.5."
    written = pl.read_csv(tmp_path / "out.csv")
    assert written.columns == [*proteins.frame.columns, "cdf_0", "cdf_0.5"]
    expected = fitted.transform(proteins.forecasts["normal"]).cdf(0.5)
    np.testing.assert_allclose(written["cdf_0.5"].to_numpy(), expected, rtol=1e-12)


def test_what_is_written_can_be_read_as_quantile_forecasts(
    calibrant, proteins, fitted, tmp_path: Path
) -> None:
    assert calibrant(*APPLY, "-o", "out.csv").code == 0
    pairs = ",".join(f"{name}={name[1:]}" for name in DEFAULT[:-1])
    command = ("forecast", "evaluate", "out.csv", "--quantiles", pairs, "--target", "y", "--json")
    found = calibrant(*command).json
    levels = [float(name[1:]) for name in DEFAULT[:-1]]
    values = fitted.transform(proteins.forecasts["normal"]).ppf(np.array(levels)[:, None])
    assert found["crps"] == pytest.approx(cb.crps(Quantiles(levels, values.T), proteins.y))


def test_many_rows_are_written_in_parts(calibrant, proteins, fitted, tmp_path: Path) -> None:
    many = pl.concat([proteins.frame.select("mu", "sigma")] * 160)
    many.write_parquet(tmp_path / "many.parquet")
    many.write_csv(tmp_path / "many.csv")
    once = fitted.transform(proteins.forecasts["normal"]).cdf(0.2)
    for source in ("many.csv", "many.parquet"):
        command = ("forecast", "apply", "map.json", source, *NORMAL, "--cdf-at", "0.2", "--force")
        assert calibrant(*command, "-o", "out.parquet").code == 0
        written = pl.read_parquet(tmp_path / "out.parquet")
        np.testing.assert_array_equal(written["cdf_0.2"].to_numpy(), np.tile(once, 160))


def test_names_that_are_taken(calibrant, proteins, fitted, tmp_path: Path) -> None:
    frame = proteins.frame.rename({"mu": "mean"})
    frame.write_csv(tmp_path / "proteins.csv")
    command = ("forecast", "apply", "map.json", "proteins.csv", "--mean", "mean", "--sd", "sigma")
    run = calibrant(*command, "-o", "out.csv")
    assert run.code == 2
    assert 'proteins.csv has a column "mean" already' in run.stderr
    assert not (tmp_path / "out.csv").exists()
    assert calibrant(*command, "-o", "out.csv", "--prefix", "new_").code == 0
    assert pl.read_csv(tmp_path / "out.csv").columns[-1] == "new_mean"


def test_an_existing_file_stays(calibrant, proteins, fitted, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("mine")
    run = calibrant(*APPLY, "-o", "out.csv")
    assert run.code == 2
    assert "out.csv exists already: choose another name or pass --force" in run.stderr
    assert (tmp_path / "out.csv").read_text() == "mine"
    assert calibrant(*APPLY, "-o", "out.csv", "--force").code == 0
    assert pl.read_csv(tmp_path / "out.csv").height == 900
    for taken in ("proteins.csv", "map.json.csv"):
        (tmp_path / "map.json.csv").unlink(missing_ok=True)
        (tmp_path / "map.json.csv").symlink_to("map.json")
        run = calibrant(*APPLY, "-o", taken, "--force")
        assert "is a file to be read" in run.stderr


@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])
def test_nothing_is_left_behind_when_a_late_row_is_wrong(
    calibrant, fitted, tmp_path: Path, output: str
) -> None:
    (tmp_path / "late.csv").write_text("mu,sigma\n" + "0.1,0.5\n" * 100_000 + "0.1,0\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    command = ("forecast", "apply", "map.json", "late.csv", *NORMAL, "--cdf-at", "0", "-o", output)
    run = calibrant(*command)
    assert run.code == 2
    assert 'late.csv, line 100002: column "sigma" is "0", but a standard deviation' in run.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == before
