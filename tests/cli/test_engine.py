"""--engine: the numbers of rows in memory, from rows that stay in files."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from calibrant.cli import engines

BINARY = ("binary.parquet", "--label", "y", "--prob", "p")
ENGINES = [
    pytest.param(name, marks=pytest.mark.skipif(not importlib.util.find_spec(name), reason=name))
    for name in ("polars", "duckdb", "dask")
]


def evaluated(calibrant, *arguments: str) -> dict:
    run = calibrant("evaluate", *arguments, "--resamples", "0", "--json")
    assert (run.code, run.stderr) == (0, "")
    return run.json


def assert_same(found: dict, expected: dict) -> None:
    for key in ("file", "columns", "n", "classes"):
        assert found[key] == expected[key]
    assert found["rates"] == pytest.approx(expected["rates"])
    for key, metric in expected["metrics"].items():
        assert found["metrics"][key]["estimate"] == pytest.approx(metric["estimate"], rel=1e-6)
    assert found["table"]["count"] == expected["table"]["count"]
    assert found["table"]["classes"] == expected["table"]["classes"]
    assert found["verdict"]["findings"] == expected["verdict"]["findings"]


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_are_those_of_memory(
    calibrant, binary: pl.DataFrame, animals: pl.DataFrame, engine: str
) -> None:
    for arguments in (
        BINARY,
        ("binary.parquet", "--label", "name", "--prob", "p", "--pos-label", "lost"),
        ("animals.parquet", "--label", "animal", "--prob-prefix", "p_"),
    ):
        expected = evaluated(calibrant, *arguments)
        found = evaluated(calibrant, *arguments, "--engine", engine)
        assert_same(found, expected)
        assert (found["engine"], found["left_out"]) == (engine, [])


def test_spark(calibrant, binary: pl.DataFrame, spark) -> None:
    # The command takes the session that is there.
    found = evaluated(calibrant, *BINARY, "--engine", "spark")
    assert_same(found, evaluated(calibrant, *BINARY))
    assert found["engine"] == "spark"


@pytest.mark.parametrize(
    "options",
    [("--weight", "w"), ("--strategy", "quantile", "--bins", "7"), ("--label", "flag")],
    ids=lambda options: options[0],
)
def test_options(calibrant, binary: pl.DataFrame, options: tuple[str, ...]) -> None:
    expected = evaluated(calibrant, *BINARY, *options)
    assert_same(evaluated(calibrant, *BINARY, *options, "--engine", "polars"), expected)


def test_labels_that_are_written_as_text(calibrant, binary: pl.DataFrame, tmp_path: Path) -> None:
    binary.with_columns(pl.col("y").cast(pl.String)).write_parquet(tmp_path / "text.parquet")
    arguments = ("text.parquet", "--label", "y", "--prob", "p")
    expected = evaluated(calibrant, *arguments)
    assert_same(evaluated(calibrant, *arguments, "--engine", "polars"), expected)


def test_a_folder(calibrant, binary: pl.DataFrame, tmp_path: Path) -> None:
    for name, part in zip(("a", "b"), (binary[:150], binary[150:]), strict=True):
        (tmp_path / "parts" / f"half={name}").mkdir(parents=True)
        part.write_parquet(tmp_path / "parts" / f"half={name}" / "rows.parquet")
    arguments = ("parts", "--label", "y", "--prob", "p")
    expected = evaluated(calibrant, *arguments)
    assert_same(evaluated(calibrant, *arguments, "--engine", "duckdb"), expected)
    run = calibrant("evaluate", "parts", "--label", "half", "--prob", "p", "--engine", "duckdb")
    assert run.code == 2
    assert 'column "half" is in the names of the folders' in run.stderr


def test_what_is_left_out_is_said(calibrant, binary: pl.DataFrame) -> None:
    run = calibrant("evaluate", *BINARY, "--engine", "polars")
    assert run.code == 0
    assert run.text.endswith("Left out by --engine polars: 95 % intervals, kernel test.")
    run = calibrant("evaluate", *BINARY, "--engine", "polars", "--json")
    assert run.json["left_out"] == ["95 % intervals", "kernel test"]
    assert "Left out" not in calibrant("evaluate", *BINARY, "--resamples", "0").text


def test_auto_is_polars_for_large_files(
    calibrant, binary: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "engine" not in evaluated(calibrant, *BINARY)
    monkeypatch.setattr(engines, "memory", lambda: 50_000)
    assert evaluated(calibrant, *BINARY)["engine"] == "polars"
    assert "engine" not in evaluated(calibrant, *BINARY, "--engine", "memory")
    assert "engine" not in evaluated(calibrant, "binary.csv", *BINARY[1:])


@pytest.mark.parametrize("engine", ENGINES)
def test_bad_rows(calibrant, tmp_path: Path, engine: str) -> None:
    prob = np.array([0.1, 0.2, 87.5, 99.5])
    frame = pl.DataFrame({"y": [0, 1, 1, 0], "p": prob})
    frame.write_parquet(tmp_path / "data.parquet")
    run = calibrant("evaluate", "data.parquet", "--label", "y", "--prob", "p", "--engine", engine)
    assert run.code == 2
    assert 'data.parquet: column "p" is no probability in 2 rows, such as ' in run.stderr


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, 1, None], 'data.parquet: column "y" is empty in some rows'),
        ([0, 1, 2], "has the labels 0, 1, 2: say with --pos-label"),
        ([0.0, 1.0, 0.5], 'data.parquet, some row: column "y" is 0.5, which is no label'),
        (["yes", "true", "True"], "has the labels True, true, yes: say with --pos-label"),
    ],
)
def test_bad_labels(calibrant, tmp_path: Path, values: list, message: str) -> None:
    pl.DataFrame({"y": values, "p": [0.1, 0.2, 0.3]}).write_parquet(tmp_path / "data.parquet")
    run = calibrant("evaluate", "data.parquet", "--label", "y", "--prob", "p", "--engine", "polars")
    assert run.code == 2
    assert message in " ".join(run.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("binary.csv", "--engine", "polars"), "--engine polars reads Parquet"),
        (("binary.parquet", "--engine", "polars", "--input", "logit"), "takes probabilities"),
        (("binary.parquet", "--spark-master", "local"), "--spark-master goes with --engine spark"),
        (("binary.parquet", "--engine", "polars", "--weight", "v"), 'no column "v"'),
    ],
)
def test_what_an_engine_does_not_take(
    calibrant, binary: pl.DataFrame, arguments: tuple[str, ...], message: str
) -> None:
    file, *options = arguments
    run = calibrant("evaluate", file, "--label", "y", "--prob", "p", *options)
    assert run.code == 2
    assert message in run.stderr


def test_an_engine_that_is_not_installed(
    calibrant, binary: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "duckdb" else found(name)
    )
    run = calibrant("evaluate", *BINARY, "--engine", "duckdb")
    assert run.code == 2
    assert 'pip install "calibrant[duckdb]"' in run.stderr


def test_fit(calibrant, binary: pl.DataFrame) -> None:
    for engine in ("memory", "polars"):
        run = calibrant(
            "fit", *BINARY, "--method", "platt", "--engine", engine, "-o", f"{engine}.json"
        )
        assert (run.code, run.stderr) == (0, "")
        calibrant("apply", f"{engine}.json", BINARY[0], "--prob", "p", "-o", f"{engine}.parquet")
    ours, theirs = (
        pl.read_parquet(f"{engine}.parquet")["calibrated_p"].to_numpy()
        for engine in ("memory", "polars")
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-8)
    run = calibrant("fit", *BINARY, "--engine", "polars", "-o", "auto.json")
    assert run.code == 2
    assert "name a --method" in run.stderr
