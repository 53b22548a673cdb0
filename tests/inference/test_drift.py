"""The test of a change of calibration: its statistic, its distribution, its level, its refusals."""

from __future__ import annotations

import doctest
import itertools
import json
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy import optimize, stats

from calibrant import ReliabilityTable, calibration_drift_test, reliability_table
from calibrant.datasets import load_games

PAGE = Path(__file__).parents[2] / "docs" / "monitoring.md"


def sample(n, rng, *, shift=0.0, a=2, b=3, n_bins=10, **options):
    p = rng.beta(a, b, n)
    odds = p / (1 - p) * np.exp(shift)
    return reliability_table(rng.uniform(size=n) < odds / (1 + odds), p, n_bins=n_bins, **options)


def of_bins(*bins: tuple[int, int, float]) -> ReliabilityTable:
    """A table whose bins of equal width have so many rows, events, and that mean prediction."""
    y = np.concatenate([np.arange(n) < events for n, events, _ in bins])
    p = np.concatenate([np.full(n, prob) for n, _, prob in bins])
    return reliability_table(y.astype(int), p, n_bins=len(bins))


# ---------------------------------------------------------------- slow and obvious twins


def null_rates(n, events, prob):
    """Rates prob + g of the largest likelihood."""
    low, high = max(-min(prob), -1.0), 1.0 - max(prob)

    def loss(g):
        q = np.clip(prob + g, 1e-300, 1 - 1e-16)
        return -float(stats.binom.logpmf(events, n, q).sum())

    found = optimize.minimize_scalar(
        loss, bounds=(low, high), method="bounded", options={"xatol": 1e-13}
    )
    g = min((low, high, found.x), key=loss)
    return np.clip(prob + g, 0, 1)


def term(n, events, prob):
    """Squared difference of the gaps over its variance."""
    q = null_rates(n, events, prob)
    gap = events / n - prob
    variance = (q * (1 - q) / n).sum()
    return 0.0 if gap[0] == gap[1] else (gap[1] - gap[0]) ** 2 / variance


def enumerated_pvalue(bins):
    """Over all outcomes of two binomial samples in each bin, at the rates that are most likely."""
    total = sum(term(*bin_) for bin_ in bins)
    chances = {0.0: 1.0}
    for n, events, prob in bins:
        q = null_rates(n, events, prob)
        outcomes = {}
        for pair in itertools.product(range(n[0] + 1), range(n[1] + 1)):
            value = term(n, np.array(pair), prob)
            outcomes[value] = outcomes.get(value, 0) + float(stats.binom.pmf(pair, n, q).prod())
        sums = {}
        for (x, px), (y, py) in itertools.product(chances.items(), outcomes.items()):
            sums[round(x + y, 12)] = sums.get(round(x + y, 12), 0.0) + px * py
        chances = sums
    return sum(chance for value, chance in chances.items() if value >= total - 1e-6), total


CASES = [
    [((5, 3), (1, 2), (0.2, 0.3)), ((4, 6), (3, 3), (0.7, 0.6))],
    [((7, 7), (0, 3), (0.1, 0.1)), ((2, 9), (1, 8), (0.9, 0.8))],
    [((6, 4), (0, 0), (0.05, 0.3)), ((3, 3), (3, 3), (0.9, 0.6))],
    [((1, 1), (0, 1), (0.4, 0.4)), ((1, 8), (1, 5), (0.5, 0.75))],
]


@pytest.mark.parametrize("case", CASES)
def test_small_bins_against_all_outcomes(case):
    bins = [tuple(map(np.array, bin_)) for bin_ in case]
    tables = [of_bins(*((n[k], e[k], p[k]) for n, e, p in case)) for k in (0, 1)]
    test = calibration_drift_test(*tables)
    pvalue, total = enumerated_pvalue(bins)
    assert test.statistic == pytest.approx(total, rel=1e-6)
    assert test.pvalue == pytest.approx(pvalue, rel=1e-6)
    assert test.df == 2


def test_large_bins_are_the_chi_square_of_two_proportions():
    tables = (
        of_bins((500, 120, 0.25), (800, 600, 0.75)),
        of_bins((400, 130, 0.25), (300, 200, 0.75)),
    )
    expected = [
        stats.chi2_contingency([[120, 380], [130, 270]], correction=False).statistic,
        stats.chi2_contingency([[600, 200], [200, 100]], correction=False).statistic,
    ]
    test = calibration_drift_test(*tables)
    assert test.statistic == pytest.approx(sum(expected), rel=1e-8)
    assert test.pvalue == pytest.approx(stats.chi2.sf(sum(expected), 2), rel=1e-6)
    np.testing.assert_allclose((test.difference / test.standard_error) ** 2, expected, rtol=1e-8)


def test_small_and_large_bins_together_against_simulation():
    before = of_bins((1000, 310, 0.3), (12, 9, 0.8))
    after = of_bins((90, 38, 0.35), (25, 24, 0.9))
    test = calibration_drift_test(before, after)
    bins = list(zip(before.count, after.count, before.mean_prob, after.mean_prob, strict=True))
    rng = np.random.default_rng(0)
    sums = np.zeros(3000)
    for b, (na, nb, pa, pb) in enumerate(bins):
        n, prob = np.array([na, nb]), np.array([pa, pb])
        events = np.array([before.sum_true[b], after.sum_true[b]])
        draws = rng.binomial(n, null_rates(n, events, prob), size=(3000, 2))
        known = {pair: term(n, np.array(pair), prob) for pair in set(map(tuple, draws.tolist()))}
        sums += [known[pair] for pair in map(tuple, draws.tolist())]
    rate = float((sums >= test.statistic - 1e-9).mean())
    assert test.pvalue == pytest.approx(rate, abs=4 * np.sqrt(rate * (1 - rate) / 3000) + 0.005)


# ---------------------------------------------------------------- what must hold


counts = st.tuples(st.integers(1, 60), st.floats(0, 1), st.floats(0, 0.999))


@given(st.lists(st.tuples(counts, counts), min_size=1, max_size=4))
@hypothesis_settings(max_examples=20)
def test_invariants(bins):
    def table(k):
        rows = [
            (b[k][0], round(b[k][0] * b[k][1]), (j + b[k][2]) / len(bins))
            for j, b in enumerate(bins)
        ]
        return of_bins(*rows)

    a, b = table(0), table(1)
    assume((a.count > 0).all() and (b.count > 0).all())
    test, turned = calibration_drift_test(a, b), calibration_drift_test(b, a)
    assert 0.0 <= test.pvalue <= 1.0
    assert test.statistic >= 0.0
    np.testing.assert_array_equal(turned.difference, -test.difference)
    assert turned.pvalue == pytest.approx(test.pvalue, rel=1e-6, abs=1e-12)
    same = calibration_drift_test(a, a)
    assert (same.statistic, same.pvalue) == (0.0, 1.0)
    np.testing.assert_array_equal(test.difference, b.gap - a.gap)


@pytest.mark.parametrize(
    ("n_before", "n_after", "a", "b"), [(200, 200, 2, 3), (1000, 150, 0.5, 20), (1000, 1000, 1, 99)]
)
def test_the_level_holds(n_before, n_after, a, b):
    rng = np.random.default_rng(0)
    pvalues = np.array(
        [
            calibration_drift_test(
                sample(n_before, rng, a=a, b=b), sample(n_after, rng, a=a, b=b)
            ).pvalue
            for _ in range(60)
        ]
    )
    for level in (0.05, 0.2):
        assert (pvalues <= level).mean() <= level + 3 * np.sqrt(level * (1 - level) / 60)
    assert (pvalues <= 0.2).mean() >= 0.08


def test_equal_miscalibration_is_no_drift_and_a_shift_is_one():
    rng = np.random.default_rng(1)
    twisted = sample(20_000, rng, shift=1.0), sample(20_000, rng, shift=1.0)
    assert twisted[0].ece() > 0.1
    assert calibration_drift_test(*twisted).pvalue > 0.05
    assert calibration_drift_test(twisted[0], sample(20_000, rng)).pvalue < 1e-10
    rare = sample(5000, rng, a=0.5, b=49.5), sample(5000, rng, a=0.5, b=49.5, shift=1.0)
    assert calibration_drift_test(*rare).pvalue < 1e-3


def test_other_predictions_with_the_same_calibration_are_no_drift():
    rng = np.random.default_rng(2)
    assert calibration_drift_test(sample(5000, rng), sample(5000, rng, a=4, b=2)).pvalue > 0.05


def test_real_games():
    games = load_games()
    early = games.date < np.datetime64("2017-01-01")
    late = (games.date > np.datetime64("2018-01-01")) & (games.date < np.datetime64("2019-01-01"))
    before = reliability_table(games.y_true[early], games.y_prob[early])
    after = reliability_table(games.y_true[late], games.y_prob[late])
    assert calibration_drift_test(before, after).pvalue > 0.01
    swapped = reliability_table(1 - games.y_true[late], games.y_prob[late])
    assert calibration_drift_test(before, swapped).pvalue < 1e-10


# ---------------------------------------------------------------- several panels


def test_classes_are_adjusted_by_holm():
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1, 1, 1], size=6000)
    y = (p.cumsum(axis=1) > rng.uniform(size=(6000, 1))).argmax(axis=1)
    y[3000:][(y[3000:] == 2) & (rng.uniform(size=3000) < 0.15)] = 1
    labels = np.array(["a", "b", "c"])
    before, after = (
        reliability_table(labels[y[r]], p[r]) for r in (slice(3000), slice(3000, None))
    )
    test = calibration_drift_test(before, after)
    alone = {}
    for k, label in enumerate(labels):
        pair = (reliability_table(y[r] == k, p[r, k]) for r in (slice(3000), slice(3000, None)))
        alone[str(label)] = calibration_drift_test(*pair).pvalue
    first, second, third = sorted(alone, key=alone.__getitem__)
    assert test.class_pvalues is not None
    assert test.class_pvalues[first] == pytest.approx(min(1, 3 * alone[first]))
    assert test.class_pvalues[second] == pytest.approx(
        min(1, max(3 * alone[first], 2 * alone[second]))
    )
    assert test.class_pvalues[third] >= test.class_pvalues[second]
    assert list(test.class_pvalues) == ["a", "b", "c"]
    assert test.pvalue == min(test.class_pvalues.values()) < 0.001
    assert {first, second} == {"b", "c"}
    assert f"the strongest for class {first!r}" in repr(test)
    assert test.to_frame("polars").columns[0] == "class"
    top = [
        reliability_table(labels[y[r]], p[r], kind="confidence")
        for r in (slice(3000), slice(3000, None))
    ]
    assert calibration_drift_test(*top).class_pvalues is None


# ---------------------------------------------------------------- results and refusals


def test_the_result_in_words_and_as_plain_values():
    before = reliability_table([0, 1, 1, 0], [0.1, 0.2, 0.8, 0.9], n_bins=4)
    after = reliability_table([1, 1], [0.1, 0.3], n_bins=4)
    test = calibration_drift_test(before, after)
    assert "n = 4 and 2, 1 of 4 bins compared, with 50 % of the rows" in repr(test)
    assert "No evidence" in test.interpretation
    content = json.loads(json.dumps(test.to_dict(), allow_nan=False))
    assert content["difference"][1:] == [None] * 3
    assert content["df"] == 1
    assert content["n_current"] == 2
    assert isinstance(test.to_frame("pandas"), pd.DataFrame)
    frame = test.to_frame("polars")
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == [
        "lower", "upper", "count_reference", "count_current", "gap_reference", "gap_current",
        "difference", "standard_error",
    ]  # fmt: skip
    with pytest.raises(FrozenInstanceError):
        test.pvalue = 0.0


def test_the_impossible_is_impossible():
    """All rows are predicted 0 in one table and 1 in the other: the gap cannot be equal."""
    before = reliability_table([0, 0], [0.0, 0.0], n_bins=1)
    after = reliability_table([0, 0], [1.0, 1.0], n_bins=1)
    assert calibration_drift_test(before, after).pvalue == 0.0


BINARY = of_bins((5, 1, 0.2), (5, 3, 0.7))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (reliability_table([0, 1], [0.2, 0.7], n_bins=3), "cannot compare tables with different b"),
        (reliability_table([1, 2], [0.2, 0.7], n_bins=2, pos_label=2), "compare tables of the cl"),
        (
            reliability_table([0, 1, 2], np.full((3, 3), 1 / 3), n_bins=2),
            "cannot compare tables of kind",
        ),
        (
            reliability_table([0, 1], [0.2, 0.7], n_bins=2, sample_weight=[1, 0.5]),
            "current is weighted: bin 1 has 1 rows of weight 0.5.*without sample_weight",
        ),
        (
            reliability_table([0, 1], [0.2, 0.3], n_bins=2, sample_weight=[0.75, 1.25]),
            "current is weighted",
        ),
        ({"kind": "binary"}, "current must be a ReliabilityTable, got dict"),
    ],
)
def test_tables_that_cannot_be_compared(other, message):
    with pytest.raises(ValueError, match=message):
        calibration_drift_test(BINARY, other)


def test_tables_without_a_common_bin():
    with pytest.raises(ValueError, match="no bin has rows of both"):
        calibration_drift_test(
            reliability_table([0], [0.2], n_bins=2), reliability_table([0], [0.7], n_bins=2)
        )


def test_weights_of_one_are_none():
    rows = [0, 1, 1], [0.2, 0.3, 0.7]
    weighted = reliability_table(*rows, n_bins=2, sample_weight=[1, 1, 1])
    plain = calibration_drift_test(BINARY, reliability_table(*rows, n_bins=2))
    assert calibration_drift_test(BINARY, weighted).to_dict() == plain.to_dict()


def test_the_example_of_the_page_runs():
    if not PAGE.exists():
        pytest.skip("the documentation is not part of this distribution")
    options = doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=options)
    assert (failed, tried > 10) == (0, True)
