"""What is said first: nothing finer than the test or the groups allow."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

from calibrant import calibration_test
from calibrant.forecasts import Ensemble, Normal
from calibrant.reporting import forecast_report, report


def told(found) -> tuple[str, str]:
    """Heading and text of the verdict."""
    section = re.search(r'<section id="verdict".*?</section>', found.html, re.DOTALL)[0]
    heading = re.search(r"<h2[^>]*>(.*?)</h2>", section)[1]
    return heading, re.sub(r"<[^>]+>", "", section)


def calibrated(seed: int, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    prob = rng.random(n)
    return rng.random(n) < prob, prob


@pytest.mark.parametrize(
    ("seed", "heading", "words"),
    [
        (0, "Fine, as far as these rows tell", "vidence of miscalibration at n = 300"),
        (103, "Some evidence of miscalibration", "p = 0.050. Evidence of miscalibration"),
        (68, "The test finds miscalibration", "p = 0.010. Strong evidence of miscalibration"),
    ],
)
def test_heading_agrees_with_the_test(seed, heading, words):
    y, prob = calibrated(seed)
    pvalue = calibration_test(y, prob, n_resamples=99, random_state=0).pvalue
    found = report(y, prob, n_resamples=99)
    assert found.verdict.startswith("No clear sign")
    assert f"p = {pvalue:.3f}" in told(found)[1]
    assert told(found)[0] == heading
    assert words in told(found)[1]


@pytest.mark.parametrize(
    ("seed", "heading", "words"),
    [
        (53, "Some evidence of miscalibration", "Evidence of miscalibration on average"),
        (209, "The test finds miscalibration", "Strong evidence of miscalibration on average"),
        (0, "Fine, as far as these rows tell", "No evidence of miscalibration on average"),
    ],
)
def test_heading_of_forecasts_agrees_with_kolmogorov_s_test(seed, heading, words):
    rng = np.random.default_rng(seed)
    mu = rng.normal(size=59)  # too few for recalibrations, which take time
    y = mu + rng.normal(size=59)
    found = forecast_report(Normal(mu, 1.0), y, n_resamples=9)
    assert found.verdict.startswith("No clear sign")
    assert told(found)[0] == heading
    pvalue = stats.kstest(stats.norm.cdf(y - mu), "uniform").pvalue
    assert f"p = {pvalue:.3f}. {words}" in told(found)[1]


def test_groups_that_are_off_are_not_called_fine():
    rng = np.random.default_rng(0)
    prob = rng.uniform(0.2, 0.8, 4000)
    by = rng.choice(["a", "b"], 4000)
    y = rng.random(4000) < prob + np.where(by == "a", -0.15, 0.15)
    found = report(y, prob, by=by, n_resamples=99)
    assert told(found)[0] == "Signs of miscalibration in groups"
    assert "Miscalibrated in 2 of 2 groups." in told(found)[1]


def test_groups_of_forecasts_that_are_off_are_not_called_fine():
    rng = np.random.default_rng(1)
    by = np.repeat(["a", "b", "c"], [12, 12, 35])
    y = rng.normal(size=59) + np.repeat([1.2, -1.2, 0.0], [12, 12, 35])
    found = forecast_report(Normal(np.zeros(59), 1.0), y, by=by, n_resamples=9)
    assert told(found)[0] == "Signs of miscalibration in groups"
    assert "Miscalibrated in 2 of 3 groups." in told(found)[1]


def test_steps_of_calibrated_ensembles_are_no_evidence(page):
    rng = np.random.default_rng(2)
    values = rng.normal(size=(59, 3))
    members, y = Ensemble(values[:, 1:]), values[:, 0]
    assert stats.kstest(members.cdf(y), "uniform").pvalue < 0.001
    found = forecast_report(members, y, by=np.arange(59) % 2 == 0, n_resamples=9)
    assert "No evidence of miscalibration on average" in told(found)[1]
    assert not any("miscalibrated" in row[0] for row in page(found.html).tables["Groups"])
    biased = forecast_report(members, y + 3.0, n_resamples=9)
    assert "p &lt; 0.001. Very strong evidence" in told(biased)[1]
