"""`calibrant compare`: which calibrator is better, and is it sure?"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from calibrant.selection import compare_calibrators

BINARY = ("compare", "binary.csv", "--label", "y", "--prob", "p")


def test_it_is_the_comparison_of_the_library(calibrant, binary: pl.DataFrame) -> None:
    options = ("--weight", "w", "--cv", "3", "--seed", "2", "--resamples", "99", "--json")
    run = calibrant(*BINARY, *options)
    assert (run.code, run.stderr) == (0, "")
    found = compare_calibrators(
        binary["p"], binary["y"], sample_weight=binary["w"], cv=3, random_state=2, n_resamples=99
    )
    read = {"file": "binary.csv", "columns": ["p"], "normalized_rows": None}
    assert run.json == {**read, **found.to_dict()}
    run = calibrant(*BINARY, "--metric", "brier", "--metric", "mce", "--json")
    assert run.json["metrics"] == ["brier", "mce"]


def test_what_a_person_sees(calibrant, binary: pl.DataFrame) -> None:
    run = calibrant(*BINARY)
    assert (run.code, run.stderr) == (0, "")
    found = compare_calibrators(binary["p"], binary["y"], random_state=0)
    assert found.interpretation in run.text
    for line in repr(found).splitlines():
        if line.startswith(("log_loss", "brier", "ece", "beta", "uncalibrated")):
            assert line in run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 80


def test_logits_of_more_classes(calibrant, animals: pl.DataFrame) -> None:
    run = calibrant(
        "compare", "animals.csv", "--label", "animal", "--prob-prefix", "z_", "--input", "logit",
        "--metric", "log_loss", "--json",
    )  # fmt: skip
    assert run.code == 0
    names = ["dog", "cat", "eel"]
    found = compare_calibrators(
        animals.select(f"z_{name}" for name in names).to_numpy(), animals["animal"], labels=names,
        input="logit", metrics=["log_loss"], random_state=0,
    )  # fmt: skip
    assert run.json["recommended"] == found.recommended
    assert run.json["classes"] == names


@pytest.mark.parametrize(("options", "message"), [
    (("--metric", "auc"), "auc"),
    (("--cv", "1"), "--cv"),
    (("--resamples", "0"), "--resamples"),
    (("--cv", "300"), "no calibrator can be compared on these folds: class 0 has"),
])  # fmt: skip
def test_bad_options(
    calibrant, binary: pl.DataFrame, options: tuple[str, str], message: str, tmp_path: Path
) -> None:
    run = calibrant(*BINARY, *options)
    assert run.code == 2
    assert message in run.stderr
