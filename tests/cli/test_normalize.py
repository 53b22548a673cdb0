"""Probabilities of several classes that were rounded, and `--normalize`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from calibrant import log_loss

COLUMNS = ("--label", "animal", "--prob-prefix", "p_")
NAMES = ("p_dog", "p_cat", "p_eel")


@pytest.fixture
def rounded(animals: pl.DataFrame, tmp_path: Path) -> pl.DataFrame:
    """Rounded to two decimals in rounded.csv; divided by their sums in exact.csv."""
    frame = animals.select("animal", pl.col(*NAMES).round(2))
    frame.write_csv(tmp_path / "rounded.csv")
    frame.write_parquet(tmp_path / "rounded.parquet")
    total = pl.sum_horizontal(*NAMES)
    divided = frame.with_columns(pl.col(name) / total for name in NAMES)
    divided.write_csv(tmp_path / "exact.csv")
    return frame


@pytest.fixture
def n_off(rounded: pl.DataFrame) -> int:
    count = int((np.abs(rounded.select(NAMES).to_numpy().sum(axis=1) - 1) > 1e-6).sum())
    assert 0 < count < len(rounded)
    return count


COMMANDS = {
    "evaluate": ("--resamples", "9"),
    "test": ("--resamples", "9"),
    "compare": ("--resamples", "9"),
    "fit": ("--method", "vector", "-o", "c.json", "--force"),
    "report": ("--resamples", "9", "-o", "r.html", "--force"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_divides(calibrant, rounded: pl.DataFrame, n_off: int, command: str) -> None:
    options = COMMANDS[command]
    refused = calibrant(command, "rounded.csv", *COLUMNS, *options)
    assert refused.code == 2
    assert "not to one: if they were rounded, pass --normalize" in refused.stderr
    run = calibrant(command, "rounded.csv", *COLUMNS, *options, "--normalize", "--json")
    said = f"--normalize: {n_off} of 400 rows were divided by their sums."
    assert said in run.stderr.splitlines()
    assert run.json["normalized_rows"] == n_off
    exact = calibrant(command, "exact.csv", *COLUMNS, *options, "--json")
    assert (run.code, exact.json["normalized_rows"]) == (exact.code, None)
    ignored = {"file", "normalized_rows"}
    for key in exact.json.keys() - ignored:
        if isinstance(exact.json[key], float):
            assert run.json[key] == pytest.approx(exact.json[key], rel=1e-9)
    assert exact.json.keys() == run.json.keys()


def test_each_row_is_divided_by_its_sum(calibrant, rounded: pl.DataFrame) -> None:
    found = calibrant("evaluate", "rounded.csv", *COLUMNS, "--normalize", "--json").json
    prob = rounded.select(NAMES).to_numpy()
    expected = log_loss(
        rounded["animal"].to_numpy(),
        prob / prob.sum(axis=1, keepdims=True),
        labels=["dog", "cat", "eel"],
    )
    assert found["metrics"]["log_loss"]["estimate"] == pytest.approx(expected, rel=1e-12)


def test_apply(calibrant, rounded: pl.DataFrame, n_off: int, tmp_path: Path) -> None:
    calibrant("fit", "exact.csv", *COLUMNS, "--method", "vector", "-o", "c.json")
    apply = ("apply", "c.json", "rounded.csv", "--prob-prefix", "p_", "-o", "out.csv")
    assert "pass --normalize" in calibrant(*apply).stderr
    run = calibrant(*apply, "--normalize", "--json")
    assert (run.code, run.json["normalized_rows"], run.json["rows"]) == (0, n_off, 400)
    assert f"{n_off} of 400 rows were divided" in run.stderr
    written = pl.read_csv(tmp_path / "out.csv")
    calibrant("apply", "c.json", "exact.csv", "--prob-prefix", "p_", "-o", "expected.csv")
    expected = pl.read_csv(tmp_path / "expected.csv")
    for name in NAMES:
        new = f"calibrated_{name}"
        np.testing.assert_allclose(written[new], expected[new], rtol=1e-9)
    assert written.select(rounded.columns).equals(rounded), "what was read stays as it was"


def test_columns_are_found(calibrant, rounded: pl.DataFrame, n_off: int) -> None:
    refused = calibrant("evaluate", "rounded.csv")
    assert refused.code == 2
    assert "do not sum to one in every row" in refused.stderr
    assert "if they were rounded, pass --normalize" in refused.stderr
    run = calibrant("evaluate", "rounded.csv", "--normalize", "--resamples", "0", "--json")
    assert run.json["columns"] == [*NAMES]
    assert run.json["normalized_rows"] == n_off
    assert "Taken: --label animal --prob p_dog" in run.stderr


@pytest.mark.parametrize(
    ("row", "total"), [("0,0,0", "0"), ("0.6,0.6,0.1", "1.3"), ("0.3,0.3,0.34", "0.94")]
)
def test_what_is_no_rounding(calibrant, tmp_path: Path, row: str, total: str) -> None:
    (tmp_path / "d.csv").write_text(f"y,p_a,p_b,p_c\na,0.3,0.3,0.4\nb,{row}\nc,0.2,0.4,0.4\n")
    run = calibrant("evaluate", "d.csv", "--label", "y", "--prob-prefix", "p_", "--normalize")
    assert run.code == 2
    assert f"line 3: the probabilities p_a, p_b, p_c sum to {total}, not to one" in run.stderr
    assert "by more than 0.05, which is no rounding" in run.stderr
    without = calibrant("evaluate", "d.csv", "--label", "y", "--prob-prefix", "p_")
    assert "--normalize" not in without.stderr, "it would not help"
    found = calibrant("evaluate", "d.csv", "--normalize")
    assert "do not sum to one in every row" in found.stderr
    assert "pass --normalize" not in found.stderr


def test_ten_classes_that_all_were_rounded_down(calibrant, tmp_path: Path) -> None:
    names = [f"p_{k}" for k in range(10)]
    rows = "".join(f"{k % 10},{','.join(['0.095'] * 10)}\n" for k in range(20))
    (tmp_path / "d.csv").write_text(f"y,{','.join(names)}\n{rows}")
    run = calibrant("evaluate", "d.csv", "--normalize", "--resamples", "0", "--json")
    assert run.json["normalized_rows"] == 20
    assert run.json["metrics"]["log_loss"]["estimate"] == pytest.approx(np.log(10))


def test_where_it_does_not_belong(calibrant, rounded: pl.DataFrame, binary: pl.DataFrame) -> None:
    run = calibrant("evaluate", "binary.csv", "--label", "y", "--prob", "p", "--normalize")
    assert (run.code, "--normalize is for several columns" in run.stderr) == (2, True)
    logits = ("--label", "animal", "--prob-prefix", "z_", "--input", "logit", "--normalize")
    run = calibrant("evaluate", "animals.csv", *logits)
    assert (run.code, "not for --input logit: leave it out" in run.stderr) == (2, True)
    for command in (("evaluate",), ("fit", "-o", "c.json", "--method", "vector")):
        run = calibrant(*command, "rounded.parquet", *COLUMNS, "--normalize", "--engine", "polars")
        assert run.code == 2
        assert "--normalize divides rows in memory, not in --engine polars" in run.stderr


def test_a_file_too_large_for_memory(
    calibrant, rounded: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calibrant.cli.engines.memory", lambda: 1_000)
    run = calibrant("evaluate", "rounded.parquet", *COLUMNS, "--normalize")
    assert (run.code, "use --engine memory" in run.stderr) == (2, True)
    run = calibrant("evaluate", "rounded.parquet", *COLUMNS, "--normalize", "--engine", "memory")
    assert run.code == 0
