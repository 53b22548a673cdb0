"""Isotonic calibration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

import calibrant
from calibrant import IsotonicCalibration

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

probability = st.integers(0, 8).map(lambda k: k / 8) | st.floats(0, 1)


@st.composite
def samples(draw, probabilities=probability):
    """Probabilities and 0/1 labels with both classes."""
    rows = draw(st.lists(st.tuples(probabilities, st.integers(0, 1)), max_size=30))
    rows += [(draw(probabilities), 0), (draw(probabilities), 1)]
    rows = draw(st.permutations(rows))
    return np.array([p for p, _ in rows]), np.array([y for _, y in rows])


def twin_fit(prob, y, weight=None):
    """Positives first within ties, then the min-max formula, then the mean of each tie."""
    weight = np.ones(len(prob)) if weight is None else weight
    order = sorted(range(len(prob)), key=lambda i: (prob[i], -y[i]))
    p, y, w = prob[order], y[order], weight[order]
    n = len(p)
    mean = np.full((n, n), np.nan)
    for a in range(n):
        for b in range(a, n):
            mean[a, b] = np.average(y[a : b + 1], weights=w[a : b + 1])
    fitted = np.array([max(mean[a, i:].min() for a in range(i + 1)) for i in range(n)])
    thresholds = np.unique(p)
    values = [np.average(fitted[p == t], weights=w[p == t]) for t in thresholds]
    return thresholds, np.array(values)


@pytest.mark.parametrize("name", FILES)
def test_reference(reference, name):
    content = reference(name)
    p, y, p_new = (np.array(content["inputs"][key], float) for key in ("p", "y", "p_new"))
    expected = content["cal_isotonic"]
    fitted = IsotonicCalibration().fit(p, y)
    for new, values in [
        (p, expected["pred_train"]),
        (p_new, expected["pred_new"]),
        (expected["x_thresholds"], expected["y_calibrated"]),
    ]:
        np.testing.assert_allclose(fitted.predict_proba(new), values, rtol=0, atol=1e-12)
    # Ours are the ends of the flat stretches among the reference's thresholds.
    assert set(fitted.X_thresholds_) <= set(expected["x_thresholds"])
    assert fitted.X_thresholds_[[0, -1]].tolist() == [
        expected["x_thresholds"][0],
        expected["x_thresholds"][-1],
    ]


def test_documentation_example(reference):
    (example,) = (e for e in reference("doc_examples")["examples"] if e["topic"] == "cal_isotonic")
    p, y = example["inputs"]["p"], example["inputs"]["y"]
    fitted = IsotonicCalibration().fit(p, y)
    at_thresholds = fitted.predict_proba(example["x_thresholds"])
    np.testing.assert_allclose(at_thresholds, example["y_calibrated"], rtol=0, atol=1e-12)
    assert calibrant.ece(y, p) == pytest.approx(example["raw_ece"], abs=1e-12)
    calibrated = calibrant.ece(y, fitted.predict_proba(p))
    assert calibrated == pytest.approx(example["calibrated_ece"], abs=1e-12)


@settings(deadline=None, max_examples=100)
@given(samples(), st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_agrees_with_the_min_max_formula(sample, new):
    prob, y = sample
    thresholds, values = twin_fit(prob, y)
    fitted = IsotonicCalibration().fit(prob, y)
    np.testing.assert_allclose(fitted.predict_proba(thresholds), values, rtol=0, atol=1e-12)
    between = np.array([p for p in new if thresholds[0] <= p <= thresholds[-1]])
    if len(between) and np.diff(thresholds, prepend=-1).min() > 1e-300:
        expected = np.interp(between, thresholds, values)
        np.testing.assert_allclose(fitted.predict_proba(between), expected, rtol=0, atol=1e-12)


@settings(deadline=None, max_examples=100)
@given(samples(st.integers(0, 5).map(lambda k: k / 5)), st.data())
def test_weights_agree_with_the_min_max_formula_and_with_repeated_rows(sample, data):
    prob, y = sample
    n = len(prob)
    whole = np.array(data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
    weighted = IsotonicCalibration().fit(prob, y, sample_weight=whole)
    repeated = IsotonicCalibration().fit(np.repeat(prob, whole), np.repeat(y, whole))
    assert weighted.X_thresholds_.tolist() == repeated.X_thresholds_.tolist()
    assert weighted.y_thresholds_.tolist() == repeated.y_thresholds_.tolist()
    thresholds, values = twin_fit(prob, y, whole / 3)
    scaled = IsotonicCalibration().fit(prob, y, sample_weight=whole / 3)
    np.testing.assert_allclose(scaled.predict_proba(thresholds), values, rtol=0, atol=1e-12)


@settings(deadline=None, max_examples=100)
@given(samples(), st.lists(st.floats(0, 1), min_size=2, max_size=40))
def test_monotone_within_the_unit_interval_and_exact_at_the_thresholds(sample, new):
    fitted = IsotonicCalibration().fit(*sample)
    assert (np.diff(fitted.X_thresholds_) > 0).all()
    assert (np.diff(fitted.y_thresholds_) >= 0).all()
    assert fitted.predict_proba(fitted.X_thresholds_).tolist() == fitted.y_thresholds_.tolist()
    knots = fitted.X_thresholds_
    beside = np.clip([np.nextafter(knots, 0), np.nextafter(knots, 1)], 0, 1).ravel()
    prob = fitted.predict_proba(np.sort([*new, *knots, *beside, 0.0, 1.0]))
    assert (np.diff(prob) >= 0).all()
    assert prob[0] == fitted.y_thresholds_[0] >= 0
    assert prob[-1] == fitted.y_thresholds_[-1] <= 1


@settings(deadline=None, max_examples=60)
@given(samples(), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(sample, random):
    prob, y = sample
    order = list(range(len(prob)))
    random.shuffle(order)
    fitted = IsotonicCalibration().fit(prob, y)
    shuffled = IsotonicCalibration().fit(prob[order], y[order])
    assert shuffled.X_thresholds_.tolist() == fitted.X_thresholds_.tolist()
    assert shuffled.y_thresholds_.tolist() == fitted.y_thresholds_.tolist()
    assert fitted.predict_proba(prob)[order].tolist() == fitted.predict_proba(prob[order]).tolist()


@settings(deadline=None, max_examples=60)
@given(samples(st.floats(0, 1, width=32)))
def test_float32_and_two_columns_are_the_same_as_float64_and_one(sample):
    prob, y = sample
    double = IsotonicCalibration().fit(prob, y)
    single = IsotonicCalibration().fit(prob.astype(np.float32), y)
    expected = double.predict_proba(prob)
    assert single.predict_proba(prob.astype(np.float32)).tolist() == expected.tolist()
    assert single.predict_proba(prob).dtype == np.float64
    both = IsotonicCalibration().fit(np.column_stack([1 - prob, prob]), y)
    two = both.predict_proba(np.column_stack([1 - prob, prob]))
    np.testing.assert_array_equal(two, np.column_stack([1 - expected, expected]))


@pytest.mark.parametrize("decimals", [2, 3, 16])
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_scikit_learn(decimals, weighted):
    rng = np.random.default_rng(decimals)
    prob = rng.random(5000).round(decimals)
    y = rng.random(5000) < prob**2
    weight = rng.random(5000) if weighted else None
    new = rng.random(100_000)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(prob, y, sample_weight=weight)
    ours = IsotonicCalibration().fit(prob, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict(new), rtol=0, atol=1e-12)


def test_constant_scores_give_the_event_rate():
    fitted = IsotonicCalibration().fit([0.3] * 5, [0, 1, 0, 1, 0])
    assert fitted.predict_proba([0.0, 0.3, 1.0]).tolist() == [0.4, 0.4, 0.4]


def test_two_rows():
    right = IsotonicCalibration().fit([0.25, 0.75], [0, 1])
    assert right.predict_proba([0.0, 0.25, 0.5, 0.75, 1.0]).tolist() == [0, 0, 0.5, 1, 1]
    wrong = IsotonicCalibration().fit([0.25, 0.75], [1, 0])
    assert wrong.predict_proba([0.0, 0.5, 1.0]).tolist() == [0.5, 0.5, 0.5]


def test_thresholds_that_are_denormal_numbers():
    fitted = IsotonicCalibration().fit([0.0, 1e-310], [0, 1])
    assert fitted.predict_proba([5e-311]) == pytest.approx(0.5)


def test_bad_probabilities_and_labels():
    fitted = IsotonicCalibration().fit([0.2, 0.8], [0, 1])
    with pytest.raises(ValueError, match=r"X\[1\] is 1.5, not a probability"):
        fitted.predict_proba([0.5, 1.5])
    with pytest.raises(ValueError, match=r"X\[0\] is -0.1, not a probability"):
        IsotonicCalibration().fit([-0.1, 0.5], [0, 1])
    with pytest.raises(ValueError, match="needs both classes, but 0 does not occur"):
        IsotonicCalibration().fit([0.1, 0.5], [1, 1])
