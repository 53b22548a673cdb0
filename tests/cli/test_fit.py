"""`calibrant fit`: the best calibrator by cross-validation, saved if it is worth it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import log_loss

import calibrant as cb
from calibrant import BetaCalibration, CrossValidated, TemperatureScaling
from calibrant.selection import compare_calibrators

BINARY = ("fit", "binary.csv", "--label", "y", "--prob", "p", "--output", "c.json")
ANIMALS = ("fit", "animals.csv", "--label", "animal", "--output", "c.json")
TWO_CLASSES = ["platt", "temperature", "beta", "isotonic", "histogram"]
MORE_CLASSES = ["temperature", "vector", "dirichlet"] + [f"ovr-{m}" for m in
    ("platt", "beta", "isotonic", "histogram")]  # fmt: skip


def test_auto_saves_what_the_library_recommends(
    calibrant, binary: pl.DataFrame, tmp_path: Path
) -> None:
    y, p = binary["y"].to_numpy(), binary["p"].to_numpy()
    run = calibrant(*BINARY, "--json", "--seed", "3", "--cv", "4")
    assert (run.code, run.stderr) == (0, "")
    assert list(run.json) == ["file", "normalized_rows", "method", "output", "notes", "comparison"]
    found = compare_calibrators(p, y, cv=4, metrics=["log_loss"], random_state=3)
    assert run.json["comparison"] == found.to_dict()
    losses = {
        name: s["log_loss"]["estimate"] for name, s in run.json["comparison"]["scores"].items()
    }
    assert set(losses) == {"uncalibrated", *TWO_CLASSES}
    assert list(losses.values()) == sorted(losses.values())
    assert losses["uncalibrated"] == pytest.approx(log_loss(y, p))
    beta = CrossValidated(BetaCalibration(), cv=4, random_state=3).fit(p, y)
    assert losses["beta"] == pytest.approx(log_loss(y, beta.oof_predictions_))
    assert run.json["method"] == found.recommended
    saved = cb.load(tmp_path / "c.json")
    assert saved.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(
        saved.predict_proba(p), found.calibrators[found.recommended].predict_proba(p)
    )


def test_what_a_person_sees(calibrant, binary: pl.DataFrame) -> None:
    run = calibrant(*BINARY)
    assert (run.code, run.stderr) == (0, "")
    lines = [line.split() for line in run.stdout.splitlines()]
    candidates = {*TWO_CLASSES, "uncalibrated"}
    names = [
        words[0]
        for words in lines
        if words and words[0].rstrip("*!") in candidates and words[1][0].isdigit()
    ]
    assert sorted(name.rstrip("*!") for name in names) == sorted(["uncalibrated", *TWO_CLASSES])
    (chosen,) = [name.rstrip("*!") for name in names if name.endswith("*")]
    assert f"{chosen} is better than no calibration: it lowers the log loss by" in run.text
    assert run.text.endswith(f"Saved {chosen} to c.json.")


@pytest.mark.parametrize("method", TWO_CLASSES)
def test_every_method_of_two_classes(
    calibrant, binary: pl.DataFrame, tmp_path: Path, method: str
) -> None:
    assert calibrant(*BINARY, "--method", method).code == 0
    prob = cb.load(tmp_path / "c.json").predict_proba([0.2, 0.8])
    assert prob[0] < prob[1]


@pytest.mark.parametrize("method", MORE_CLASSES)
def test_every_method_of_more_classes(
    calibrant, animals: pl.DataFrame, tmp_path: Path, method: str
) -> None:
    for columns in (["--prob-prefix", "p_"], ["--prob-prefix", "z_", "--input", "logit"]):
        assert calibrant(*ANIMALS, *columns, "--method", method, "--force").code == 0
        saved = cb.load(tmp_path / "c.json")
        assert saved.classes_.tolist() == ["dog", "cat", "eel"]


def test_logits_reach_the_method_that_takes_them(
    calibrant, animals: pl.DataFrame, tmp_path: Path
) -> None:
    options = ("--prob-prefix", "z_", "--input", "logit", "--method", "temperature")
    assert calibrant(*ANIMALS, *options).code == 0
    z = animals.select("z_dog", "z_cat", "z_eel").to_numpy()
    classes = ["dog", "cat", "eel"]
    expected = TemperatureScaling(input="logit").fit(
        z, animals["animal"].to_numpy(), labels=classes
    )
    saved = cb.load(tmp_path / "c.json")
    np.testing.assert_array_equal(saved.predict_proba(z), expected.predict_proba(z))


def test_weights_and_pos_label(calibrant, binary: pl.DataFrame, tmp_path: Path) -> None:
    options = ("--label", "name", "--pos-label", "lost", "--weight", "w", "--method", "beta")
    run = calibrant("fit", "binary.csv", "--prob", "p", "--output", "c.json", *options)
    assert run.code == 0
    y, p, w = (binary[name].to_numpy() for name in ("name", "p", "w"))
    expected = BetaCalibration().fit(p, y, sample_weight=w, labels=["won", "lost"])
    saved = cb.load(tmp_path / "c.json")
    assert saved.classes_.tolist() == ["won", "lost"]
    np.testing.assert_array_equal(saved.predict_proba(p), expected.predict_proba(p))


def test_nothing_is_saved_if_nothing_is_better(calibrant, tmp_path: Path) -> None:
    # Frequencies that are the predictions exactly: there is nothing to gain.
    rows = [(k < 2 * p, p / 10) for p in (2, 4, 5, 6, 8) for k in range(20)]
    pl.DataFrame(rows, schema=["y", "p"], orient="row").write_csv(tmp_path / "exact.csv")
    fit = ("fit", "exact.csv", "--label", "y", "--prob", "p", "--output", "c.json")
    run = calibrant(*fit)
    assert (run.code, run.stderr) == (0, "")
    assert "No calibrator has a lower log loss than the predictions as they are" in run.text
    assert "Nothing was saved." in run.text
    run = calibrant(*fit, "--json")
    assert (run.json["method"], run.json["output"]) == (None, None)
    assert run.json["comparison"]["recommended"] == "uncalibrated"
    assert not (tmp_path / "c.json").exists()


def test_a_method_that_fails_is_listed_with_its_reason(
    calibrant, animals: pl.DataFrame, binary: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise ValueError("beta has its reasons")

    monkeypatch.setattr(BetaCalibration, "fit", fail)
    run = calibrant(*BINARY, "--json")
    assert "beta has its reasons" in run.json["comparison"]["failures"]["beta"]
    run = calibrant(*BINARY, "--force")
    assert run.code == 0
    assert "beta was not fitted" in run.text
    assert "beta has its reasons" in run.text


def test_fewer_rows_of_a_class_than_folds(calibrant, tmp_path: Path) -> None:
    (tmp_path / "few.csv").write_text("y,p\n" + "0,0.2\n" * 20 + "1,0.5\n" * 3)
    few = ("fit", "few.csv", "--label", "y", "--prob", "p", "--output", "c.json")
    run = calibrant(*few)
    assert run.code == 2
    assert "no calibrator can be compared on these folds: class 1 has 3 rows" in run.stderr
    assert not (tmp_path / "c.json").exists()
    assert calibrant(*few, "--cv", "3").code == 0


def test_force(calibrant, binary: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("mine")
    assert calibrant(*BINARY).code == 2
    assert (tmp_path / "c.json").read_text() == "mine"
    assert calibrant(*BINARY, "--force").code == 0
    assert cb.load(tmp_path / "c.json").n_features_in_ == 1


def test_notes_of_what_is_saved(calibrant, tmp_path: Path) -> None:
    rows = [(k % 2, 0.6 if k % 2 else 0.4) for k in range(40)]  # always right
    pl.DataFrame(rows, schema=["y", "p"], orient="row").write_csv(tmp_path / "right.csv")
    fit = ("fit", "right.csv", "--label", "y", "--prob", "p", "--output", "c.json")
    run = calibrant(*fit, "--method", "temperature", "--json")
    assert "temperature is at its lower bound" in run.json["notes"][0]
    assert (run.json["method"], run.json["comparison"]) == ("temperature", None)
    assert "temperature: the temperature is at its lower bound" in calibrant(*fit, "--force").text


def test_two_columns_of_logits(calibrant, binary: pl.DataFrame, tmp_path: Path) -> None:
    """What was chosen can be applied to the same columns."""
    binary.with_columns(z0=pl.col("z") * -0.5, z1=pl.col("z") * 0.5).write_csv(tmp_path / "two.csv")
    columns = ("--prob", "z0", "--prob", "z1", "--input", "logit")
    run = calibrant("fit", "two.csv", "--label", "y", *columns, "--output", "c.json", "--json")
    assert run.code == 0
    assert "platt" not in run.json["comparison"]["scores"]
    run = calibrant("apply", "c.json", "two.csv", *columns, "--output", "new.csv")
    assert run.code == 0
    new = pl.read_csv(tmp_path / "new.csv")
    np.testing.assert_allclose(new["calibrated_z0"] + new["calibrated_z1"], 1)
