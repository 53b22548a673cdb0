"""The page about forecasts of a real outcome."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

from calibrant import (
    ThresholdLoss,
    average_calibration_error,
    crps,
    decision_loss,
    interval_coverage,
    pit,
    predicted_loss,
    threshold_calibration_error,
)
from calibrant.forecasts import Ensemble
from calibrant.reporting import forecast_report


def number(value: float) -> str:
    return f"{value:.4f}".replace("-", "\N{MINUS SIGN}")


def test_structure(biased_report, page):
    parsed = page(biased_report.html)
    assert len(biased_report.html.encode()) < 2_000_000
    assert [text for level, text in parsed.headings if level == 2] == [
        "Clear signs of miscalibration", "Key numbers", "On average", "For decisions", "Repair",
        "Groups", "One decision", "What was done",
    ]  # fmt: skip
    assert all(svg["aria-label"] for svg in parsed.of("svg"))
    assert all(th.get("scope") for th in parsed.of("th"))
    assert len(parsed.ids()) == len(set(parsed.ids()))
    for image in parsed.of("image"):
        assert str(image["href"]).startswith("data:image/png")


def test_numbers_are_the_library_s(biased, biased_report, page):
    forecast, y = biased
    tables = page(biased_report.html).tables
    values = [row[1] for row in tables["Key numbers"]]
    error = threshold_calibration_error(forecast, y)
    for expected in (average_calibration_error(forecast, y), error.max, error.mean,
                     crps(forecast, y)):  # fmt: skip
        assert number(expected) in values
    coverage = interval_coverage(forecast, y)
    rows = tables["Coverage of central intervals"][1:]
    assert [row[1] for row in rows] == [
        f"{100 * one:.1f}\N{NO-BREAK SPACE}%" for one in coverage.coverage
    ]


def test_one_minus_and_one_name_of_an_error(biased_report, page):
    cells = [cell for table in page(biased_report.html).tables.values() for row in table
             for cell in row]  # fmt: skip
    assert any(
        "\N{MINUS SIGN}" in str(label) for label in page(biased_report.html).panel()[0]["labels"]
    )
    assert not [cell for cell in cells if re.search(r"-\d", cell)]
    markup = biased_report.html.partition("<script")[0]
    assert "false positive" not in markup
    assert "Cost of a false alarm" in markup
    (mean,) = (row for row in page(biased_report.html).tables["Key numbers"]
               if row[0].startswith("Threshold calibration error, mean"))  # fmt: skip
    assert 0.0 < float(mean[3]) < float(mean[1])


def test_groups_are_tested_by_kolmogorov_s_distance(biased, biased_report, page):
    forecast, y = biased
    pits = pit(forecast, y)
    pvalues = sorted(stats.kstest(pits[own], "uniform").pvalue for own in (y > 0, y <= 0))
    rows = page(biased_report.html).tables["Groups"][1:]
    assert {row[0].split()[0] for row in rows} == {"up", "down"}
    assert all(p < 0.001 for p in pvalues)
    assert [row[-1] for row in rows] == ["< 0.001"] * 2


def test_panel_is_of_the_held_out_rows(biased, biased_report, page):
    forecast, y = biased
    data, rows = page(biased_report.html).panel()
    held_out = np.sort(np.random.default_rng(0).permutation(len(y))[: round(len(y) / 3)])
    c = data["costs"].index("A miss costs 3 times as much as a false alarm")
    for t, threshold in list(enumerate(rows[c]["threshold"]))[::10]:
        loss = ThresholdLoss.from_errors(threshold, false_positive=1.0, false_negative=3.0)
        held = forecast[held_out]
        assert rows[c]["predicted_0"][t] == pytest.approx(predicted_loss(held, loss), abs=1e-7)
        assert rows[c]["realised_0"][t] == pytest.approx(
            decision_loss(held, y[held_out], loss), abs=1e-7
        )


def test_the_same_input_gives_the_same_bytes(biased, biased_report):
    forecast, y = biased
    again = forecast_report(forecast, y, by=np.where(y > 0, "up", "down"), n_resamples=99)
    assert again.html == biased_report.html


def test_ensembles_of_few_weighted_rows():
    rng = np.random.default_rng(5)
    members = rng.normal(size=(30, 9)).round(1)
    y = rng.normal(size=30).round(1)
    found = forecast_report(
        Ensemble(members), y, sample_weight=rng.integers(0, 3, 30), by=y > 0, n_resamples=9
    )
    assert "too few rows to fit a recalibration" in found.html
    assert "Log score" not in found.html
