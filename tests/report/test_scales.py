"""Outcomes and forecasts of any size: pages without warnings, digits enough, or a clear error."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from calibrant import average_calibration_error, log_score
from calibrant.forecasts import Normal, StudentT
from calibrant.reporting import forecast_report, report


@pytest.fixture(scope="module")
def rows():
    """Means and outcomes, standardised."""
    rng = np.random.default_rng(0)
    mu = rng.normal(size=59)  # too few for recalibrations, which take time
    return mu, mu + rng.normal(size=59)


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.mark.parametrize(
    ("scale", "message"),
    [(1e-310, "y holds outcomes that are [0-9.]*e-310 apart"), (1e308, "y holds .* in size")],
)
def test_outcomes_that_doubles_do_not_hold_are_refused(rows, scale, message):
    y = rows[1]
    with pytest.raises(ValueError, match=message + ".*: rescale the outcome"):
        forecast_report(Normal(np.zeros(59), scale), np.clip(y, -1.7, 1.7) * scale)


@pytest.mark.parametrize("scale", [1e-289, 1e289])
def test_outcomes_of_extreme_size(rows, scale, page):
    mu, y = rows
    found = forecast_report(Normal(mu * scale, scale), y * scale, n_resamples=9)
    usual = average_calibration_error(Normal(mu, 1.0), y)
    assert page(found.html).tables["Key numbers"][1][1] == f"{usual:.4f}"
    data, rows = page(found.html).panel()
    assert len(set(data["labels"])) == len(rows[0]["threshold"])
    assert "-" not in "".join(data["labels"])
    told = [float(label.replace("\N{MINUS SIGN}", "-")) for label in data["labels"]]
    assert told == rows[0]["threshold"]


def test_thresholds_keep_their_digits_on_a_large_offset(rows, page):
    mu, y = rows
    forecast = Normal(1.7e9 + 1e-3 * mu, 1e-3)
    found = forecast_report(forecast, 1.7e9 + 1e-3 * y, n_resamples=9)
    data, _ = page(found.html).panel()
    assert len(set(data["labels"])) == 41
    assert all(label.startswith(("1700000000.", "1699999999.")) for label in data["labels"])
    assert all(len(label) <= 17 for label in data["labels"])


def test_forecasts_without_crps(page):
    mu, noise = np.random.default_rng(1).normal(size=(2, 60))
    found = forecast_report(StudentT(1.0, mu, 1.0), mu + noise, n_resamples=9)
    tables = page(found.html).tables
    (row,) = (row for row in tables["Key numbers"] if row[0].startswith("CRPS"))
    assert row[1:3] == ["\N{EN DASH}"] * 2
    candidates = tables["Recalibrations, held-out rows"][1:]
    assert {row[3] for row in candidates} == {"\N{EN DASH}"}
    assert all(row[1] != "\N{EN DASH}" for row in candidates)
    assert "could not be measured" not in found.html


def test_forecasts_that_are_far_too_narrow(rows):
    mu, y = rows
    assert forecast_report(Normal(mu, 1e-300), y, n_resamples=9).verdict.startswith("Overconfident")


def test_probabilities_next_to_zero():
    found = report(np.arange(59) % 20 == 0, np.full(59, 1e-300), n_resamples=9)
    assert found.verdict.startswith("Biased low")


def test_widened_intervals_are_told_where_there_are_any():
    calibrated = report(np.arange(60) % 2 == 0, [0.5] * 60, n_resamples=9).html
    assert "0.0000 to 0" in calibrated  # no resample has as little as the rows
    note = "was widened to hold it"
    assert note in calibrated
    assert note not in report([0], [0.5], n_resamples=9).html


def test_zero_has_no_sign(page):
    found = report([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0], n_resamples=9)
    told = page(found.html).tables
    cells = [cell for table in told.values() for row in table for cell in row]
    assert "0.0000" in cells
    assert not [cell for cell in cells if "+0.0000" in cell or "\N{MINUS SIGN}0.0000" in cell]


def test_log_score_that_gets_worse_is_told(biased_report, biased, page):
    (row,) = (row for row in page(biased_report.html).tables["Before and after, held-out rows"]
              if row[0].startswith("Log score"))  # fmt: skip
    forecast, y = biased
    held_out = np.sort(np.random.default_rng(0).permutation(len(y))[: round(len(y) / 3)])
    assert row[1] == f"{log_score(forecast[held_out], y[held_out]):.4f}"
    worse = float(row[2].replace("\N{EN DASH}", "inf")) > float(row[1])
    assert ("make a rough density" in row[0]) == worse
