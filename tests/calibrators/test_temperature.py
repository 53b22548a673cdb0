"""Temperature scaling: what test_parametric.py leaves open."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import calibrant
from calibrant import TemperatureScaling

FILES = [
    "binary_b200", "binary_b50_ties", "binary_b63_sensitive", "binary_b120_zero_one",
    "binary_b1000_rare", "binary_b2000", "binary_b201_odd", "binary_b150_calibrated",
    "scores_s150",
]  # fmt: skip
EDGES = ["edge_constant", "edge_edges10", "edge_edges15", "edge_edges20"]

rng = np.random.default_rng(13)
SCORES = rng.normal(size=300) * 3
LABELS = (rng.uniform(size=300) < expit(SCORES / 2)).astype(int)
LOGITS = rng.normal(size=(300, 4)) * 3
CODES = (LOGITS / 2 + rng.gumbel(size=LOGITS.shape)).argmax(axis=1)


def mean_loss(logits, codes, temperature, weight=None):
    z = np.column_stack([np.zeros(len(logits)), logits]) if logits.ndim == 1 else logits
    z = z / temperature
    return np.average(logsumexp(z, axis=1) - z[np.arange(len(z)), codes], weights=weight)


def twin_fit(logits, codes, weight=None):
    """A general optimiser over the log of the temperature."""
    found = minimize_scalar(
        lambda s: mean_loss(logits, codes, np.exp(s), weight),
        bounds=np.log([1e-3, 1e3]), method="bounded", options={"xatol": 1e-12, "maxiter": 1000},
    )  # fmt: skip
    return float(np.exp(found.x)), float(found.fun)


logit = st.floats(-30, 30, width=32)


@st.composite
def samples(draw):
    """Three classes, some rows right and some wrong, so that an optimum is inside."""
    size = draw(st.integers(0, 12))
    rows = draw(st.lists(st.tuples(logit, logit, logit), min_size=size, max_size=size))
    codes = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    anchors = np.vstack([2 * np.eye(3), 2 * np.eye(3), [[2.0, 0, 0]]])
    codes += [0, 1, 2, 0, 1, 2, 1]
    return np.vstack([np.reshape(rows, (size, 3)), anchors]), np.array(codes)


def quietly(*args, **options):
    """Fit data whose optimum may be at an end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return TemperatureScaling().fit(*args, **options)


@pytest.mark.parametrize("name", FILES)
def test_reference_of_the_r_package(reference, name):
    content = reference(name)
    inputs, expected = content["inputs"], content["cal_temperature"]
    x = inputs["score"] if name == "scores_s150" else inputs["logit_p"]
    fitted = TemperatureScaling().fit(x, inputs["y"])
    assert fitted.temperature_ == pytest.approx(expected["temperature"], rel=1e-6)
    assert fitted.loss_ <= expected["value"] / len(x) + 1e-12
    np.testing.assert_allclose(fitted.predict_proba(x), expected["pred_train"], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", EDGES)
def test_reference_of_edge_cases(reference, name):
    content = reference(name)
    inputs, expected = content["inputs"], content["cal_temperature"]
    fitted = TemperatureScaling().fit(inputs["logit_p"], inputs["y"])
    prob = fitted.predict_proba(inputs["logit_p_new"])
    np.testing.assert_allclose(prob, expected["pred_new"], rtol=0, atol=1e-6)
    assert fitted.loss_ <= expected["value"] / len(inputs["y"]) + 1e-12


def test_documentation_examples(reference):
    examples = {e["topic"]: e for e in reference("doc_examples")["examples"]}
    example = examples["cal_temperature, binary"]
    z, y = (example["inputs"][key] for key in ("logits", "y"))
    fitted = TemperatureScaling().fit(z, y)
    assert fitted.temperature_ == pytest.approx(example["exact_temperature"], rel=1e-6)
    prob = fitted.predict_proba(z)
    assert calibrant.ece(y, prob) == pytest.approx(example["calibrated_ece"], abs=1e-6)
    # The labels are the largest logits: any sharpening is right, and the values are not asserted.
    example = examples["cal_temperature, multiclass"]
    with pytest.warns(ConvergenceWarning, match="at its lower bound 0.001"):
        fitted = TemperatureScaling().fit(example["inputs"]["logits"], example["inputs"]["y"])
    assert fitted.temperature_ == pytest.approx(1e-3)


@pytest.mark.parametrize(("x", "y"), [(SCORES, LABELS), (LOGITS, CODES)])
@pytest.mark.parametrize("weighted", [False, True])
def test_optimum(x, y, weighted):
    weight = rng.uniform(0.1, 3, 300) if weighted else None
    temperature, loss = twin_fit(x, y, weight)
    fitted = TemperatureScaling().fit(x, y, sample_weight=weight)
    assert fitted.temperature_ == pytest.approx(temperature, rel=1e-6)
    assert fitted.loss_ <= loss + 1e-14
    assert fitted.loss_ == pytest.approx(mean_loss(x, y, fitted.temperature_, weight), abs=1e-12)


def test_agrees_with_scikit_learn():
    model = LogisticRegression(C=100).fit(LOGITS[:60], CODES[:60])
    theirs = CalibratedClassifierCV(FrozenEstimator(model), method="temperature")
    theirs.fit(LOGITS, CODES)
    ours = TemperatureScaling().fit(model.decision_function(LOGITS), CODES)
    np.testing.assert_allclose(
        ours.predict_proba(model.decision_function(LOGITS)),
        theirs.predict_proba(LOGITS),
        rtol=0,
        atol=1e-4,
    )


def test_two_rows():
    with pytest.warns(ConvergenceWarning, match="at its lower bound"):
        right = TemperatureScaling().fit([-1.0, 1.0], [0, 1])
    assert right.predict_proba([-1.0, 0.0, 1.0]).tolist() == [0, 0.5, 1]
    with pytest.warns(ConvergenceWarning, match="at its upper bound"):
        wrong = TemperatureScaling().fit([-1.0, 1.0], [1, 0])
    assert wrong.temperature_ == pytest.approx(1000)


@pytest.mark.parametrize("scale", [1e-300, 1e5])
def test_optimum_beyond_the_interval(scale):
    end = 1e-3 if scale < 1 else 1e3
    with pytest.warns(ConvergenceWarning, match=f"bound {end:g}"):
        fitted = TemperatureScaling().fit(SCORES * scale, LABELS)
    assert (fitted.temperature_, fitted.converged_) == (pytest.approx(end), False)
    assert np.isfinite(fitted.predict_proba(SCORES * scale)).all()


def test_probabilities_of_zero_and_one_that_were_wrong():
    fitted = TemperatureScaling(input="probability").fit(
        [0.0, 1.0, 0.2, 0.7, 0.9, 0.1], [1, 1, 0, 1, 1, 0]
    )
    assert fitted.temperature_ > 10
    assert np.isfinite(fitted.loss_)
    matrix = [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.2, 0.2, 0.6], [0.0, 1.0, 0.0], [0.6, 0.2, 0.2]]
    fitted = TemperatureScaling(input="probability").fit(matrix, [0, 0, 2, 1, 0])
    prob = fitted.predict_proba(matrix)
    assert (np.isfinite(prob) & (prob >= 0)).all()
    np.testing.assert_allclose(prob.sum(axis=1), 1, rtol=0, atol=1e-12)


@settings(deadline=None, max_examples=60)
@given(samples(), st.randoms(use_true_random=False))
def test_order_precision_and_argmax(sample, random):
    z, codes = sample
    fitted = quietly(z, codes)
    prob = fitted.predict_proba(z)
    order = list(range(len(z)))
    random.shuffle(order)
    shuffled = quietly(z[order], codes[order])
    np.testing.assert_allclose(shuffled.predict_proba(z), prob, rtol=0, atol=1e-12)
    single = quietly(z.astype(np.float32), codes)
    assert single.temperature_ == fitted.temperature_
    np.testing.assert_array_equal(single.predict_proba(z.astype(np.float32)), prob)
    np.testing.assert_allclose(prob.sum(axis=1), 1, rtol=0, atol=1e-12)
    # A largest logit stays a largest probability; those that are close may become equal.
    rows = np.arange(len(z))
    assert (prob[rows, z.argmax(axis=1)] == prob.max(axis=1)).all()


@settings(deadline=None, max_examples=40)
@given(samples(), st.data())
def test_integer_weights_are_repeated_rows(sample, data):
    z, codes = sample
    whole = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(z), max_size=len(z))))
    weighted = quietly(z, codes, sample_weight=whole)
    repeated = quietly(np.repeat(z, whole, axis=0), np.repeat(codes, whole))
    assert weighted.converged_ == repeated.converged_
    np.testing.assert_allclose(
        weighted.predict_proba(z), repeated.predict_proba(z), rtol=0, atol=1e-11
    )


@pytest.mark.parametrize("case", ["like the rest", "flat", "all right", "all wrong"])
def test_the_rows_that_are_fitted_first_do_not_show(case):
    """Every tenth row may be nothing like the others."""
    z = rng.normal(size=(20_000, 3)) * 2
    codes = (z / 1.5 + rng.gumbel(size=z.shape)).argmax(axis=1)
    if case == "flat":
        z[::10] = 0
    elif case == "all right":
        codes[::10] = z[::10].argmax(axis=1)
    elif case == "all wrong":
        codes[::10] = z[::10].argmin(axis=1)
    fitted = TemperatureScaling().fit(z, codes)
    assert fitted.converged_
    assert fitted.temperature_ == pytest.approx(twin_fit(z, codes)[0], rel=1e-6)
    order = rng.permutation(20_000)
    shuffled = TemperatureScaling().fit(z[order], codes[order])
    assert shuffled.temperature_ == pytest.approx(fitted.temperature_, rel=1e-12)


def test_what_looks_like_probabilities_in_fit_and_in_prediction():
    pair = [[0.25, 0.75], [0.5, 0.5]]
    with pytest.raises(ValueError, match="use input='probability'"):
        TemperatureScaling().fit(pair, [0, 1])
    fitted = TemperatureScaling().fit(SCORES, LABELS)
    fitted.predict_proba([0.25, 0.5])  # a few logits between 0 and 1 are nothing odd
    two = TemperatureScaling().fit(np.column_stack([-SCORES, SCORES]), LABELS)
    with pytest.raises(ValueError, match="use input='probability'"):
        two.predict_proba(pair)


def test_a_bad_option_is_named():
    with pytest.raises(ValueError, match="input must be 'logit' or 'probability', got 'x'"):
        TemperatureScaling(input="x").fit(SCORES, LABELS)
