"""`calibrant forecast evaluate`: the library's numbers, for people and for machines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import calibrant as cb
from calibrant.forecasts import Normal, Quantiles

NORMAL = ("--mean", "mu", "--sd", "sigma", "--target", "y")
EVALUATE = ("forecast", "evaluate", "proteins.csv", *NORMAL)


def makers(y):
    """The decision makers over whom the reliability gap is averaged."""
    thresholds = np.linspace(*np.quantile(y, [0.02, 0.98]), 50)
    return {"thresholds": thresholds, "total": 1.0, "strict": False, "n_resamples": 0}


def evaluate(calibrant, *arguments: str) -> dict:
    run = calibrant("forecast", "evaluate", *arguments, "--json")
    assert (run.code, run.stderr) == (0, "")
    assert run.stdout.count("\n") == 1
    return run.json


@pytest.mark.parametrize("file", ["proteins.csv", "proteins.parquet"])
def test_numbers_are_those_of_the_library(calibrant, proteins, family, file: str) -> None:
    name, options = family
    forecast, y = proteins.forecasts[name], proteins.y
    found = evaluate(calibrant, file, *options, "--target", "y")
    assert found["n"] == 900
    assert_numbers(found, forecast, y, None)
    if name == "ensemble":
        assert found["log_score"] is None
    else:
        assert found["log_score"] == pytest.approx(cb.log_score(forecast, y), rel=1e-12)


def test_weights(calibrant, proteins) -> None:
    found = evaluate(calibrant, "proteins.csv", *NORMAL, "--weight", "w")
    assert_numbers(found, proteins.forecasts["normal"], proteins.y, proteins.weight)
    effective = proteins.weight.sum() ** 2 / (proteins.weight**2).sum()
    by_chance = found["average_calibration_error"]["by_chance"]
    assert by_chance == pytest.approx(np.sqrt(np.pi / 32 / effective))


def assert_numbers(found: dict, forecast, y, weight) -> None:
    weighted = {"sample_weight": weight}
    average = found["average_calibration_error"]
    expected = cb.average_calibration_error(forecast, y, **weighted)
    assert average["estimate"] == pytest.approx(expected, rel=1e-12)
    tce = cb.threshold_calibration_error(forecast, y, **weighted)
    errors = found["threshold_calibration_error"]
    assert errors["mean"] == pytest.approx(tce.mean, rel=1e-12)
    assert errors["max"] == pytest.approx(tce.max, rel=1e-12)
    assert errors["share_above_null"] == tce.share_above_null
    for name in ("value", "null_quantile", "largest"):
        values = np.array(errors[name], dtype=float)
        np.testing.assert_allclose(values, getattr(tce, name), rtol=1e-12)
    coverage = cb.interval_coverage(forecast, y, **weighted).to_dict()
    for name, values in coverage.items():
        assert found["interval_coverage"][name] == pytest.approx(values, rel=1e-12)
    assert found["crps"] == pytest.approx(cb.crps(forecast, y, **weighted), rel=1e-12)
    table = cb.decision_table(forecast, y, **makers(y), **weighted)
    gap = found["reliability_gap"]["estimate"]
    assert gap == pytest.approx(table.overall()["reliability_gap"], rel=1e-12)
    np.testing.assert_allclose(found["decision_table"]["predicted_loss"], table.predicted_loss)


def test_what_a_person_sees(calibrant, proteins) -> None:
    run = calibrant(*EVALUATE)
    assert (run.code, run.stderr) == (0, "")
    found = evaluate(calibrant, "proteins.csv", *NORMAL)
    assert max(map(len, run.stdout.splitlines())) <= 80
    assert run.text.startswith("proteins.csv: 900 rows; normal forecasts, mean mu and standard")
    assert found["verdict"]["text"] in run.text
    average = found["average_calibration_error"]
    shown = f"average calibration error {average['estimate']:.4f} {average['by_chance']:.4f}"
    assert shown in run.text
    gap = found["reliability_gap"]
    assert f"per unit of cost {gap['estimate']:.4f} {gap['by_chance']:.4f}" in run.text
    assert f"CRPS, in the unit of y {found['crps']:.4f}" in run.text
    assert f"log score {found['log_score']:.4f}" in run.text
    held = 100 * found["interval_coverage"]["coverage"][2]
    assert f"90 % {held:.1f} %" in run.text


def test_keys_are_stable(calibrant, proteins) -> None:
    found = evaluate(calibrant, "proteins.csv", *NORMAL)
    assert list(found) == [
        "file", "columns", "target", "calibrator", "n", "verdict", "average_calibration_error",
        "threshold_calibration_error", "interval_coverage", "crps", "log_score",
        "reliability_gap", "decision_table",
    ]  # fmt: skip
    assert (found["columns"], found["target"]) == (["mu", "sigma"], "y")
    assert found["calibrator"] is None


def test_members_are_taken_in_the_order_of_their_numbers(calibrant, proteins) -> None:
    found = evaluate(calibrant, "proteins.csv", "--members-prefix", "m", "--target", "y")
    assert found["columns"] == [f"m{k}" for k in range(1, 13)]


def test_crossing_quantiles_can_be_sorted(calibrant, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    frame = pl.DataFrame({"a=b": values[:, 0], "c,d": values[:, 1], "e": values[:, 2], "y": y})
    frame.write_csv(tmp_path / "data.csv")
    options = ("data.csv", "--quantiles", "c,d=0.5,a=b=0.1,e=0.9", "--target", "y")
    found = evaluate(calibrant, *options, "--sort-quantiles")
    forecast = Quantiles([0.1, 0.5, 0.9], values, sort=True)
    assert found["columns"] == ["a=b", "c,d", "e"]
    assert found["crps"] == pytest.approx(cb.crps(forecast, y), rel=1e-12)


@pytest.mark.parametrize(
    ("shift", "scale", "finding"),
    [
        (0.5, 1.0, "biased high"),
        (-0.5, 1.0, "biased low"),
        (0.0, 0.6, "overconfident"),
        (0.0, 1.6, "underconfident"),
        (0.0, 1.0, None),
    ],
)
def test_the_verdict(calibrant, tmp_path: Path, shift, scale, finding) -> None:
    rng = np.random.default_rng(1)
    mu = rng.normal(size=800)
    frame = pl.DataFrame({"mu": mu + shift, "sigma": np.full(800, scale), "y": rng.normal(mu)})
    frame.write_parquet(tmp_path / "data.parquet")
    found = evaluate(calibrant, "data.parquet", *NORMAL)
    verdict = found["verdict"]
    if finding is None:
        assert verdict["findings"] == []
        assert "No clear sign of miscalibration" in verdict["text"]
    else:
        assert verdict["findings"][0] == finding
        assert verdict["text"].startswith(finding.capitalize())
    if finding in ("overconfident", "underconfident"):
        assert (
            f"central intervals hold {100 * verdict['mean_coverage']:.1f} % of the outcomes where "
            "they promise 50 %, on average over all levels" in verdict["text"]
        )


def test_the_verdict_sees_what_averages_hide(calibrant, tmp_path: Path) -> None:
    # Too wide in one half of the rows, too narrow in the other: calibrated on average, nearly.
    rng = np.random.default_rng(0)
    mu = rng.normal(size=4000)
    true = np.where(mu > 0.0, 1.45, 0.6)
    forecast = {"mu": mu, "sigma": np.ones(4000), "y": rng.normal(mu, true)}
    pl.DataFrame(forecast).write_parquet(tmp_path / "data.parquet")
    verdict = evaluate(calibrant, "data.parquet", *NORMAL)["verdict"]
    assert "decisions" in verdict["findings"]
    assert verdict["decisions_ratio"] > 1.2 * verdict["shape_ratio"]


def test_calibrated_forecasts_are_rarely_called_miscalibrated(calibrant, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    calm = 0
    for _ in range(12):
        mu, sigma = rng.normal(size=300), rng.uniform(0.5, 2.0, 300)
        frame = pl.DataFrame({"mu": mu, "sigma": sigma, "y": rng.normal(mu, sigma)})
        frame.write_parquet(tmp_path / "data.parquet")
        found = evaluate(calibrant, "data.parquet", *NORMAL)
        calm += found["verdict"]["findings"] == []
    assert calm >= 11


def test_the_gap_by_chance_is_that_of_outcomes_drawn_from_the_forecasts(
    calibrant, proteins, tmp_path: Path
) -> None:
    forecast = proteins.forecasts["normal"]
    drawn = forecast.rvs(random_state=5)
    frame = proteins.frame.with_columns(pl.Series("y", drawn))
    frame.write_parquet(tmp_path / "drawn.parquet")
    by_chance = evaluate(calibrant, "drawn.parquet", *NORMAL)["reliability_gap"]["by_chance"]
    gaps = [
        cb.decision_table(forecast, y, **makers(drawn)).overall()["reliability_gap"]
        for y in forecast.rvs(60, random_state=0)
    ]
    assert by_chance == pytest.approx(np.mean(gaps), abs=4 * np.std(gaps) / np.sqrt(60))


def test_with_a_calibrator_both_are_measured(calibrant, proteins, tmp_path: Path) -> None:
    forecast, y = proteins.forecasts["normal"], proteins.y
    fitted = cb.AverageRecalibration().fit(forecast, y)
    fitted.save(tmp_path / "map.json")
    plain = evaluate(calibrant, "proteins.csv", *NORMAL)
    found = evaluate(calibrant, "proteins.csv", *NORMAL, "--calibrator", "map.json")
    assert found["calibrator"] == "map.json"
    assert found["uncalibrated"] == {
        key: value for key, value in plain.items() if key in found["uncalibrated"]
    }
    recalibrated = fitted.transform(forecast)
    average = found["average_calibration_error"]["estimate"]
    assert average == pytest.approx(cb.average_calibration_error(recalibrated, y), rel=1e-9)
    assert average < 0.002 < found["uncalibrated"]["average_calibration_error"]["estimate"]
    run = calibrant(*EVALUATE, "--calibrator", "map.json")
    assert (run.code, run.stderr) == (0, "")
    assert max(map(len, run.stdout.splitlines())) <= 80
    assert f"Before: {plain['verdict']['text']}" in run.text
    assert f"After: {found['verdict']['text']}" in run.text


def test_point_masses_are_measured_by_randomized_pits(calibrant, tmp_path: Path) -> None:
    # Counts, mostly zero, with the true distribution for a forecast: nothing is wrong with it.
    rng = np.random.default_rng(0)
    y = np.where(rng.random(1000) < 0.6, 0.0, rng.exponential(size=1000))
    levels = [0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99]
    values = [0.0, 0.0, 0.0, *(-np.log((1 - np.array(levels[3:])) / 0.4))]
    names = [f"q{k}" for k in range(len(levels))]
    frame = pl.DataFrame(
        {"y": y} | {n: np.full(1000, v) for n, v in zip(names, values, strict=True)}
    )
    frame.write_csv(tmp_path / "data.csv")
    pairs = ",".join(f"{name}={level}" for name, level in zip(names, levels, strict=True))
    found = evaluate(calibrant, "data.csv", "--quantiles", pairs, "--target", "y", "--seed", "3")
    forecast = Quantiles(levels, np.tile(values, (1000, 1)))
    expected = cb.average_calibration_error(forecast, y, method="randomized", random_state=3)
    assert found["average_calibration_error"]["estimate"] == pytest.approx(expected)
    assert found["verdict"]["findings"] == []
    assert found["log_score"] is None


@pytest.mark.parametrize(("n_members", "findings"), [(100, []), (4, ["overconfident"])])
def test_ensembles_of_exchangeable_members(
    calibrant, tmp_path: Path, n_members: int, findings: list[str]
) -> None:
    # As a distribution, few members are overconfident; of many only the steps are left.
    rng = np.random.default_rng(0)
    drawn = rng.normal(rng.normal(size=(1500, 1)), 1.0, size=(1500, n_members + 1))
    columns = {f"m{k}": drawn[:, k] for k in range(n_members)} | {"y": drawn[:, -1]}
    pl.DataFrame(columns).write_parquet(tmp_path / "data.parquet")
    found = evaluate(calibrant, "data.parquet", "--members-prefix", "m", "--target", "y")
    assert found["verdict"]["findings"][:1] == findings
    assert found["verdict"]["mean_coverage"] == pytest.approx(
        1 - (n_members + 2) / (2 * (n_members + 1)), abs=0.03
    )


def test_few_rows(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("mu,sigma,y\n0,1,0.5\n")
    found = evaluate(calibrant, "data.csv", *NORMAL)
    assert found["n"] == 1
    assert found["threshold_calibration_error"]["mean"] is None
    run = calibrant("forecast", "evaluate", "data.csv", *NORMAL)
    assert (run.code, run.stderr) == (0, "")
    assert "threshold calibration error, mean too few rows" in run.text
    assert found["crps"] == pytest.approx(cb.crps(Normal([0.0], 1.0), [0.5]))
