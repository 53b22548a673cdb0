"""`calibrant evaluate`: the library's numbers, for people and for machines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import brier_score_loss, log_loss

from calibrant import ace, calibration_test, confidence_interval, ece, mce, reliability_table

P = ["p_dog", "p_cat", "p_eel"]
Z = ["z_dog", "z_cat", "z_eel"]


def evaluate(calibrant, *arguments: str, resamples: int = 0) -> dict:
    run = calibrant("evaluate", *arguments, "--resamples", str(resamples), "--json")
    assert (run.code, run.stderr) == (0, "")
    assert run.stdout.count("\n") == 1
    return run.json


def estimates(content: dict) -> dict[str, float]:
    return {key: metric["estimate"] for key, metric in content["metrics"].items()}


def test_numbers_are_those_of_the_library(calibrant, binary: pl.DataFrame) -> None:
    y, p = binary["y"].to_numpy(), binary["p"].to_numpy()
    content = evaluate(calibrant, "binary.csv", "--label", "y", "--prob", "p", resamples=19)
    assert estimates(content) == pytest.approx(
        {
            "ece": ece(y, p),
            "ece_l2_debiased": ece(y, p, norm="l2", debiased=True),
            "mce": mce(y, p),
            "ace": ace(y, p),
            "brier": brier_score_loss(y, p),
            "log_loss": log_loss(y, p),
        }
    )
    interval = confidence_interval(y, p, metric="ece", n_resamples=19, random_state=0)
    assert content["metrics"]["ece"]["low"] == interval.low
    assert content["metrics"]["ece"]["high"] == interval.high
    test = calibration_test(y, p, n_resamples=19, random_state=0)
    assert content["test"]["pvalue"] == test.pvalue
    assert content["table"] == reliability_table(y, p).to_dict()
    assert "overconfident" in content["verdict"]["findings"]


def test_keys_are_stable(calibrant, binary: pl.DataFrame, animals: pl.DataFrame) -> None:
    keys = [
        "file",
        "columns",
        "normalized_rows",
        "n",
        "classes",
        "rates",
        "metrics",
        "verdict",
        "table",
        "test",
    ]
    two = evaluate(calibrant, "binary.csv", "--label", "y", "--prob", "p")
    assert list(two) == keys
    assert two["metrics"]["ece"].keys() == {"estimate", "low", "high"}
    assert two["test"] is None
    three = evaluate(calibrant, "animals.csv", "--label", "animal", "--prob-prefix", "p_")
    assert list(three) == keys
    names = ["ece", "ece_l2_debiased", "mce", "ace"]
    kinds = ("confidence", "classwise")
    assert list(three["metrics"]) == [
        *(f"{name}_{kind}" for kind in kinds for name in names),
        "brier",
        "log_loss",
    ]


def test_columns_go_to_the_classes_that_they_are_named_after(
    calibrant, animals: pl.DataFrame
) -> None:
    y, prob = animals["animal"].to_numpy(), animals.select(P).to_numpy()
    classes = ["dog", "cat", "eel"]
    content = evaluate(calibrant, "animals.csv", "--label", "animal", "--prob-prefix", "p_")
    assert content["classes"] == classes
    assert content["columns"] == P
    expected = ece(y, prob, labels=classes)
    assert estimates(content)["ece_classwise"] == pytest.approx(expected)
    moved = [argument for name in reversed(P) for argument in ("--prob", name)]
    content = evaluate(calibrant, "animals.csv", "--label", "animal", *moved)
    assert content["classes"] == classes[::-1]
    assert estimates(content)["ece_classwise"] == pytest.approx(expected)


def test_columns_that_are_not_named_after_classes_follow_their_order(
    calibrant, animals: pl.DataFrame
) -> None:
    y, prob = animals["code"].to_numpy(), animals.select(P).to_numpy()
    content = evaluate(calibrant, "animals.csv", "--label", "code", "--prob-prefix", "p_")
    assert content["classes"] == [0, 1, 2]
    assert estimates(content)["ece_classwise"] == pytest.approx(ece(y, prob))


def test_a_class_that_never_happened(calibrant, animals: pl.DataFrame, tmp_path: Path) -> None:
    frame = animals.filter(pl.col("animal") != "cat")
    frame.write_csv(tmp_path / "some.csv")
    content = evaluate(calibrant, "some.csv", "--label", "animal", "--prob-prefix", "p_")
    assert content["classes"] == ["dog", "cat", "eel"]
    assert content["rates"]["cat"] == 0


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("label", "positive"), [("y", None), ("y", "1"), ("flag", None), ("flag", "true")]
)
def test_labels_of_every_kind(
    calibrant, binary: pl.DataFrame, suffix: str, label: str, positive: str | None
) -> None:
    options = [] if positive is None else ["--pos-label", positive]
    content = evaluate(calibrant, f"binary.{suffix}", "--label", label, "--prob", "p", *options)
    expected = ece(binary["y"].to_numpy(), binary["p"].to_numpy())
    assert estimates(content)["ece"] == pytest.approx(expected)


def test_pos_label(calibrant, binary: pl.DataFrame) -> None:
    y, p = binary["y"].to_numpy(), binary["p"].to_numpy()
    for label, positive, outcome in [
        ("name", "won", y),
        ("name", "lost", 1 - y),
        ("y", "0", 1 - y),
    ]:
        content = evaluate(
            calibrant, "binary.csv", "--label", label, "--prob", "p", "--pos-label", positive
        )
        assert estimates(content)["ece"] == pytest.approx(ece(outcome, p))


def test_pos_label_is_taken_by_the_letter(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("y,p\nYes,0.1\nyes,0.8\n")
    content = evaluate(calibrant, "data.csv", "--label", "y", "--prob", "p", "--pos-label", "yes")
    assert content["classes"] == ["Yes", "yes"]


def test_booleans_are_written_in_several_ways(calibrant, binary: pl.DataFrame) -> None:
    for file in ("binary.csv", "binary.parquet"):
        for positive in ("true", "True", "TRUE"):
            options = ("--label", "flag", "--prob", "p", "--pos-label", positive)
            assert evaluate(calibrant, file, *options)["classes"] == [False, True]


def test_weights_count_as_repeated_rows(calibrant, binary: pl.DataFrame, tmp_path: Path) -> None:
    binary[np.repeat(np.arange(400), binary["w"])].write_csv(tmp_path / "repeated.csv")
    once = evaluate(calibrant, "binary.csv", "--label", "y", "--prob", "p", "--weight", "w")
    repeated = evaluate(calibrant, "repeated.csv", "--label", "y", "--prob", "p")
    for key in ("ece", "mce", "brier", "log_loss"):
        assert estimates(once)[key] == pytest.approx(estimates(repeated)[key])
    assert once["test"] is None


def test_uneven_weights_say_less(calibrant, binary: pl.DataFrame, tmp_path: Path) -> None:
    """A few rows carry nearly all of the weight: Kish's effective number of rows is small."""
    weight = np.where(np.arange(400) < 20, 1.0, 1e-3) + 0.25e-3
    binary.with_columns(w=pl.Series(weight)).write_parquet(tmp_path / "w.parquet")
    columns = ("--label", "y", "--prob", "p")
    even = evaluate(calibrant, "w.parquet", *columns)["verdict"]
    uneven = evaluate(calibrant, "w.parquet", *columns, "--weight", "w")["verdict"]
    size = weight.sum() ** 2 / (weight**2).sum()
    assert uneven["expected_ece"] > np.sqrt(200 / size) * even["expected_ece"]


@pytest.mark.parametrize("n_columns", [1, 2])
def test_losses_of_certain_forecasts_of_names(calibrant, tmp_path: Path, n_columns: int) -> None:
    """Text labels, weights, and probabilities of 0 and 1 that are right and wrong."""
    y = ["won", "lost", "won", "lost", "won"]
    p, w = np.array([1.0, 0.0, 0.0, 0.3, 0.9]), np.array([3.0, 1.0, 0.5, 0.0, 2.0])
    frame = pl.DataFrame({"y": y, "p_lost": 1 - p, "p_won": p, "w": w})
    frame.write_parquet(tmp_path / "d.parquet")
    columns = (
        ("--prob", "p_won", "--pos-label", "won") if n_columns == 1 else ("--prob-prefix", "p_")
    )
    content = evaluate(calibrant, "d.parquet", "--label", "y", *columns, "--weight", "w")
    won = np.array(y) == "won"
    for key, expected in [
        ("log_loss", log_loss(won, p, sample_weight=w)),
        ("brier", brier_score_loss(won, p, sample_weight=w)),
    ]:
        assert estimates(content)[key] == pytest.approx(expected, rel=1e-12)


def test_losses_of_certain_forecasts_of_three_classes(calibrant, tmp_path: Path) -> None:
    y = np.array(["c", "a", "b", "c"])
    p = np.array([[0.0, 0.0, 1.0], [0.0, 0.5, 0.5], [0.25, 0.5, 0.25], [0.1, 0.2, 0.7]])
    w = np.array([1.0, 2.0, 3.0, 0.25])
    frame = pl.DataFrame({"y": y, "w": w} | {f"p_{k}": p[:, i] for i, k in enumerate("abc")})
    frame.write_csv(tmp_path / "d.csv")
    options = ("--label", "y", "--prob-prefix", "p_", "--weight", "w")
    found = estimates(evaluate(calibrant, "d.csv", *options))
    assert found["log_loss"] == pytest.approx(log_loss(y, p, sample_weight=w), rel=1e-12)
    happened = y[:, np.newaxis] == np.array(["a", "b", "c"])
    brier = np.average(((p - happened) ** 2).sum(axis=1), weights=w)
    assert found["brier"] == pytest.approx(brier, rel=1e-12)


def test_logits(calibrant, binary: pl.DataFrame, animals: pl.DataFrame) -> None:
    for file, label, columns, logits in [
        ("binary.csv", "y", ["--prob", "p"], ["--prob", "z"]),
        ("animals.csv", "animal", ["--prob-prefix", "p_"], ["--prob-prefix", "z_"]),
    ]:
        from_prob = evaluate(calibrant, file, "--label", label, *columns)
        from_logits = evaluate(calibrant, file, "--label", label, *logits, "--input", "logit")
        assert estimates(from_logits) == pytest.approx(estimates(from_prob))


def test_bins_and_strategy(calibrant, binary: pl.DataFrame) -> None:
    y, p = binary["y"].to_numpy(), binary["p"].to_numpy()
    options = ("--bins", "7", "--strategy", "quantile")
    content = evaluate(calibrant, "binary.csv", "--label", "y", "--prob", "p", *options)
    assert estimates(content)["ece"] == pytest.approx(ece(y, p, n_bins=7, strategy="quantile"))


def test_what_a_person_sees(calibrant, binary: pl.DataFrame) -> None:
    run = calibrant("evaluate", "binary.csv", "--label", "y", "--prob", "p", "--resamples", "19")
    assert (run.code, run.stderr) == (0, "")
    assert run.text.startswith("binary.csv: 400 rows; p predicts 1, which happened in")
    assert "Overconfident: predictions are too extreme" in run.text
    assert f"{ece(binary['y'].to_numpy(), binary['p'].to_numpy()):.5f}" in run.text
    assert "Kernel test: p = " in run.text


def test_our_fault_is_exit_code_1(
    calibrant, binary: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr("calibrant.cli.evaluation.evaluate", broken)
    run = calibrant("evaluate", "binary.csv", "--label", "y", "--prob", "p")
    assert run.code == 1
    assert run.stderr.startswith("Error: calibrant failed unexpectedly (RuntimeError: out of luck)")
    assert not run.stdout


def test_too_little_memory_is_no_fault_of_ours(
    calibrant, binary: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def greedy(*arguments: object, **options: object) -> None:
        raise MemoryError

    monkeypatch.setattr("calibrant.cli.evaluation.evaluate", greedy)
    run = calibrant("evaluate", "binary.csv", "--label", "y", "--prob", "p")
    assert run.code == 2
    assert "too little memory" in run.stderr


def test_what_is_piped_on(calibrant, binary: pl.DataFrame, animals: pl.DataFrame) -> None:
    """80 columns, no colours, no progress, nothing on stderr."""
    evaluate = ("evaluate", "animals.csv", "--label", "animal", "--prob-prefix", "p_")
    fit = ("fit", "binary.csv", "--label", "y", "--prob", "p", "--output", "c.json")
    test = ("test", "binary.csv", "--label", "y", "--prob", "p")
    for arguments, code in [(evaluate, 0), (fit, 0), (test, 3)]:
        run = calibrant(*arguments)
        assert (run.code, run.stderr) == (code, "")
        assert "\x1b" not in run.stdout
        assert max(map(len, run.stdout.splitlines())) <= 80


def test_in_a_pipe(binary: pl.DataFrame, tmp_path: Path) -> None:
    """As a program of its own."""
    main = "from calibrant.cli import main; main()"
    evaluate = ("evaluate", "-", "--label", "y", "--prob", "p", "--resamples", "0", "--json")
    ran = subprocess.run(
        [sys.executable, "-c", main, *evaluate],
        input=(tmp_path / "binary.csv").read_bytes(),
        capture_output=True,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert json.loads(ran.stdout)["n"] == 400
