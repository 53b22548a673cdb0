"""Vector scaling."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning

import calibrant
from calibrant import TemperatureScaling, VectorScaling

FILES = [
    "multi_m3_300",
    "multi_m3_60_ties",
    "multi_m3_150_zeros",
    "multi_m3_90_rare1",
    "multi_m3_90_rare2",
    "multi_m4_400_distorted",
    "multi_m5_1000",
    "multi_m10_2000",
]


def sample(seed, n=120, K=3, scale=2.0):
    """Logits, and labels that occur in every class and overlap."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat(np.arange(K), 3), rng.integers(0, K, n - 3 * K)])
    logits = scale * rng.normal(size=(n, K))
    logits[np.arange(n), y] += 1.0
    return logits, y


def assert_packed(prob, expected, tolerance):
    np.testing.assert_allclose(prob[: expected["rows"]], expected["head"], rtol=0, atol=tolerance)
    if "weighted_sums" in expected:
        sums = np.cos(np.arange(1, len(prob) + 1)) @ prob
        np.testing.assert_allclose(sums, expected["weighted_sums"], rtol=0, atol=10 * tolerance)


def assert_valid(prob):
    assert prob.dtype == np.float64
    assert np.isfinite(prob).all()
    assert (prob >= 0).all()
    np.testing.assert_allclose(prob.sum(axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", FILES)
def test_reference(reference, name):
    file = reference(name)
    inputs, expected = file["inputs"], file["cal_vector_scaling"]
    exact = expected["exact"]
    fitted = VectorScaling().fit(inputs["logits"], inputs["y"])
    assert fitted.converged_
    assert_packed(fitted.predict_proba(inputs["logits"]), exact["pred_train"], 1e-9)
    new = fitted.predict_proba(inputs["logits_new"])
    np.testing.assert_allclose(new, exact["pred_new"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(fitted.scale_, exact["scale"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(fitted.bias_, exact["bias_centred"], rtol=0, atol=1e-8)
    assert fitted.loss_ == pytest.approx(exact["value"], abs=1e-12)
    assert fitted.loss_ <= expected["value"] + 1e-12
    assert_packed(fitted.predict_proba(inputs["logits"]), expected["pred_train"], 1e-2)


def test_documentation_example(reference):
    example = next(
        e for e in reference("doc_examples")["examples"] if e["topic"] == "cal_vector_scaling"
    )
    inputs = example["inputs"]
    with pytest.warns(ConvergenceWarning, match="separate classes"):
        fitted = VectorScaling().fit(inputs["logits"], inputs["y"])
    assert not fitted.converged_
    assert fitted.loss_ <= example["value"]
    assert_valid(fitted.predict_proba(inputs["logits"]))


def twin(logits, y):
    """The plain objective, given to a quasi-Newton method."""
    n, K = logits.shape

    def loss(parameters):
        s, b = np.split(parameters, 2)
        eta = s * logits + b
        residual = softmax(eta, axis=1)
        residual[np.arange(n), y] -= 1
        value = -log_softmax(eta, axis=1)[np.arange(n), y].mean()
        return value, np.concatenate([(residual * logits).mean(axis=0), residual.mean(axis=0)])

    start = np.concatenate([np.ones(K), np.zeros(K)])
    found = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9})
    s, b = np.split(found.x, 2)
    return s, b - b.mean(), found.fun


@pytest.mark.parametrize("K", [2, 3, 6])
def test_twin(K):
    logits, y = sample(K, K=K)
    scale, bias, loss = twin(logits, y)
    fitted = VectorScaling().fit(logits, y)
    np.testing.assert_allclose(fitted.scale_, scale, rtol=0, atol=1e-6)
    np.testing.assert_allclose(fitted.bias_, bias, rtol=0, atol=1e-6)
    assert fitted.loss_ == pytest.approx(loss, abs=1e-12)
    expected = softmax(fitted.scale_ * logits + fitted.bias_, axis=1)
    np.testing.assert_allclose(fitted.predict_proba(logits), expected, rtol=0, atol=1e-14)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_order_of_rows_and_of_classes_does_not_matter(seed, K):
    logits, y = sample(seed, K=K)
    fitted = VectorScaling().fit(logits, y)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(y)), rng.permutation(K)
    shuffled = VectorScaling().fit(logits[rows], y[rows])
    np.testing.assert_allclose(shuffled.scale_, fitted.scale_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(shuffled.bias_, fitted.bias_, rtol=0, atol=1e-9)
    relabelled = VectorScaling().fit(logits[:, columns], y, labels=columns)
    np.testing.assert_allclose(relabelled.scale_, fitted.scale_[columns], rtol=0, atol=1e-9)
    np.testing.assert_allclose(relabelled.bias_, fitted.bias_[columns], rtol=0, atol=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_an_integer_weight_is_a_repeated_row(seed):
    logits, y = sample(seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(y))
    weight[:9] = 1
    weighted = VectorScaling().fit(logits, y, sample_weight=weight)
    repeated = VectorScaling().fit(np.repeat(logits, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.scale_, repeated.scale_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(weighted.bias_, repeated.bias_, rtol=0, atol=1e-9)
    assert weighted.loss_ == pytest.approx(repeated.loss_, abs=1e-13)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_fits_at_least_as_well_as_one_temperature(seed):
    logits, y = sample(seed)
    assert VectorScaling().fit(logits, y).loss_ <= TemperatureScaling().fit(logits, y).loss_ + 1e-12


def test_a_shift_of_a_column_goes_into_the_bias():
    logits, y = sample(0)
    shift = np.array([1e6, -3e5, 0.0])
    fitted = VectorScaling().fit(logits, y)
    shifted = VectorScaling().fit(logits + shift, y)
    np.testing.assert_allclose(shifted.scale_, fitted.scale_, rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        shifted.predict_proba(logits + shift), fitted.predict_proba(logits), rtol=0, atol=1e-8
    )


def test_probabilities_count_by_their_log():
    logits, y = sample(1)
    prob = softmax(logits, axis=1)
    of_prob = VectorScaling(input="probability").fit(prob, y)
    of_logs = VectorScaling().fit(np.log(prob), y)
    np.testing.assert_allclose(of_prob.scale_, of_logs.scale_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        of_prob.predict_proba(prob), of_logs.predict_proba(np.log(prob)), rtol=0, atol=1e-9
    )
    single = VectorScaling(input="probability").fit(prob.astype(np.float32), y)
    np.testing.assert_allclose(single.scale_, of_prob.scale_, rtol=0, atol=1e-5)


def test_probabilities_of_zero_and_one():
    logits, y = sample(2, n=200)
    prob = softmax(logits, axis=1)
    prob[:20] = np.eye(3)[np.arange(20) % 3]
    fitted = VectorScaling(input="probability").fit(prob, y)
    assert fitted.converged_
    assert_valid(fitted.predict_proba(prob))
    assert_valid(fitted.predict_proba(np.eye(3)))


def test_labels_of_any_kind_and_saving(tmp_path):
    logits, y = sample(3)
    names = np.array(["ant", "bee", "cat"])
    fitted = VectorScaling().fit(logits, names[y])
    assert fitted.classes_.tolist() == ["ant", "bee", "cat"]
    assert fitted.n_features_in_ == 3
    fitted.save(tmp_path / "vector.json")
    loaded = calibrant.load(tmp_path / "vector.json")
    np.testing.assert_array_equal(loaded.predict_proba(logits), fitted.predict_proba(logits))
    assert loaded.converged_ is True
    assert loaded.n_iter_ == fitted.n_iter_


def test_perfectly_separated_classes():
    logits, _ = sample(4)
    with pytest.warns(ConvergenceWarning, match="VectorScaling stopped after"):
        fitted = VectorScaling().fit(logits, logits.argmax(axis=1))
    assert not fitted.converged_
    assert fitted.loss_ < 1e-6
    assert_valid(fitted.predict_proba(logits))


def test_a_class_that_does_not_occur():
    logits, y = sample(5)
    y = np.minimum(y, 1)
    with pytest.warns(ConvergenceWarning, match="does not occur in y"):
        fitted = VectorScaling().fit(logits, y, labels=[0, 1, 2])
    prob = fitted.predict_proba(logits)
    assert_valid(prob)
    assert (prob[:, 2] < 1e-9).all()
    two = VectorScaling().fit(logits[:, :2], y)
    np.testing.assert_allclose(prob[:, :2], two.predict_proba(logits[:, :2]), rtol=0, atol=1e-8)


def test_equal_rows_give_the_frequencies():
    with pytest.warns(UserWarning, match="all rows of X are equal"):
        fitted = VectorScaling().fit(np.full((10, 3), 5.0), [0] * 5 + [1] * 3 + [2] * 2)
    np.testing.assert_allclose(fitted.predict_proba([[5.0, 5.0, 5.0]]), [[0.5, 0.3, 0.2]])
    assert fitted.converged_


def test_a_constant_column():
    logits, y = sample(6)
    logits[:, 1] = 2.0
    fitted = VectorScaling().fit(logits, y)
    assert fitted.converged_
    assert_valid(fitted.predict_proba(logits))


def test_single_row():
    with pytest.warns(ConvergenceWarning), pytest.warns(UserWarning, match="all rows"):
        fitted = VectorScaling().fit([[1.0, 3.0, 2.0]], [1], labels=[0, 1, 2])
    assert_valid(fitted.predict_proba([[1.0, 3.0, 2.0], [-5.0, 0.0, 9.0]]))


@pytest.mark.parametrize("size", [1e-300, 1e-6, 1e6, 1e150])
def test_scores_of_any_size(size):
    logits, y = sample(7)
    fitted = VectorScaling().fit(logits * size, y)
    np.testing.assert_allclose(
        fitted.predict_proba(logits * size),
        VectorScaling().fit(logits, y).predict_proba(logits),
        rtol=0,
        atol=1e-9,
    )


def test_extreme_new_scores():
    logits, y = sample(8)
    largest = np.finfo(float).max
    new = [[largest, -largest, 0.0], [largest, largest, largest], [-largest, 0.0, largest]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_valid(VectorScaling().fit(3 * logits, y).predict_proba(new))
        assert_valid(VectorScaling().fit(logits / 3, y).predict_proba(new))


def test_many_classes():
    logits, y = sample(9, n=4000, K=200)
    fitted = VectorScaling().fit(logits, y)
    assert fitted.converged_
    residual = fitted.predict_proba(logits)
    residual[np.arange(len(y)), y] -= 1
    assert abs((residual * logits).mean(axis=0)).max() < 1e-9
    assert abs(residual.mean(axis=0)).max() < 1e-9


def test_plain_probabilities_are_refused():
    logits, y = sample(10)
    prob = softmax(logits, axis=1)
    for X in (prob, prob.astype(np.float32)):
        with pytest.raises(ValueError, match="X must hold logits.*use input='probability'"):
            VectorScaling().fit(X, y)
    with pytest.raises(ValueError, match="use input='probability'"):
        VectorScaling().fit(logits, y).predict_proba(prob)


def test_logits_are_refused_as_probabilities():
    logits, y = sample(11)
    with pytest.raises(ValueError, match="not a probability"):
        VectorScaling(input="probability").fit(logits, y)


def test_invalid_calls():
    logits, y = sample(12)
    with pytest.raises(ValueError, match=r"input must be 'logit' or 'probability', got 'log'"):
        VectorScaling(input="log").fit(logits, y)
    with pytest.raises(ValueError, match=r"a column for each class, but X has shape \(120,\)"):
        VectorScaling().fit(logits[:, 0], y > 0)
    with pytest.raises(ValueError, match="fitted on 3 columns"):
        VectorScaling().fit(logits, y).predict_proba(logits[:, :2])
