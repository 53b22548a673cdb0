"""Platt scaling: what test_parametric.py leaves open."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from threadpoolctl import threadpool_limits

import calibrant
from calibrant import PlattScaling

rng = np.random.default_rng(11)
SCORES = rng.normal(size=200) * 2
LABELS = (rng.uniform(size=200) < expit(SCORES - 0.5)).astype(int)

single = st.floats(-50, 50, width=32)


@st.composite
def samples(draw, scores=single):
    """Scores with ties, and 0/1 labels with both classes."""
    rows = draw(st.lists(st.tuples(scores, st.integers(0, 1)), min_size=2, max_size=30))
    rows += [(draw(scores), 0), (draw(scores), 1), (0.0, 0), (1.0, 1)]
    return np.array([x for x, _ in rows]), np.array([y for _, y in rows])


def twin_fit(x, y, weight):
    """Platt's targets and a general optimiser."""
    n_1, n_0 = weight @ y, weight @ (1 - y)
    target = np.where(y == 1, (n_1 + 1) / (n_1 + 2), 1 / (n_0 + 2))

    def objective(theta):
        eta = theta[0] + theta[1] * x
        loss = np.average(np.logaddexp(0, eta) - target * eta, weights=weight)
        pull = weight * (expit(eta) - target) / weight.sum()
        return loss, np.array([pull.sum(), pull @ x])

    return minimize(objective, [0, 0], jac=True, method="BFGS", options={"gtol": 1e-11})


def test_documentation_example(reference):
    (example,) = (e for e in reference("doc_examples")["examples"] if e["topic"] == "cal_platt")
    x, y = example["inputs"]["x"], example["inputs"]["y"]
    fitted = PlattScaling().fit(x, y)
    assert fitted.intercept_ == pytest.approx(example["intercept"], abs=1e-6)
    assert fitted.slope_ == pytest.approx(example["slope"], abs=1e-6)
    prob = fitted.predict_proba(x)
    np.testing.assert_allclose(prob, example["calibrated"], rtol=0, atol=1e-6)
    assert calibrant.ece(y, prob) == pytest.approx(example["ece"], abs=1e-6)


def test_reference_scores_in_full(reference):
    content = reference("scores_s150")
    inputs, expected = content["inputs"], content["cal_platt"]
    fitted = PlattScaling().fit(inputs["score"], inputs["y"])
    assert fitted.intercept_ == pytest.approx(
        expected["exact"]["coefficients"]["intercept"], abs=1e-8
    )
    assert fitted.loss_ == pytest.approx(expected["exact"]["value"] / 150, abs=1e-12)
    for key, x in (("pred_train", inputs["score"]), ("pred_new", inputs["score_new"])):
        np.testing.assert_allclose(fitted.predict_proba(x), expected[key], rtol=0, atol=1e-6)


def test_constant_logits_of_the_reference(reference):
    content = reference("edge_constant")
    with pytest.warns(UserWarning, match="all scores are equal"):
        fitted = PlattScaling().fit(content["inputs"]["logit_p"], content["inputs"]["y"])
    intercept = content["cal_platt_on_logit"]["coefficients"]["intercept"]
    assert (fitted.slope_, fitted.converged_) == (0, True)
    assert fitted.intercept_ == pytest.approx(intercept, abs=1e-8)


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_weighted_optimum(factor):
    weight = factor * rng.uniform(0.1, 3, 200)
    slow = twin_fit(SCORES, LABELS, weight)
    fitted = PlattScaling().fit(SCORES, LABELS, sample_weight=weight)
    assert [fitted.intercept_, fitted.slope_] == pytest.approx(slow.x, abs=1e-7)
    assert fitted.loss_ <= slow.fun + 1e-13


def test_integer_weights_are_repeated_rows():
    weight = rng.integers(1, 5, 200)
    weighted = PlattScaling().fit(SCORES, LABELS, sample_weight=weight)
    repeated = PlattScaling().fit(np.repeat(SCORES, weight), np.repeat(LABELS, weight))
    assert weighted.target_positive_ == repeated.target_positive_
    np.testing.assert_allclose(
        weighted.predict_proba(SCORES), repeated.predict_proba(SCORES), rtol=0, atol=1e-12
    )


def test_tiny_and_huge_weights():
    # The targets tend to 1/2 where there is hardly any data, to the labels where there is plenty.
    few = PlattScaling().fit(SCORES, LABELS, sample_weight=np.full(200, 1e-250))
    np.testing.assert_allclose(few.predict_proba(SCORES), 0.5, rtol=0, atol=1e-12)
    many = PlattScaling().fit(SCORES, LABELS, sample_weight=np.full(200, 1e250))
    repeated = PlattScaling().fit(np.tile(SCORES, 3000), np.tile(LABELS, 3000))
    np.testing.assert_allclose(
        many.predict_proba(SCORES), repeated.predict_proba(SCORES), rtol=0, atol=1e-4
    )
    assert (many.target_negative_, many.target_positive_) == pytest.approx((0, 1), abs=1e-200)


def test_a_huge_slope():
    x = np.where(LABELS, 2e-12, 1e-12)
    fitted = PlattScaling().fit(x, LABELS)
    assert fitted.slope_ > 1e12
    targets = np.where(LABELS, fitted.target_positive_, fitted.target_negative_)
    np.testing.assert_allclose(fitted.predict_proba(x), targets, rtol=0, atol=1e-9)
    assert fitted.predict_proba([-1e308, 1e308]).tolist() == [0, 1]


def test_two_rows_that_are_equal():
    with pytest.warns(UserWarning, match="all scores are equal"):
        fitted = PlattScaling().fit([3.0, 3.0], [0, 1])
    assert fitted.predict_proba([0.0, 3.0]).tolist() == [0.5, 0.5]


@settings(deadline=None, max_examples=60)
@given(samples(), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(sample, random):
    x, y = sample
    order = list(range(len(x)))
    random.shuffle(order)
    np.testing.assert_allclose(
        PlattScaling().fit(x[order], y[order]).predict_proba(x),
        PlattScaling().fit(x, y).predict_proba(x),
        rtol=0,
        atol=1e-12,
    )


@settings(deadline=None, max_examples=60)
@given(samples())
def test_single_precision_and_monotone(sample):
    x, y = sample
    fitted = PlattScaling().fit(x, y)
    assert PlattScaling().fit(x.astype(np.float32), y).slope_ == fitted.slope_
    prob = fitted.predict_proba(np.sort(x))
    assert prob.tolist() == fitted.predict_proba(np.sort(x).astype(np.float32)).tolist()
    assert (np.diff(prob) * np.sign(fitted.slope_) >= 0).all()


@settings(deadline=None, max_examples=40)
@given(samples(st.floats(0, 1)))
def test_two_columns_of_probabilities_are_the_second(sample):
    p, y = sample
    both = np.column_stack([1 - p, p])
    one, two = PlattScaling().fit(p, y), PlattScaling().fit(both, y)
    expected = one.predict_proba(p)
    np.testing.assert_array_equal(
        two.predict_proba(both), np.column_stack([1 - expected, expected])
    )


# ---------------------------------------------------------------- many rows

MANY = rng.normal(size=60_000)


@pytest.mark.parametrize("case", ["like the rest", "one class", "constant", "the other way"])
def test_the_rows_that_are_fitted_first_do_not_show(case):
    """Every tenth row may be nothing like the others."""
    x, y = MANY.copy(), (rng.uniform(size=60_000) < expit(MANY)).astype(int)
    if case == "one class":
        y[::10] = 0
    elif case == "constant":
        x[::10] = 0.5
    elif case == "the other way":
        y[::10] = x[::10] + 1e-3 * rng.normal(size=6_000) < 0
    fitted = PlattScaling().fit(x, y)
    assert fitted.converged_
    order = rng.permutation(60_000)
    np.testing.assert_allclose(
        PlattScaling().fit(x[order], y[order]).predict_proba(x),
        fitted.predict_proba(x),
        rtol=0,
        atol=1e-12,
    )


@pytest.mark.parametrize("weight", [None, rng.uniform(size=60_000)])
def test_threads_of_blas_do_not_show(weight):
    y = (rng.uniform(size=60_000) < expit(MANY)).astype(int)
    fits = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            fits.append(PlattScaling().fit(MANY, y, sample_weight=weight))
    assert fits[0].to_dict() == fits[1].to_dict()
