"""One sentence about forecasts whose fault is known."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from calibrant import reliability_table
from calibrant.metrics import verdict
from calibrant.transforms import inv_logit, logit


def binary(bend: Any, n: int = 4000, seed: int = 0, **options: Any) -> Any:
    """Table of a forecast p of events that happen with probability bend(p)."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return reliability_table(rng.random(n) < bend(p), p, **options)


@pytest.mark.parametrize(
    ("bend", "findings", "start"),
    [
        (lambda p: p, (), "No clear sign of miscalibration: ECE 0.0"),
        (lambda p: inv_logit(0.5 * logit(p)), ("overconfident",), "Overconfident: predictions are"),
        (lambda p: inv_logit(2 * logit(p)), ("underconfident",), "Underconfident: predictions are"),
        (lambda p: 1 - p, ("overconfident",), "Overconfident: predictions point the wrong way"),
        (
            lambda p: 0.1 + 0.8 * p - 0.08,
            ("overconfident", "biased_high"),
            "Overconfident and biased",
        ),
        (
            lambda p: p + 0.5 * p * (1 - p) * np.cos(6 * np.pi * p),
            ("miscalibrated",),
            "Miscalibrated: predictions",
        ),
    ],
    ids=["fine", "extreme", "timid", "reversed", "both", "wavy"],
)
def test_binary(bend: Any, findings: tuple[str, ...], start: str) -> None:
    result = verdict(binary(bend))
    assert result.findings == findings
    assert result.text.startswith(start)
    assert result.text.count("(") <= 1


def test_numbers_in_the_sentence() -> None:
    table = reliability_table([1] * 30 + [0] * 70, [0.5] * 100)
    assert verdict(table).text == (
        "Biased high: the mean prediction, 50%, is 20 percentage points above the observed "
        "frequency, 30% (ECE 0.2; a perfectly calibrated forecast of this size would show about "
        "0.04 by chance)."
    )
    low = verdict(reliability_table([1] * 70 + [0] * 30, [0.5] * 100))
    assert low.findings == ("biased_low",)
    assert "20 percentage points below the observed frequency, 70%" in low.text
    # 30 against 50 events with standard deviation 5, half an event nearer.
    assert low.bias == pytest.approx(-0.2)
    assert low.bias_z == pytest.approx(-19.5 / 5)
    assert low.expected_ece == pytest.approx(0.05 * np.sqrt(2 / np.pi))
    assert low.spread is None


def test_slope() -> None:
    # Two bins at 0.2 and 0.8 where 0.3 and 0.7 happened: slope 2/3.
    y = np.repeat([1, 0, 1, 0], [300, 700, 700, 300])
    result = verdict(reliability_table(y, np.repeat([0.2, 0.8], 1000)))
    assert result.spread == pytest.approx(-1 / 3)
    assert result.spread_z == pytest.approx(-(60 - 0.15) / np.sqrt(0.09 * 320))
    assert "rising by 6.67 percentage points where predictions rise by 10" in result.text
    assert result.bias == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_a_constant_has_no_slope(share: float) -> None:
    # The same share of events at every prediction.
    p = np.repeat(np.linspace(0.05, 0.95, 10), 100)
    y = np.tile(np.arange(100) < 100 * share, 10)
    result = verdict(reliability_table(y, p, labels=[False, True]))
    assert result.spread == -1.0
    assert "overconfident" in result.findings
    assert "observed frequencies do not depend on the predictions" in result.text
    assert "wrong way" not in result.text
    assert "rising" not in result.text


def test_sure_predictions_show_nothing_by_chance() -> None:
    result = verdict(reliability_table([0, 0, 1], [0.0, 0.0, 1.0]))
    assert result.expected_ece == 0.0
    assert "would show about 0 by chance" in result.text


def test_top_label() -> None:
    rng = np.random.default_rng(1)
    prob = rng.dirichlet([1, 1, 1], 3000)
    y = (prob.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1)
    sharp, flat = ((prob**power) for power in (2, 0.5))
    for forecast, findings, words in [
        (prob, (), "No clear sign"),
        (sharp, ("overconfident",), "above the accuracy"),
        (flat, ("underconfident",), "below the accuracy"),
    ]:
        forecast = forecast / forecast.sum(axis=1, keepdims=True)
        result = verdict(reliability_table(y, forecast, kind="confidence"))
        assert result.findings == findings
        assert words in result.text
        assert result.spread is None


def test_classes() -> None:
    rng = np.random.default_rng(2)
    prob = rng.dirichlet([1, 1, 1], 3000)
    y = (prob.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1)
    names = np.array(["ash", "birch", "cedar"])
    fine = verdict(reliability_table(names[y], prob))
    assert fine.findings == ()
    assert fine.label in names
    shifted = np.column_stack([prob[:, 0] * 0.6, prob[:, 1:] + 0.2 * prob[:, :1]])
    result = verdict(reliability_table(names[y], shifted))
    assert result.label == "ash"
    assert "biased_low" in result.findings
    assert " for class 'ash': " in result.text


def test_false_alarms_are_rare() -> None:
    n_alarms = sum(bool(verdict(binary(lambda p: p, n=300, seed=s)).findings) for s in range(400))
    assert n_alarms <= 10


def test_chance_is_what_calibrated_forecasts_show() -> None:
    tables = [binary(lambda p: p, n=1000, seed=seed) for seed in range(200)]
    shown = np.mean([table.ece() for table in tables])
    assert np.mean([verdict(table).expected_ece for table in tables]) == pytest.approx(
        shown, rel=0.05
    )


@pytest.mark.parametrize("p", [0.0, 1.0, 5e-324])
@pytest.mark.parametrize("y", [[0] * 50, [1] * 50, [0] * 25 + [1] * 25])
def test_certain_predictions(p: float, y: list[int]) -> None:
    result = verdict(reliability_table(y, [p] * 50, labels=[0, 1]))
    assert bool(result.findings) == (abs(np.mean(y) - p) > 0.1)
    json.dumps(result.to_dict(), allow_nan=False)


def test_one_row() -> None:
    assert verdict(reliability_table([1], [0.4])).findings == ()


def weighted(weight: Any, seed: int = 3) -> tuple[Any, Any]:
    """Table of a forecast that is 0.05 too high, and its weights."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 0.9, len(weight))
    return reliability_table(rng.random(len(weight)) < p - 0.05, p, sample_weight=weight), weight


def test_whole_weights_count_rows() -> None:
    rng = np.random.default_rng(4)
    p, weight = rng.uniform(0.1, 0.9, 500), rng.integers(0, 4, 500)
    y = rng.random(500) < p - 0.1
    repeated = verdict(reliability_table(np.repeat(y, weight), np.repeat(p, weight)))
    table = reliability_table(y, p, sample_weight=weight)
    for found in (verdict(table), verdict(table, sample_weight=weight)):
        assert found.text == repeated.text
        assert found.bias_z == pytest.approx(repeated.bias_z)


@pytest.mark.parametrize("scale", [0.5, 1 / 700, np.pi, 1e-200])
def test_other_weights_do_not_depend_on_their_scale(scale: float) -> None:
    even = np.ones(700)
    plain, _ = weighted(even)
    scaled, _ = weighted(scale * even)
    for found in (verdict(scaled), verdict(scaled, sample_weight=scale * even)):
        assert found.bias_z == pytest.approx(verdict(plain).bias_z)
        assert found.expected_ece == pytest.approx(verdict(plain).expected_ece)
    uneven = np.random.default_rng(5).gamma(0.5, size=700)
    one, other = weighted(uneven), weighted(scale * uneven)
    assert verdict(one[0], sample_weight=one[1]).bias_z == pytest.approx(
        verdict(other[0], sample_weight=other[1]).bias_z
    )


def test_uneven_weights_amount_to_fewer_rows() -> None:
    # 10 rows weigh as much as the other 990: Kish's number of rows is 1 / (10 / 20^2 + ...) = 39.6.
    weight = np.repeat([0.99, 0.01], [10, 990])
    table, _ = weighted(weight)
    size = 1.0 / (0.5**2 / 10 + 0.5**2 / 990)
    found, naive = verdict(table, sample_weight=weight), verdict(table)
    assert found.expected_ece == pytest.approx(naive.expected_ece * np.sqrt(1000 / size))


def test_false_alarms_are_rare_with_weights() -> None:
    n_alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        p, weight = rng.random(400), rng.gamma(0.3, size=400)
        table = reliability_table(rng.random(400) < p, p, sample_weight=weight)
        n_alarms += bool(verdict(table, sample_weight=weight).findings)
    assert n_alarms <= 8


def test_weights_of_other_rows_are_refused() -> None:
    table, weight = weighted(np.full(50, 0.3))
    with pytest.raises(ValueError, match="adds up to 14.7, but the rows of the table to 15"):
        verdict(table, sample_weight=weight[1:])
    with pytest.raises(ValueError, match="sample_weight"):
        verdict(table, sample_weight=-weight)
