"""Edges of bins and the bins of probabilities."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from calibrant.binning import bin_edges, bin_index

BINARY = ["b50_ties", "b63_sensitive", "b120_zero_one", "b150_calibrated", "b200", "b201_odd"]
BINARY += ["b1000_rare", "b2000"]
EDGE = ["constant", "two", "edges10", "edges15", "edges20", "separated", "reversed"]
FILES = [f"binary_{name}" for name in BINARY] + [f"edge_{name}" for name in EDGE]
STRATEGY = {"equal_width": "uniform", "equal_freq": "quantile"}

# Few distinct values make ties and whole-number positions common.
coarse = st.lists(st.integers(0, 12).map(lambda k: k / 12), min_size=1, max_size=40)
fine = st.lists(st.floats(0, 1), min_size=1, max_size=40)


def twin_quantile_edges(prob, n_bins):
    """Type-8 quantiles in exact arithmetic."""
    ordered = [Fraction(p) for p in sorted(prob)]
    n = len(ordered)
    edges = [Fraction(0)]
    for j in range(1, n_bins):
        position = Fraction(1, 3) + Fraction(j, n_bins) * (n + Fraction(1, 3))
        below = math.floor(position)
        low = ordered[min(max(below, 1), n) - 1]
        high = ordered[min(max(below + 1, 1), n) - 1]
        edges.append(low + (position - below) * (high - low))
    return [float(edge) for edge in [*edges, 1]]


@pytest.mark.parametrize("name", FILES)
def test_reference_breaks_and_counts_are_met_exactly(reference, name):
    content = reference(name)
    prob = np.array(content["inputs"]["p"], dtype=float)
    assert content["cal_histogram"]
    for case in content["cal_histogram"]:
        edges = bin_edges(prob, case["bins"], STRATEGY[case["strategy"]])
        assert edges.tolist() == case["breaks"]
        counts = np.bincount(bin_index(prob, edges), minlength=len(edges) - 1)
        assert counts.tolist() == case["counts"]


@settings(deadline=None, max_examples=150)
@given(coarse | fine, st.integers(1, 15))
def test_quantiles_agree_with_exact_fractions(prob, n_bins):
    expected = twin_quantile_edges(prob, n_bins)
    edges = bin_edges(np.array(prob), n_bins, "quantile")
    # Edges that exact arithmetic makes equal may differ in the last bit, and the other way round.
    for edge in expected:
        assert np.abs(edges - edge).min() < 1e-12
    for edge in edges:
        assert np.abs(np.array(expected) - edge).min() < 1e-12


@settings(deadline=None, max_examples=100)
@given(coarse | fine, st.integers(1, 15), st.randoms(use_true_random=False))
@example([0.0] * 5 + [1 / 12] * 4, 2, Random(0))  # the median's position is rounded to below 5
def test_quantile_edges_ascend_and_do_not_depend_on_the_order_of_rows(prob, n_bins, random):
    edges = bin_edges(np.array(prob), n_bins, "quantile")
    assert edges[0] == 0
    assert edges[-1] == 1
    assert (np.diff(edges) > 0).all()
    assert len(edges) <= n_bins + 1
    random.shuffle(prob)
    assert bin_edges(np.array(prob), n_bins, "quantile").tolist() == edges.tolist()


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), min_size=1, max_size=30),
    st.integers(1, 12),
)
def test_integer_weights_are_repeated_rows(rows, n_bins):
    prob = np.array([p for p, _ in rows] + [0.5])
    weight = np.array([w for _, w in rows] + [1.0])
    repeated = np.repeat(prob, weight.astype(int))
    weighted = bin_edges(prob, n_bins, "quantile", weight)
    assert weighted.tolist() == bin_edges(repeated, n_bins, "quantile").tolist()


def test_weights_that_are_not_whole_count_relative_to_their_mean():
    rng = np.random.default_rng(1)
    prob = rng.random(997)
    plain = bin_edges(prob, 13, "quantile")
    for constant in (0.1, 1 / 3, 123.4, 1e-12):
        assert bin_edges(prob, 13, "quantile", np.full(997, constant)).tolist() == plain.tolist()
    # 0.75, 1.5 and 0.75 are rescaled to 0.75, 1.5, 0.75: the median position 2 is the middle one.
    three = bin_edges(np.array([0.2, 0.4, 0.9]), 2, "quantile", np.array([0.75, 1.5, 0.75]))
    assert three.tolist() == [0, 0.4, 1]
    # 0.5, 0.5 and 5 are rescaled to 0.25, 0.25, 2.5: already position 1 is the last one.
    three = bin_edges(np.array([0.2, 0.4, 0.9]), 2, "quantile", np.array([0.5, 0.5, 5.0]))
    assert three.tolist() == [0, 0.9, 1]


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.floats(0, 1, width=32), min_size=1, max_size=40),
    st.integers(1, 12),
    st.sampled_from(["uniform", "quantile"]),
)
def test_float32_is_read_as_the_same_values_in_float64(prob, n_bins, strategy):
    single = np.array(prob, dtype=np.float32)
    double = single.astype(np.float64)
    edges = bin_edges(double, n_bins, strategy)
    assert bin_edges(single, n_bins, strategy).tolist() == edges.tolist()
    assert bin_index(single, edges).tolist() == bin_index(double, edges).tolist()


@pytest.mark.parametrize("prob", [[0.3] * 7, [0.0] * 4, [1.0] * 4, [0.0, 1.0], [0.4]])
def test_constant_and_tiny_samples(prob):
    edges = bin_edges(np.array(prob), 5, "quantile")
    assert edges[0] == 0
    assert edges[-1] == 1
    inner = set(edges[1:-1].tolist())
    if len(set(prob)) == 1:
        assert inner <= set(prob)


@settings(deadline=None, max_examples=100)
@given(coarse | fine, st.integers(1, 15), st.sampled_from(["uniform", "quantile"]))
def test_bins_hold_their_lower_edge_and_the_last_one_also_one(prob, n_bins, strategy):
    edges = bin_edges(np.array(prob), n_bins, strategy)
    probed = np.array([*prob, *edges])
    last = len(edges) - 2
    for p, index in zip(probed, bin_index(probed, edges), strict=True):
        assert edges[index] <= p
        assert p < edges[index + 1] or (index == last and p == 1)


@pytest.mark.parametrize("n_bins", [0, -1, 2.5, 3.0, "10", None, True])
def test_number_of_bins_must_be_a_positive_integer(n_bins):
    with pytest.raises(ValueError, match="n_bins must be an integer of at least 1"):
        bin_edges(np.array([0.5]), n_bins, "uniform")


def test_numpy_integers_are_integers():
    assert len(bin_edges(np.array([0.5]), np.int32(4), "uniform")) == 5


@pytest.mark.parametrize("strategy", ["equal_width", "mass", None])
def test_unknown_strategy(strategy):
    with pytest.raises(ValueError, match="strategy must be 'uniform' or 'quantile'"):
        bin_edges(np.array([0.5]), 10, strategy)
