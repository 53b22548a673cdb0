"""Histogram binning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant
from calibrant import HistogramBinning

FILES = [
    "binary_b50_ties",
    "binary_b63_sensitive",
    "binary_b120_zero_one",
    "binary_b150_calibrated",
    "binary_b200",
    "binary_b201_odd",
    "binary_b1000_rare",
    "binary_b2000",
    "edge_constant",
    "edge_two",
    "edge_edges10",
    "edge_edges15",
    "edge_edges20",
    "edge_separated",
    "edge_reversed",
]
STRATEGY = {"equal_width": "uniform", "equal_freq": "quantile"}

strategy = st.sampled_from(["uniform", "quantile"])
probability = st.integers(0, 10).map(lambda k: k / 10) | st.floats(0, 1)


@st.composite
def samples(draw, probabilities=probability):
    """Probabilities and 0/1 labels with both classes."""
    rows = draw(st.lists(st.tuples(probabilities, st.integers(0, 1)), max_size=30))
    rows += [(draw(probabilities), 0), (draw(probabilities), 1)]
    return np.array([p for p, _ in rows]), np.array([y for _, y in rows])


def twin_bin(p, edges):
    """The bin of one probability, by looking at each."""
    for j in range(len(edges) - 1):
        if edges[j] <= p < edges[j + 1]:
            return j
    return len(edges) - 2


def twin_values(prob, y, edges):
    """Frequencies by bin, the nearest bin's where there are no rows."""
    n_bins = len(edges) - 1
    inside = [[y[i] for i in range(len(y)) if twin_bin(prob[i], edges) == j] for j in range(n_bins)]
    rates = [sum(labels) / len(labels) if labels else None for labels in inside]
    filled = [j for j in range(n_bins) if rates[j] is not None]
    nearest = [min(filled, key=lambda k: (abs(k - j), k)) for j in range(n_bins)]
    return [rates[k] for k in nearest], [len(labels) for labels in inside]


@pytest.mark.parametrize("name", FILES)
def test_reference(reference, name):
    content = reference(name)
    p, y, p_new = (np.array(content["inputs"][key], float) for key in ("p", "y", "p_new"))
    for case in content["cal_histogram"]:
        fitted = HistogramBinning(n_bins=case["bins"], strategy=STRATEGY[case["strategy"]])
        fitted.fit(p, y)
        assert fitted.bin_edges_.tolist() == case["breaks"]
        assert fitted.bin_weights_.tolist() == case["counts"]
        assert len(fitted.bin_values_) == case["actual_bins"]
        for found, expected in [
            (fitted.bin_values_, case["bin_values"]),
            (fitted.global_rate_, case["global_rate"]),
            (fitted.predict_proba(p), case["pred_train"]),
            (fitted.predict_proba(p_new), case["pred_new"]),
        ]:
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_documentation_example(reference):
    (example,) = (e for e in reference("doc_examples")["examples"] if e["topic"] == "cal_histogram")
    p, y = example["inputs"]["p"], example["inputs"]["y"]
    n_bins = example["inputs"]["bins"]
    fitted = HistogramBinning(n_bins=n_bins).fit(p, y)
    np.testing.assert_allclose(fitted.bin_values_, example["bin_values"], rtol=0, atol=1e-12)
    assert fitted.bin_weights_.tolist() == example["counts"]
    raw = calibrant.ece(y, p, n_bins=n_bins)
    assert raw == pytest.approx(example["raw_ece"], abs=1e-12)
    calibrated = calibrant.ece(y, fitted.predict_proba(p), n_bins=n_bins)
    assert calibrated == pytest.approx(example["calibrated_ece"], abs=1e-12)


@settings(deadline=None, max_examples=100)
@given(samples(), st.integers(1, 40), strategy, st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_agrees_with_loops(sample, n_bins, strategy, new):
    prob, y = sample
    fitted = HistogramBinning(n_bins=n_bins, strategy=strategy).fit(prob, y)
    values, counts = twin_values(prob, y, fitted.bin_edges_)
    assert fitted.bin_values_.tolist() == values
    assert fitted.bin_weights_.tolist() == counts
    assert fitted.global_rate_ == y.mean()
    expected = [values[twin_bin(p, fitted.bin_edges_)] for p in new]
    assert fitted.predict_proba(new).tolist() == expected


@settings(deadline=None, max_examples=80)
@given(samples(), st.integers(1, 12), strategy, st.data())
def test_integer_weights_are_repeated_rows(sample, n_bins, strategy, data):
    prob, y = sample
    n = len(prob)
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    weight[-2:] += 1  # the two rows that make sure of both classes
    make = HistogramBinning(n_bins=n_bins, strategy=strategy)
    weighted = make.fit(prob, y, sample_weight=weight)
    values, weights = weighted.bin_values_.tolist(), weighted.bin_weights_.tolist()
    edges = weighted.bin_edges_.tolist()
    repeated = make.fit(np.repeat(prob, weight), np.repeat(y, weight))
    assert edges == repeated.bin_edges_.tolist()
    assert weights == repeated.bin_weights_.tolist()
    assert values == repeated.bin_values_.tolist()


def test_weights_of_any_size():
    prob, y, weight = [0.1, 0.2, 0.7, 0.8], [0, 1, 0, 1], [0.5, 1.5, 3.0, 1.0]
    fitted = HistogramBinning(n_bins=2).fit(prob, y, sample_weight=weight)
    np.testing.assert_allclose(fitted.bin_values_, [0.75, 0.25])
    np.testing.assert_allclose(fitted.bin_weights_, [2, 4])
    assert fitted.global_rate_ == pytest.approx(2.5 / 6)


@settings(deadline=None, max_examples=60)
@given(samples(), st.integers(1, 12), strategy, st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(sample, n_bins, strategy, random):
    prob, y = sample
    order = list(range(len(prob)))
    random.shuffle(order)
    make = HistogramBinning(n_bins=n_bins, strategy=strategy)
    expected = make.fit(prob, y).predict_proba(prob)
    shuffled = make.fit(prob[order], y[order]).predict_proba(prob)
    assert shuffled.tolist() == expected.tolist()


@settings(deadline=None, max_examples=60)
@given(samples(st.floats(0, 1, width=32)), st.integers(1, 12), strategy)
def test_float32_and_two_columns_are_the_same_as_float64_and_one(sample, n_bins, strategy):
    prob, y = sample
    make = HistogramBinning(n_bins=n_bins, strategy=strategy)
    expected = make.fit(prob, y).predict_proba(prob)
    single = prob.astype(np.float32)
    assert make.fit(single, y).predict_proba(single).tolist() == expected.tolist()
    two = np.column_stack([1 - prob, prob])
    both = make.fit(two, y).predict_proba(two)
    np.testing.assert_array_equal(both, np.column_stack([1 - expected, expected]))


def test_empty_bins_take_the_nearest_and_of_two_the_lower():
    fitted = HistogramBinning(n_bins=10).fit([0.15, 0.55, 0.55], [1, 0, 0])
    assert fitted.bin_values_.tolist() == [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    assert fitted.bin_weights_.tolist() == [0, 1, 0, 0, 0, 2, 0, 0, 0, 0]


def test_more_bins_than_rows_and_one_row_a_bin():
    prob, y = [0.0, 0.35, 1.0], [0, 1, 1]
    for strategy in ("uniform", "quantile"):
        fitted = HistogramBinning(n_bins=1000, strategy=strategy).fit(prob, y)
        assert fitted.predict_proba(prob).tolist() == y


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_constant_scores_give_the_event_rate(strategy):
    fitted = HistogramBinning(strategy=strategy).fit([0.3] * 5, [0, 1, 0, 1, 0])
    assert fitted.predict_proba([0.0, 0.3, 1.0]).tolist() == [0.4, 0.4, 0.4]


@pytest.mark.parametrize("n_bins", [0, 2.5])
def test_bad_number_of_bins(n_bins):
    with pytest.raises(ValueError, match="n_bins must be an integer of at least 1"):
        HistogramBinning(n_bins=n_bins).fit([0.1, 0.9], [0, 1])


def test_bad_strategy():
    with pytest.raises(ValueError, match="strategy must be 'uniform' or 'quantile'"):
        HistogramBinning(strategy="equal_freq").fit([0.1, 0.9], [0, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_bins", [1, 3, 64, 1024, 5_000])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_predictions_at_and_beside_the_edges(strategy, n_bins, dtype):
    rng = np.random.default_rng(0)
    prob = rng.random(20_000) ** 3
    fitted = HistogramBinning(n_bins=n_bins, strategy=strategy).fit(prob, rng.random(20_000) < prob)
    edges = fitted.bin_edges_.astype(dtype)
    beside = [np.nextafter(edges, dtype(end)) for end in (0, 1)]
    new = np.concatenate([edges, *beside, np.linspace(0, 1, 1025, dtype=dtype), [dtype(-0.0)]])
    assert new.dtype == dtype
    bins = np.searchsorted(fitted.bin_edges_, new.astype(np.float64), side="right") - 1
    expected = fitted.bin_values_[np.clip(bins, 0, len(edges) - 2)]
    np.testing.assert_array_equal(fitted.predict_proba(new), expected)
