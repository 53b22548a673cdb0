"""Beta calibration: what test_parametric.py leaves open."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

import calibrant
from calibrant import BetaCalibration

FILES = [
    "binary_b200", "binary_b50_ties", "binary_b63_sensitive", "binary_b120_zero_one",
    "binary_b1000_rare", "binary_b2000", "binary_b201_odd", "binary_b150_calibrated",
    "edge_edges10", "edge_edges15", "edge_edges20",
]  # fmt: skip

rng = np.random.default_rng(12)
PROB = expit(rng.normal(size=300) * 2)
LABELS = (rng.uniform(size=300) < PROB**1.5).astype(int)

# Both labels at every one of five values: an optimum exists whatever is added.
ANCHORS = np.repeat([0.05, 0.25, 0.5, 0.75, 0.95], 2), np.tile([0, 1], 5)


probabilities = st.floats(0.0009765625, 0.9990234375, width=32)


@st.composite
def samples(draw):
    rows = draw(st.lists(st.tuples(probabilities, st.integers(0, 1)), max_size=30))
    p = np.array([p for p, _ in rows] + ANCHORS[0].tolist())
    return p, np.array([y for _, y in rows] + ANCHORS[1].tolist())


def twin_fit(p, y, weight=None, lowest=None):
    """Clipped logs and a general optimiser; `lowest` is the bound of a and b."""
    p = np.clip(p, 1e-15, 1 - 1e-15)
    features = np.column_stack([np.log(p), -np.log1p(-p), np.ones(len(p))])
    weight = np.ones(len(p)) if weight is None else weight

    def objective(theta):
        eta = features @ theta
        loss = np.average(np.logaddexp(0, eta) - y * eta, weights=weight)
        return loss, (weight * (expit(eta) - y)) @ features / weight.sum()

    return minimize(
        objective, [1, 1, 0], jac=True, method="L-BFGS-B",
        bounds=[(lowest, None), (lowest, None), (None, None)],
        options={"ftol": 1e-16, "gtol": 1e-11, "maxiter": 5000, "maxfun": 50_000},
    )  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_reference_of_the_r_package(reference, name):
    content = reference(name)
    fitted = BetaCalibration().fit(content["inputs"]["p"], content["inputs"]["y"])
    np.testing.assert_allclose(
        fitted.predict_proba(content["inputs"]["p_new"]),
        content["cal_beta"]["pred_new"],
        rtol=0,
        atol=1e-6,
    )


def test_reference_coefficients_with_another_eps(reference):
    content = reference("binary_b120_zero_one")
    exact = content["cal_beta_eps_1e6"]["exact"]
    fitted = BetaCalibration(eps=1e-6).fit(content["inputs"]["p"], content["inputs"]["y"])
    for name in ("a", "b", "c"):
        assert getattr(fitted, f"{name}_") == pytest.approx(exact[name], abs=1e-8)


def test_documentation_example(reference):
    (example,) = (e for e in reference("doc_examples")["examples"] if e["topic"] == "cal_beta")
    p, y = example["inputs"]["p"], example["inputs"]["y"]
    fitted = BetaCalibration().fit(p, y)
    for name in ("a", "b", "c"):
        assert getattr(fitted, f"{name}_") == pytest.approx(example[name], abs=1e-6)
    prob = fitted.predict_proba(p)
    np.testing.assert_allclose(prob, example["calibrated"], rtol=0, atol=1e-6)
    assert calibrant.ece(y, p) == pytest.approx(example["raw_ece"], abs=1e-12)
    assert calibrant.ece(y, prob) == pytest.approx(example["calibrated_ece"], abs=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_free_optimum(weighted):
    weight = rng.uniform(0.1, 3, 300) if weighted else None
    slow = twin_fit(PROB, LABELS, weight)
    fitted = BetaCalibration().fit(PROB, LABELS, sample_weight=weight)
    assert fitted.loss_ <= slow.fun + 1e-13
    assert [fitted.a_, fitted.b_, fitted.c_] == pytest.approx(slow.x, abs=1e-5)


@settings(deadline=None, max_examples=60)
@given(samples(), st.booleans())
def test_constrained_optimum(sample, reverse):
    p, y = sample
    y = 1 - y if reverse else y
    slow = twin_fit(p, y, lowest=0)
    fitted = BetaCalibration(constraint="monotone").fit(p, y)
    assert min(fitted.a_, fitted.b_) >= 0
    assert fitted.loss_ <= slow.fun + 1e-12
    theirs = expit(slow.x[0] * np.log(p) - slow.x[1] * np.log1p(-p) + slow.x[2])
    np.testing.assert_allclose(fitted.predict_proba(p), theirs, rtol=0, atol=1e-4)
    assert (np.diff(fitted.predict_proba(np.linspace(0, 1, 201))) >= 0).all()


def test_constrained_optimum_with_weights():
    weight = rng.uniform(0.1, 3, 300)
    slow = twin_fit(PROB, 1 - LABELS, weight, lowest=0)
    fitted = BetaCalibration(constraint="monotone").fit(PROB, 1 - LABELS, sample_weight=weight)
    assert (fitted.a_, fitted.b_) == (0, 0)
    np.testing.assert_allclose(
        fitted.predict_proba(PROB), np.average(1 - LABELS, weights=weight), rtol=0, atol=1e-12
    )
    assert fitted.loss_ == pytest.approx(slow.fun, abs=1e-12)


def test_constraint_on_separated_data():
    p = [0.1, 0.2, 0.8, 0.9]
    with pytest.warns(ConvergenceWarning, match="no finite optimum"):
        right = BetaCalibration(constraint="monotone").fit(p, [0, 0, 1, 1])
    assert not right.converged_
    assert (np.diff(right.predict_proba(np.linspace(0, 1, 101))) >= 0).all()
    np.testing.assert_allclose(right.predict_proba(p), [0, 0, 1, 1], rtol=0, atol=1e-6)
    # The wrong way round the constraint leaves one choice, and that is an optimum.
    wrong = BetaCalibration(constraint="monotone").fit(p, [1, 1, 0, 0])
    assert (wrong.a_, wrong.b_, wrong.converged_) == (0, 0, True)
    assert wrong.predict_proba(p) == pytest.approx([0.5] * 4)


def test_two_distinct_probabilities_have_the_slopes_of_least_norm():
    p, y = np.repeat([0.2, 0.7], 10), np.r_[[1] * 3 + [0] * 7, [1] * 8 + [0] * 2]
    fitted = BetaCalibration().fit(p, y)
    assert fitted.converged_
    direction = np.array([np.log(0.7 / 0.2), -np.log(0.3 / 0.8)])
    rise = np.log(0.8 / 0.2) - np.log(0.3 / 0.7)
    assert [fitted.a_, fitted.b_] == pytest.approx(rise * direction / (direction @ direction))


def test_only_zeros_and_ones():
    fitted = BetaCalibration().fit([0.0, 0.0, 0.0, 1.0, 1.0, 1.0], [0, 1, 0, 1, 1, 0])
    assert fitted.converged_
    np.testing.assert_allclose(fitted.predict_proba([0.0, 1.0]), [1 / 3, 2 / 3], rtol=0, atol=1e-12)
    assert 1 / 3 < fitted.predict_proba([0.5])[0] < 2 / 3


@pytest.mark.parametrize("tiny", [1e-300, 5e-324, 1e-16])
def test_probabilities_below_eps_count_as_eps(tiny):
    p, y = np.r_[PROB, tiny, 0.0], np.r_[LABELS, 0, 1]
    fitted = BetaCalibration().fit(p, y)
    same = BetaCalibration().fit(np.r_[PROB, 1e-15, 1e-15], y)
    assert (fitted.a_, fitted.b_, fitted.c_) == (same.a_, same.b_, same.c_)
    assert fitted.predict_proba([tiny]) == fitted.predict_proba([1e-15])


def test_probabilities_that_clipping_makes_equal():
    with pytest.warns(UserWarning, match="all probabilities are equal, perhaps after clipping"):
        fitted = BetaCalibration(eps=0.4).fit([0.1, 0.2, 0.3], [0, 1, 1])
    np.testing.assert_allclose(fitted.predict_proba([0.0, 1.0]), 2 / 3, rtol=0, atol=1e-12)


@pytest.mark.parametrize("eps", [1e-17, 1e-300, 0.0, -1.0, 0.5, float("nan")])
def test_bad_eps(eps):
    """With an eps that leaves 1 as it is, the log of the complement would be infinite."""
    with pytest.raises(ValueError, match="eps must be a number in"):
        BetaCalibration(eps=eps).fit([0.0, 0.2, 0.6, 1.0], [0, 1, 0, 1])


def test_the_smallest_eps():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = BetaCalibration(eps=1.2e-16).fit([0.0, 0.2, 0.6, 1.0, 0.4], [0, 1, 0, 1, 1])
    assert np.isfinite([fitted.a_, fitted.b_, fitted.c_]).all()


@settings(deadline=None, max_examples=60)
@given(samples(), st.randoms(use_true_random=False))
def test_order_and_precision_do_not_matter(sample, random):
    p, y = sample
    fitted = BetaCalibration().fit(p, y)
    expected = fitted.predict_proba(p)
    order = list(range(len(p)))
    random.shuffle(order)
    shuffled = BetaCalibration().fit(p[order], y[order])
    np.testing.assert_allclose(shuffled.predict_proba(p), expected, rtol=0, atol=1e-12)
    single = p.astype(np.float32)
    in_single = BetaCalibration().fit(single, y)
    in_double = BetaCalibration().fit(single.astype(float), y)
    assert in_single.predict_proba(single).tolist() == in_double.predict_proba(single).tolist()
    both = np.column_stack([1 - p, p])
    two = BetaCalibration().fit(both, y).predict_proba(both)
    np.testing.assert_array_equal(two, np.column_stack([1 - expected, expected]))


@settings(deadline=None, max_examples=40)
@given(samples(), st.data())
def test_integer_weights_are_repeated_rows(sample, data):
    p, y = sample
    whole = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(p), max_size=len(p))))
    np.testing.assert_allclose(
        BetaCalibration().fit(p, y, sample_weight=whole).predict_proba(p),
        BetaCalibration().fit(np.repeat(p, whole), np.repeat(y, whole)).predict_proba(p),
        rtol=0,
        atol=1e-11,
    )
