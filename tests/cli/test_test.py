"""`calibrant test`: a gate whose exit code says whether calibration is rejected."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from calibrant import calibration_test


def test_rejected(calibrant, binary: pl.DataFrame) -> None:
    run = calibrant("test", "binary.csv", "--label", "y", "--prob", "p", "--resamples", "99")
    assert (run.code, run.stderr) == (3, "")
    assert run.text.endswith("Calibration is rejected at level 0.05.")
    run = calibrant("test", "binary.csv", "--label", "y", "--prob", "p", "--json")
    assert run.code == 3
    assert run.json["rejected"] is True
    expected = calibration_test(binary["y"].to_numpy(), binary["p"].to_numpy(), random_state=0)
    assert run.json["pvalue"] == expected.pvalue
    assert run.json["statistic"] == expected.statistic


def test_not_rejected(calibrant, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(300)
    pl.DataFrame({"y": rng.random(300) < p, "p": p}).write_csv(tmp_path / "fine.csv")
    fine = ("test", "fine.csv", "--label", "y", "--prob", "p", "--resamples", "99")
    run = calibrant(*fine)
    assert (run.code, run.stderr) == (0, "")
    assert run.text.endswith("Calibration is not rejected at level 0.05.")
    pvalue = calibrant(*fine, "--json").json["pvalue"]
    assert calibrant(*fine, "--alpha", str(pvalue)).code == 3
    assert calibrant(*fine, "--alpha", str(pvalue - 1e-9)).code == 0


def test_kinds_and_methods(calibrant, animals: pl.DataFrame) -> None:
    y = animals["animal"].to_numpy()
    prob = animals.select("p_dog", "p_cat", "p_eel").to_numpy()
    for kind in ("canonical", "confidence"):
        for method in ("bootstrap", "asymptotic"):
            run = calibrant(
                *("test", "animals.csv", "--label", "animal", "--prob-prefix", "p_", "--json"),
                *("--kind", kind, "--method", method, "--resamples", "99"),
            )
            expected = calibration_test(
                *(y, prob),
                kind=kind,
                method=method,
                n_resamples=99,
                random_state=0,
                labels=["dog", "cat", "eel"],
            )
            assert run.json["pvalue"] == expected.pvalue
            assert run.code == (3 if expected.pvalue <= 0.05 else 0)


def test_sorted_rows_are_noted_on_stderr(calibrant, binary: pl.DataFrame, tmp_path: Path) -> None:
    binary.sort("p").write_csv(tmp_path / "sorted.csv")
    sorted_rows = ("test", "sorted.csv", "--label", "y", "--prob", "p", "--method", "asymptotic")
    run = calibrant(*sorted_rows, "--json")
    assert run.stderr.startswith("Note: ")
    assert run.json["method"] == "asymptotic"
    assert calibrant(*sorted_rows, "--shuffle").stderr == ""


def test_alpha(calibrant, binary: pl.DataFrame) -> None:
    for alpha in ("0", "1", "5", "nan"):
        run = calibrant("test", "binary.csv", "--label", "y", "--prob", "p", "--alpha", alpha)
        assert run.code == 2
        assert run.stderr.startswith("Error: --alpha must lie between 0 and 1")
