"""Dirichlet calibration."""

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
from calibrant import DirichletCalibration

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
GRID = [0.0, 1e-4, 1e-3, 1e-2, 1e-1]


def sample(seed, n=150, K=3, sharpness=2.0):
    """Overconfident probabilities, and labels that occur in every class."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat(np.arange(K), 3), rng.integers(0, K, n - 3 * K)])
    logits = rng.normal(size=(n, K))
    logits[np.arange(n), y] += 1.5
    return softmax(sharpness * logits, axis=1), y


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


def plain_loss(W, b, prob, y, lambda_, eps=1e-12):
    """The objective as it is written down, and its gradient in W and b."""
    u = np.log(np.clip(prob, eps, 1 - eps))
    eta = u @ W.T + b
    rows = np.arange(len(y))
    off = W - np.diag(np.diag(W))
    loss = -log_softmax(eta, axis=1)[rows, y].mean() + lambda_ * ((off**2).sum() + (b**2).sum())
    residual = softmax(eta, axis=1)
    residual[rows, y] -= 1
    residual /= len(y)
    return loss, residual.T @ u + 2 * lambda_ * off, residual.sum(axis=0) + 2 * lambda_ * b


@pytest.mark.parametrize("lambda_", [0, 0.001, 0.01])
@pytest.mark.parametrize("name", FILES)
def test_reference(reference, name, lambda_):
    file = reference(name)
    inputs = file["inputs"]
    expected = next(c for c in file["cal_dirichlet"] if c["lambda"] == lambda_)
    exact = expected["exact"]
    calibration = DirichletCalibration(lambda_=lambda_)
    if exact is None:
        with pytest.warns(ConvergenceWarning, match="set lambda_ above 0"):
            fitted = calibration.fit(inputs["p"], inputs["y"])
        assert not fitted.converged_
        assert fitted.loss_ <= expected["value"]
        assert_valid(fitted.predict_proba(inputs["p"]))
        assert_valid(fitted.predict_proba(inputs["p_new"]))
        return
    fitted = calibration.fit(inputs["p"], inputs["y"])
    assert fitted.converged_
    assert fitted.selected_lambda_ == lambda_
    assert_packed(fitted.predict_proba(inputs["p"]), exact["pred_train"], 1e-9)
    new = fitted.predict_proba(inputs["p_new"])
    np.testing.assert_allclose(new, exact["pred_new"], rtol=0, atol=1e-9)
    assert fitted.loss_ == pytest.approx(exact["value"], abs=1e-12)
    assert fitted.loss_ <= expected["value"] + 1e-12
    if expected["convergence"] == 0:
        assert_packed(fitted.predict_proba(inputs["p"]), expected["pred_train"], 1e-2)
    if lambda_ > 0:
        np.testing.assert_allclose(fitted.weight_, exact["weight"], rtol=0, atol=1e-8)
        np.testing.assert_allclose(fitted.bias_, exact["bias"], rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", FILES)
def test_reference_selection(reference, name):
    file = reference(name)
    inputs, expected = file["inputs"], file["cal_dirichlet_auto"]
    fitted = DirichletCalibration().fit(inputs["p"], inputs["y"])
    assert fitted.selected_lambda_ == expected["lambda"]
    assert_packed(fitted.predict_proba(inputs["p"]), expected["pred_train"], 1e-2)
    same = DirichletCalibration(lambda_=expected["lambda"]).fit(inputs["p"], inputs["y"])
    np.testing.assert_array_equal(fitted.weight_, same.weight_)
    assert fitted.n_iter_ == same.n_iter_


def test_documentation_example(reference):
    example = next(
        e for e in reference("doc_examples")["examples"] if e["topic"] == "cal_dirichlet"
    )
    inputs = example["inputs"]
    with pytest.warns(ConvergenceWarning, match="separate classes"):
        fitted = DirichletCalibration().fit(inputs["p"], inputs["y"])
    assert not fitted.converged_
    assert_valid(fitted.predict_proba(inputs["p"]))


def test_selection_twin():
    """Each class dealt to three folds in turn, mean held-out losses averaged over the folds."""
    chosen = set()
    for seed in range(6):
        prob, y = sample(seed, n=90, sharpness=[0.5, 1.0, 3.0][seed % 3])
        fold = np.empty(len(y), dtype=int)
        for k in range(3):
            fold[y == k] = np.arange((y == k).sum()) % 3
        scores = np.zeros(len(GRID))
        for i, lambda_ in enumerate(GRID):
            for f in range(3):
                fitted = DirichletCalibration(lambda_=lambda_).fit(prob[fold != f], y[fold != f])
                held_out = fitted.predict_proba(prob[fold == f])
                likelihood = held_out[np.arange(len(held_out)), y[fold == f]]
                scores[i] -= np.log(np.clip(likelihood, 1e-15, 1 - 1e-15)).mean()
        fitted = DirichletCalibration().fit(prob, y)
        assert fitted.selected_lambda_ == GRID[scores.argmin()]
        chosen.add(fitted.selected_lambda_)
    assert len(chosen) > 1


def twin(prob, y, lambda_):
    K = prob.shape[1]

    def loss(parameters):
        W, b = parameters[: K * K].reshape(K, K), parameters[K * K :]
        value, in_W, in_b = plain_loss(W, b, prob, y, lambda_)
        return value, np.concatenate([in_W.ravel(), in_b])

    start = np.concatenate([np.eye(K).ravel(), np.zeros(K)])
    found = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    return found.x[: K * K].reshape(K, K), found.x[K * K :], found.fun


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("lambda_", [1e-3, 1.0])
def test_twin(K, lambda_):
    prob, y = sample(K, K=K)
    weight, bias, loss = twin(prob, y, lambda_)
    fitted = DirichletCalibration(lambda_=lambda_).fit(prob, y)
    np.testing.assert_allclose(fitted.weight_, weight, rtol=0, atol=1e-5)
    np.testing.assert_allclose(fitted.bias_, bias, rtol=0, atol=1e-5)
    assert fitted.loss_ == pytest.approx(loss, abs=1e-11)
    expected = softmax(np.log(prob) @ fitted.weight_.T + fitted.bias_, axis=1)
    np.testing.assert_allclose(fitted.predict_proba(prob), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("lambda_", [0.0, 1e-6, 1e-3, 1e-1, 10.0])
@pytest.mark.parametrize("K", [12, 13, 40])
def test_the_gradient_vanishes(K, lambda_):
    """The objective is convex: no more is needed. Both ways of solving are met here."""
    prob, y = sample(K, n=60 * K, K=K)
    fitted = DirichletCalibration(lambda_=lambda_).fit(prob, y)
    assert fitted.converged_
    loss, in_weight, in_bias = plain_loss(fitted.weight_, fitted.bias_, prob, y, lambda_)
    assert fitted.loss_ == pytest.approx(loss, abs=1e-12)
    assert abs(in_weight).max() < 1e-10
    assert abs(in_bias).max() < 1e-10


def test_without_penalty_the_choice_is_the_limit_of_small_penalties():
    prob, y = sample(0)
    none = DirichletCalibration(lambda_=0).fit(prob, y)
    little = DirichletCalibration(lambda_=1e-10).fit(prob, y)
    np.testing.assert_allclose(none.weight_, little.weight_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(none.bias_, little.bias_, rtol=0, atol=1e-6)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 4, 13]))
def test_order_of_rows_and_of_classes_does_not_matter(seed, K):
    prob, y = sample(seed, K=K, n=60 * K)
    fitted = DirichletCalibration(lambda_=1e-3).fit(prob, y)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(y)), rng.permutation(K)
    shuffled = DirichletCalibration(lambda_=1e-3).fit(prob[rows], y[rows])
    np.testing.assert_allclose(shuffled.weight_, fitted.weight_, rtol=0, atol=1e-9)
    relabelled = DirichletCalibration(lambda_=1e-3).fit(prob[:, columns], y, labels=columns)
    np.testing.assert_allclose(
        relabelled.weight_, fitted.weight_[np.ix_(columns, columns)], rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(relabelled.bias_, fitted.bias_[columns], rtol=0, atol=1e-9)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 0.01]))
def test_an_integer_weight_is_a_repeated_row(seed, lambda_):
    prob, y = sample(seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(y))
    weight[:9] = 1
    weighted = DirichletCalibration(lambda_=lambda_).fit(prob, y, sample_weight=weight)
    repeated = DirichletCalibration(lambda_=lambda_).fit(
        np.repeat(prob, weight, axis=0), np.repeat(y, weight)
    )
    assert weighted.selected_lambda_ == repeated.selected_lambda_
    assert weighted.loss_ == pytest.approx(repeated.loss_, abs=1e-12)
    np.testing.assert_allclose(
        weighted.predict_proba(prob), repeated.predict_proba(prob), rtol=0, atol=1e-9
    )


def test_the_scale_of_fractional_weights_does_not_matter():
    prob, y = sample(1)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    a = DirichletCalibration().fit(prob, y, sample_weight=weight)
    b = DirichletCalibration().fit(prob, y, sample_weight=weight / 1000)
    assert a.selected_lambda_ == b.selected_lambda_
    np.testing.assert_allclose(a.weight_, b.weight_, rtol=0, atol=1e-9)


def test_weights_of_very_different_size():
    prob, y = sample(13, K=14, n=300)
    weight = np.random.default_rng(13).uniform(size=len(y)) ** 20
    with pytest.warns(ConvergenceWarning, match="or nearly so"):
        fitted = DirichletCalibration(lambda_=0).fit(prob, y, sample_weight=weight)
    assert not fitted.converged_
    assert_valid(fitted.predict_proba(prob))
    penalised = DirichletCalibration(lambda_=1e-3).fit(prob, y, sample_weight=weight)
    assert penalised.converged_


def test_a_class_of_one_row_takes_the_fallback():
    prob, y = sample(2)
    y = np.where(y == 2, 1, y)
    y[0] = 2
    assert DirichletCalibration().fit(prob, y).selected_lambda_ == 1e-3
    twice = np.ones(len(y))
    twice[0] = 2
    weighted = DirichletCalibration().fit(prob, y, sample_weight=twice)
    repeated = DirichletCalibration().fit(np.vstack([prob[:1], prob]), np.append(2, y))
    assert weighted.selected_lambda_ == repeated.selected_lambda_


@pytest.mark.parametrize("K", [4, 14])
@pytest.mark.parametrize("lambda_", [None, 0, 1e-3, 1.0])
def test_a_class_that_does_not_occur(lambda_, K):
    prob, y = sample(3, K=K, n=50 * K)
    y[y == K - 1] = 0
    with pytest.warns(ConvergenceWarning, match="does not occur in y"):
        fitted = DirichletCalibration(lambda_=lambda_).fit(prob, y, labels=range(K))
    assert not fitted.converged_
    predicted = fitted.predict_proba(prob)
    assert_valid(predicted)
    assert (predicted[:, -1] < 1e-8).all()


@pytest.mark.parametrize("K", [3, 14])
@pytest.mark.parametrize("lambda_", [0, 1e-3])
def test_the_most_likely_class_always_right(lambda_, K):
    prob, _ = sample(4, K=K, n=30 * K)
    with pytest.warns(ConvergenceWarning, match="separate classes"):
        fitted = DirichletCalibration(lambda_=lambda_).fit(prob, prob.argmax(axis=1))
    assert not fitted.converged_
    assert fitted.loss_ < 1e-6
    assert_valid(fitted.predict_proba(prob))


@pytest.mark.parametrize("K", [4, 14])
def test_probabilities_of_zero_and_one(K):
    prob, y = sample(5, K=K, n=60 * K)
    certain = np.eye(K)[prob.argmax(axis=1)]
    for lambda_ in (1e-3, 0.1):
        fitted = DirichletCalibration(lambda_=lambda_).fit(certain, y)
        assert fitted.converged_
        _, in_weight, in_bias = plain_loss(fitted.weight_, fitted.bias_, certain, y, lambda_)
        assert max(abs(in_weight).max(), abs(in_bias).max()) < 1e-9
        assert_valid(fitted.predict_proba(np.eye(K)))


@pytest.mark.parametrize("K", [4, 14])
def test_a_class_that_is_never_predicted(K):
    prob, y = sample(6, K=K, n=60 * K)
    prob[:, 0] = 0
    prob /= prob.sum(axis=1, keepdims=True)
    for lambda_ in (0, 1e-3):
        fitted = DirichletCalibration(lambda_=lambda_).fit(prob, y)
        assert fitted.converged_
        assert_valid(fitted.predict_proba(prob))
        residual = fitted.predict_proba(prob).mean(axis=0) - np.bincount(y) / len(y)
        assert abs(residual).max() < (1e-9 if lambda_ == 0 else 0.1)


@pytest.mark.parametrize("K", [3, 14])
def test_equal_rows_give_the_frequencies(K):
    y = np.concatenate([np.arange(K), np.zeros(K, dtype=int)])
    prob = np.full((2 * K, K), 1 / K)
    with pytest.warns(UserWarning, match="all rows of X are equal"):
        fitted = DirichletCalibration(lambda_=0).fit(prob, y)
    assert fitted.converged_
    expected = np.tile(np.bincount(y) / len(y), (2 * K, 1))
    np.testing.assert_allclose(fitted.predict_proba(prob), expected, rtol=0, atol=1e-7)


def test_nearly_equal_rows():
    rng = np.random.default_rng(0)
    prob = softmax(1e-6 * rng.normal(size=(400, 15)), axis=1)
    y = np.concatenate([np.arange(15), rng.integers(0, 15, 385)])
    for lambda_ in (0, 1e-3):
        with warnings.catch_warnings():
            # Whether rounding lets the flat optimum be reached differs between processors.
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = DirichletCalibration(lambda_=lambda_).fit(prob, y)
        assert_valid(fitted.predict_proba(prob))
        assert fitted.loss_ < np.log(15)


@pytest.mark.parametrize("K", [3, 14])
@pytest.mark.parametrize("lambda_", [None, 0, 0.1])
def test_fewer_rows_than_parameters(lambda_, K):
    prob, _ = sample(7, K=K, n=3 * K)
    y = np.array([0, 1, 0, 1])
    with pytest.warns(ConvergenceWarning):
        fitted = DirichletCalibration(lambda_=lambda_).fit(prob[:4], y, labels=range(K))
    assert_valid(fitted.predict_proba(prob))


def test_single_row():
    with pytest.warns(ConvergenceWarning), pytest.warns(UserWarning, match="all rows"):
        fitted = DirichletCalibration().fit([[0.2, 0.5, 0.3]], [1], labels=[0, 1, 2])
    assert fitted.selected_lambda_ == 1e-3
    assert_valid(fitted.predict_proba([[0.2, 0.5, 0.3], [1, 0, 0]]))


def test_float32():
    prob, y = sample(8)
    double = DirichletCalibration(lambda_=1e-3).fit(prob, y)
    single = DirichletCalibration(lambda_=1e-3).fit(prob.astype(np.float32), y)
    np.testing.assert_allclose(
        single.predict_proba(prob.astype(np.float32)), double.predict_proba(prob), rtol=0, atol=1e-5
    )
    assert_valid(single.predict_proba(prob.astype(np.float32)))


def test_eps_clips():
    prob, y = sample(9)
    fitted = DirichletCalibration(lambda_=1e-3, eps=0.05).fit(prob, y)
    loss, _, _ = plain_loss(fitted.weight_, fitted.bias_, prob, y, 1e-3, eps=0.05)
    assert fitted.loss_ == pytest.approx(loss, abs=1e-13)
    clipped = np.array([[0.05, 0.0001, 0.9499]])
    np.testing.assert_array_equal(
        fitted.predict_proba(clipped), fitted.predict_proba([[0.03, 0.0201, 0.9499]])
    )


def test_labels_of_any_kind_and_saving(tmp_path):
    prob, y = sample(10)
    names = np.array(["ant", "bee", "cat"])
    fitted = DirichletCalibration().fit(prob, names[y])
    assert fitted.classes_.tolist() == ["ant", "bee", "cat"]
    assert fitted.n_features_in_ == 3
    fitted.save(tmp_path / "dirichlet.json")
    loaded = calibrant.load(tmp_path / "dirichlet.json")
    np.testing.assert_array_equal(loaded.predict_proba(prob), fitted.predict_proba(prob))
    assert loaded.selected_lambda_ == fitted.selected_lambda_
    assert loaded.converged_ is True


def test_improves_overconfident_predictions():
    prob, y = sample(11, n=2000, sharpness=4.0)
    raw = -np.log(prob[np.arange(1000, 2000), y[1000:]]).mean()
    fitted = DirichletCalibration().fit(prob[:1000], y[:1000])
    calibrated = fitted.predict_proba(prob[1000:])
    assert -np.log(calibrated[np.arange(1000), y[1000:]]).mean() < 0.8 * raw


@pytest.mark.parametrize("bad", [-1e-3, np.inf, np.nan, "small"])
def test_invalid_lambda(bad):
    prob, y = sample(12)
    with pytest.raises(ValueError, match="lambda_ must be None or a finite number of at least 0"):
        DirichletCalibration(lambda_=bad).fit(prob, y)


@pytest.mark.parametrize("bad", [0, 0.5, -1, np.nan, None])
def test_invalid_eps(bad):
    prob, y = sample(12)
    with pytest.raises(ValueError, match=r"eps must be a number in \(0, 0.5\)"):
        DirichletCalibration(lambda_=0, eps=bad).fit(prob, y)


def test_invalid_input():
    prob, y = sample(12)
    with pytest.raises(ValueError, match=r"a column for each class, but X has shape \(150,\)"):
        DirichletCalibration().fit(prob[:, 0], y > 0)
    with pytest.raises(ValueError, match="not a probability"):
        DirichletCalibration().fit(np.log(prob), y)
    with pytest.raises(ValueError, match="fitted on 3 columns"):
        DirichletCalibration(lambda_=0.1).fit(prob, y).predict_proba([[0.5, 0.5]])
