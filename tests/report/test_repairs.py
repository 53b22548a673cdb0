"""What the page about forecasts says of recalibrations, and how sure its numbers are."""

from __future__ import annotations

import re

import numpy as np
import pytest

from calibrant import (
    AverageRecalibration,
    DistributionRecalibration,
    ThresholdLoss,
    ThresholdRecalibration,
    ThresholdwiseRecalibration,
    average_calibration_error,
    crps,
    decision_loss,
    decision_table,
    predicted_loss,
)
from calibrant.forecasts import Ensemble, Mixture, Normal
from calibrant.inference.resamples import Resamples
from calibrant.reporting import forecast_report

OPTIONS = {"pit": "randomized", "random_state": 0}
METHODS = {
    "AverageRecalibration": AverageRecalibration(**OPTIONS),
    "DistributionRecalibration": DistributionRecalibration(**OPTIONS),
    "ThresholdRecalibration": ThresholdRecalibration(early_stopping=True, **OPTIONS),
    "ThresholdwiseRecalibration": ThresholdwiseRecalibration(**OPTIONS),
}


def number(value: float) -> str:
    return f"{value:.4f}".replace("-", "\N{MINUS SIGN}")


@pytest.fixture(scope="module")
def split(biased):
    """Forecasts and outcomes of the fitting rows and of the others."""
    forecast, y = biased
    order = np.random.default_rng(0).permutation(len(y))
    held_out, fitted = np.sort(order[: len(y) // 3]), np.sort(order[len(y) // 3 :])
    return forecast[fitted], y[fitted], forecast[held_out], y[held_out]


@pytest.fixture(scope="module")
def after(split):
    """The held-out forecasts, by what was done to them."""
    fitting, y, held_out, _ = split
    found = {name: one.fit(fitting, y).transform(held_out) for name, one in METHODS.items()}
    return {"As they are": held_out, **found}


def gap(forecast, y) -> float:
    thresholds = np.linspace(*np.quantile(y, [0.02, 0.98]), 50)
    table = decision_table(
        forecast, y, thresholds=thresholds, total=1.0, strict=False, n_resamples=0
    )
    return table.overall()["reliability_gap"]


def test_all_recalibrations_are_measured_on_the_same_rows(split, after, biased_report, page):
    y = split[3]
    rows = page(biased_report.html).tables["Recalibrations, held-out rows"][1:]
    assert [row[0].split(" shown")[0] for row in rows] == list(after)
    assert [row[0] for row in rows if row[0].endswith(" shown above")] == [
        "ThresholdRecalibration shown above"
    ]
    for row, forecast in zip(rows, after.values(), strict=True):
        expected = gap(forecast, y), average_calibration_error(forecast, y), crps(forecast, y)
        assert row[1:] == [number(value) for value in expected]


def test_before_and_after_are_the_library_s(split, after, biased_report, page):
    y = split[3]
    rows = {row[0]: row[1:] for row in page(biased_report.html).tables[
        "Before and after, held-out rows"]}  # fmt: skip
    both = after["As they are"], after["ThresholdRecalibration"]
    for name, measure in (
        ("Reliability gap", gap),
        ("Average calibration error", average_calibration_error),
        ("CRPS", crps),
    ):
        assert rows[name][:2] == [number(measure(forecast, y)) for forecast in both]
    for share in (0.5, 0.95):
        held = [
            np.mean((one.ppf((1 - share) / 2) <= y) & (y <= one.ppf((1 + share) / 2)))
            for one in both
        ]
        assert rows[f"{100 * share:.0f}\N{NO-BREAK SPACE}% interval holds"][:2] == [
            f"{100 * one:.1f}\N{NO-BREAK SPACE}%" for one in held
        ]


def test_panel_has_the_recalibrated_forecasts(split, after, biased_report, page):
    y, forecast = split[3], after["ThresholdRecalibration"]
    data, rows = page(biased_report.html).panel()
    c = data["costs"].index("A false alarm costs 3 times as much as a miss")
    for t, threshold in list(enumerate(rows[c]["threshold"]))[::8]:
        loss = ThresholdLoss.from_errors(threshold, false_positive=1.0, false_negative=1 / 3)
        assert rows[c]["predicted_1"][t] == pytest.approx(predicted_loss(forecast, loss), abs=1e-7)
        assert rows[c]["realised_1"][t] == pytest.approx(decision_loss(forecast, y, loss), abs=1e-7)


def test_what_cannot_be_fitted_says_why(page):
    rng = np.random.default_rng(3)
    members = rng.normal(size=(60, 8))
    found = forecast_report(Ensemble(members), rng.normal(size=60), n_resamples=9)
    rows = page(found.html).tables["Recalibrations, held-out rows"][1:]
    by_name = {row[0].split()[0]: row for row in rows}
    left_out = by_name["DistributionRecalibration"]
    assert "is left out: these forecasts have no parameters" in left_out[0]
    assert left_out[1:] == ["\N{EN DASH}"] * 3
    assert "\N{EN DASH}" not in by_name["ThresholdwiseRecalibration"]


def test_why_a_fit_failed_is_told(page):
    rng = np.random.default_rng(5)
    parts = [Normal(rng.normal(size=60), 1.0 + k) for k in range(8)]
    found = forecast_report(Mixture(np.full(8, 1 / 8), parts), rng.normal(size=60), n_resamples=9)
    rows = page(found.html).tables["Recalibrations, held-out rows"][1:]
    (row,) = (row for row in rows if row[0].startswith("Distribution"))
    assert "could not be fitted: n_bins=20 cells for each of 24 parameters are too many" in row[0]
    assert row[1:] == ["\N{EN DASH}"] * 3


def test_intervals_are_those_of_resampled_rows(page):
    rng = np.random.default_rng(4)
    mu = rng.normal(size=59)
    forecast, y, weight = Normal(mu, 0.5), mu + 0.3 + rng.normal(size=59), rng.gamma(2.0, size=59)
    found = forecast_report(forecast, y, sample_weight=weight, n_resamples=25)
    thresholds = np.linspace(*np.quantile(y, [0.02, 0.98]), 50)
    resamples = Resamples(59, 25, np.random.default_rng(0), None)
    drawn = []
    for times in resamples.multiplicities(slice(0, 25)).T:
        rows = np.repeat(np.arange(59), times)
        own, weights = (forecast[rows], y[rows]), {"sample_weight": weight[rows]}
        table = decision_table(
            *own, thresholds=thresholds, total=1.0, strict=False, n_resamples=0, **weights
        )
        drawn.append(
            (average_calibration_error(*own, **weights), table.overall()["reliability_gap"],
             crps(*own, **weights))
        )  # fmt: skip
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    rows = [row for row in page(found.html).tables["Key numbers"] if " to " in row[2]]
    assert [re.match("Average|Reliability|CRPS", row[0])[0] for row in rows] == [
        "Average", "Reliability", "CRPS"
    ]  # fmt: skip
    for row, *ends in zip(rows, low, high, strict=True):
        estimate = float(row[1])
        assert row[2] == f"{number(min(ends[0], estimate))} to {number(max(ends[1], estimate))}"
