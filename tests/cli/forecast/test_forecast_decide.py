"""`calibrant forecast decide`: what to do in each row, what it will cost and what it did cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import calibrant as cb
from calibrant import ThresholdLoss

NORMAL = ("--mean", "mu", "--sd", "sigma")
COSTS = ("--threshold", "-0.5", "--cost-false-alarm", "5", "--cost-miss", "1")
DECIDE = ("forecast", "decide", "proteins.csv", *NORMAL, *COSTS)
LOSSES = {
    "below": ThresholdLoss(-0.5, below=(1.0, 0.0), above=(0.0, 5.0)),
    "above": ThresholdLoss(-0.5, below=(0.0, 5.0), above=(1.0, 0.0)),
}


@pytest.mark.parametrize("side", [*LOSSES])
@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_are_those_of_the_report(calibrant, proteins, side: str, weighted: bool) -> None:
    forecast, y, loss = proteins.forecasts["normal"], proteins.y, LOSSES[side]
    weight = proteins.weight if weighted else None
    options = ("--act-when", side, "--target", "y", "--resamples", "99", "--seed", "2")
    options += ("--weight", "w") if weighted else ()
    run = calibrant(*DECIDE, *options, "--json")
    assert (run.code, run.stderr) == (0, "")
    found = run.json
    report = cb.decision_report(
        forecast, loss, y, n_resamples=99, random_state=2, sample_weight=weight
    )
    for key, estimate in (
        ("predicted_loss", report.predicted_loss),
        ("realised_loss", report.decision_loss),
        ("difference", report.difference),
    ):
        assert found[key] == pytest.approx(estimate._asdict(), rel=1e-12)
    assert found["predicted_always_acting"] == pytest.approx(report.predicted_always_1)
    assert found["predicted_never_acting"] == pytest.approx(report.predicted_always_0)
    assert found["interpretation"] == report.interpretation
    assert found["acting_rows"] == cb.bayes_decision(forecast, loss).sum()
    assert found["event"] == ("y <= -0.5" if side == "below" else "y > -0.5")
    assert found["level"] == pytest.approx(5 / 6)
    hit = y <= -0.5 if side == "below" else y > -0.5
    assert found["realised_always_acting"] == pytest.approx(np.average(5.0 * ~hit, weights=weight))
    assert found["realised_never_acting"] == pytest.approx(np.average(1.0 * hit, weights=weight))


@pytest.mark.parametrize("side", [*LOSSES])
@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])
def test_decisions_of_every_row(
    calibrant, proteins, tmp_path: Path, side: str, output: str
) -> None:
    assert calibrant(*DECIDE, "--act-when", side, "-o", output).code == 0
    read = pl.read_csv if output.endswith("csv") else pl.read_parquet
    written = read(tmp_path / output)
    assert written.columns == [*proteins.frame.columns, "decision", "probability"]
    below = proteins.forecasts["normal"].cdf(-0.5)
    prob = below if side == "below" else 1.0 - below
    np.testing.assert_allclose(written["probability"].to_numpy(), prob, rtol=1e-12)
    assert written["decision"].dtype == pl.Int64
    assert written["decision"].to_list() == (prob >= 5 / 6).astype(int).tolist()
    assert 0 < written["decision"].sum() < 900


@pytest.mark.parametrize(("side", "acts"), [("below", True), ("above", False)])
def test_costs_are_those_of_the_bet(calibrant, tmp_path: Path, side: str, acts: bool) -> None:
    """Three of four members are at or below 0; a miss is dear, a false alarm cheap, or reversed."""
    (tmp_path / "data.csv").write_text("m1,m2,m3,m4,y\n-3,-2,-1,1,-1\n-3,-2,-1,1,1\n")
    command = ("forecast", "decide", "data.csv", "--members-prefix", "m", "--target", "y")
    command += ("--threshold", "0", "--act-when", side)
    for false_alarm, miss in ((1.0, 9.0), (9.0, 1.0)):
        costs = ("--cost-false-alarm", f"{false_alarm}", "--cost-miss", f"{miss}")
        found = calibrant(*command, *costs, "--json").json
        prob = 0.75 if acts else 0.25  # of what is bet on
        assert found["predicted_always_acting"] == pytest.approx((1 - prob) * false_alarm)
        assert found["predicted_never_acting"] == pytest.approx(prob * miss)
        # Each of the two outcomes came once.
        assert found["realised_always_acting"] == pytest.approx(false_alarm / 2)
        assert found["realised_never_acting"] == pytest.approx(miss / 2)


def test_help_says_the_same_of_the_costs(calibrant) -> None:
    text = calibrant("forecast", "decide", "--help").text
    assert "the two costs are those of that bet" in text
    assert "change sides" not in text


def test_ties_act(calibrant, tmp_path: Path) -> None:
    # Two of three members at or below 0: acting costs as much as not acting.
    (tmp_path / "data.csv").write_text("m1,m2,m3\n-1,0,1\n-1,1,1\n")
    costs = ("--threshold", "0", "--cost-false-alarm", "2", "--cost-miss", "1")
    for side, decisions in (("below", [1, 0]), ("above", [0, 1])):
        command = ("forecast", "decide", "data.csv", "--members-prefix", "m", *costs)
        assert calibrant(*command, "--act-when", side, "-o", "out.csv", "--force").code == 0
        assert pl.read_csv(tmp_path / "out.csv")["decision"].to_list() == decisions


def test_every_family_and_a_calibrator(calibrant, proteins, tmp_path: Path, family) -> None:
    name, options = family
    recalibration = cb.AverageRecalibration().fit(proteins.forecasts[name], proteins.y)
    recalibration.save(tmp_path / "map.json")
    expected = recalibration.transform(proteins.forecasts[name])
    command = ("forecast", "decide", "proteins.csv", *options, *COSTS, "--calibrator", "map.json")
    found = calibrant(*command, "-o", "out.parquet", "--json").json
    assert (found["calibrator"], found["output"]) == ("map.json", "out.parquet")
    loss = LOSSES["below"]
    assert found["predicted_loss"]["estimate"] == pytest.approx(cb.predicted_loss(expected, loss))
    assert found["realised_loss"] is None
    written = pl.read_parquet(tmp_path / "out.parquet")
    assert written["decision"].to_list() == cb.bayes_decision(expected, loss).tolist()
    np.testing.assert_allclose(written["probability"].to_numpy(), expected.cdf(-0.5), rtol=1e-12)


def test_what_a_person_sees(calibrant, proteins) -> None:
    found = calibrant(*DECIDE, "--target", "y", "--json").json
    run = calibrant(*DECIDE, "--target", "y")
    assert (run.code, run.stderr) == (0, "")
    assert max(map(len, run.stdout.splitlines())) <= 80
    assert "To act is to bet on y <= -0.5. A false alarm costs 5, a miss 1" in run.text
    assert f"so in {found['acting_rows']} rows ({100 * found['acting_share']:.1f} %)" in run.text
    assert found["interpretation"] in run.text
    for words, key in (("act by the forecast", "loss"), ("always act", "always_acting")):
        predicted, came = found[f"predicted_{key}"], found[f"realised_{key}"]
        if key == "loss":
            shown = "{estimate:.4f} ({low:.4f} to {high:.4f})"
            expected = f"{words} {shown.format(**predicted)} {shown.format(**came)}"
        else:
            expected = f"{words} {predicted:.4f} {came:.4f}"
        assert expected in run.text
    saved = found["realised_never_acting"] - found["realised_loss"]["estimate"]
    assert f"Acting by the forecast saved {saved:.4f} per case against never acting" in run.text


def test_without_outcomes_nothing_is_said_of_what_came(calibrant, proteins) -> None:
    run = calibrant(*DECIDE)
    assert run.code == 0
    assert "Only outcomes can tell whether that comes." in run.text
    assert "came" not in run.text
    assert "saved" not in run.text


def test_forecasts_that_are_worth_nothing(calibrant, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = {"mu": rng.normal(size=200), "sigma": np.full(200, 0.1), "y": np.full(200, 3.0)}
    pl.DataFrame(frame).write_csv(tmp_path / "proteins.csv")
    run = calibrant(*DECIDE, "--target", "y")
    assert "Acting by the forecast saved nothing against never acting." in run.text


def test_help_says_what_acting_means(calibrant) -> None:
    text = calibrant("forecast", "decide", "--help").text
    assert "To act is to bet that the outcome will be at or below the threshold" in text
    assert "Not to act when it comes at or below is a miss" in text
    assert "With --act-when above, to act is to bet that it will be above the threshold" in text


def test_an_existing_file_stays(calibrant, proteins, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("mine")
    run = calibrant(*DECIDE, "-o", "out.csv")
    assert run.code == 2
    assert "out.csv exists already: choose another name or pass --force" in run.stderr
    assert (tmp_path / "out.csv").read_text() == "mine"
    assert not run.stdout
    run = calibrant(*DECIDE, "-o", "proteins.csv", "--force")
    assert "proteins.csv is a file to be read" in run.stderr


def test_names_that_are_taken(calibrant, proteins, tmp_path: Path) -> None:
    frame = proteins.frame.with_columns(pl.lit("?").alias("decision"))
    frame.write_csv(tmp_path / "proteins.csv")
    run = calibrant(*DECIDE, "-o", "out.csv")
    assert run.code == 2
    assert 'has a column "decision" already' in run.stderr
    assert calibrant(*DECIDE, "-o", "out.csv", "--prefix", "my_").code == 0
    assert pl.read_csv(tmp_path / "out.csv").columns[-2:] == ["my_decision", "my_probability"]
