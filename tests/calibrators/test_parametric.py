"""Platt scaling, beta calibration and temperature scaling: the optimum of their objectives."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logsumexp
from sklearn.calibration import _SigmoidCalibration
from sklearn.exceptions import ConvergenceWarning

from calibrant import BetaCalibration, PlattScaling, TemperatureScaling, inv_logit, logit

BINARY = [
    "binary_b200", "binary_b50_ties", "binary_b63_sensitive", "binary_b120_zero_one",
    "binary_b1000_rare", "binary_b2000", "binary_b201_odd", "binary_b150_calibrated",
]  # fmt: skip
MULTI = [
    "multi_m3_300", "multi_m5_1000", "multi_m10_2000", "multi_m4_400_distorted",
    "multi_m3_60_ties", "multi_m3_150_zeros", "multi_m3_90_rare1", "multi_m3_90_rare2",
]  # fmt: skip
EDGES = ["edge_edges10", "edge_edges15", "edge_edges20"]
PREDICTION = {"atol": 1e-9, "rtol": 0}

binary_samples = st.lists(
    st.tuples(
        st.floats(0, 1) | st.sampled_from([0.0, 1.0, 0.5, 0.25, 1e-300, 1 - 1e-16]),
        st.integers(0, 1),
        st.integers(1, 4),
    ),
    min_size=4,
    max_size=40,
).filter(lambda rows: {y for _, y, _ in rows} == {0, 1})


def quietly(calibrator, *args, **options):
    """Fit data that may be separable: whether it warns is not the point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return calibrator.fit(*args, **options)


def log_loss(prob, target):
    prob = np.clip(prob, 1e-300, 1)
    return -np.mean(target * np.log(prob) + (1 - target) * np.log1p(-np.clip(prob, 0, 1 - 1e-16)))


# ---------------------------------------------------------------- reference values


@pytest.mark.parametrize("name", BINARY + EDGES + ["edge_separated", "edge_reversed", "edge_two"])
@pytest.mark.parametrize(
    ("key", "on"), [("cal_platt_on_p", "p"), ("cal_platt_on_logit", "logit_p")]
)
def test_platt_reference(reference, name, key, on):
    case = reference(name)
    inputs, expected = case["inputs"], case[key]
    x, y = inputs[on], inputs["y"]
    fitted = PlattScaling().fit(x, y)
    assert fitted.converged_
    assert fitted.target_positive_ == pytest.approx(expected["target_pos"], abs=1e-15)
    assert fitted.target_negative_ == pytest.approx(expected["target_neg"], abs=1e-15)
    exact = expected["exact"]
    assert fitted.intercept_ == pytest.approx(exact["coefficients"]["intercept"], abs=1e-8)
    assert fitted.slope_ == pytest.approx(exact["coefficients"]["slope"], abs=1e-8)
    assert fitted.loss_ == pytest.approx(exact["value"] / len(y), abs=1e-12)
    new = inputs["p_new"] if on == "p" else inputs["logit_p_new"]
    if len(exact["pred_new"]) > len(new):
        new = new + inputs["score_new"]
    np.testing.assert_allclose(fitted.predict_proba(x), exact["pred_train"], **PREDICTION)
    np.testing.assert_allclose(fitted.predict_proba(new), exact["pred_new"], **PREDICTION)
    np.testing.assert_allclose(fitted.predict_proba(x), expected["pred_train"], atol=1e-6, rtol=0)


def test_platt_reference_scores(reference):
    case = reference("scores_s150")
    inputs, exact = case["inputs"], case["cal_platt"]["exact"]
    fitted = PlattScaling().fit(inputs["score"], inputs["y"])
    assert fitted.slope_ == pytest.approx(exact["coefficients"]["slope"], abs=1e-8)
    for x, key in ((inputs["score"], "pred_train"), (inputs["score_new"], "pred_new")):
        np.testing.assert_allclose(fitted.predict_proba(x), exact[key], **PREDICTION)


@pytest.mark.parametrize("name", BINARY + EDGES)
def test_beta_reference(reference, name):
    case = reference(name)
    inputs, exact = case["inputs"], case["cal_beta"]["exact"]
    fitted = BetaCalibration().fit(inputs["p"], inputs["y"])
    assert fitted.converged_
    for attribute in ("a", "b", "c"):
        assert getattr(fitted, f"{attribute}_") == pytest.approx(exact[attribute], abs=1e-8)
    assert fitted.loss_ == pytest.approx(exact["value"] / len(inputs["y"]), abs=1e-12)
    np.testing.assert_allclose(fitted.predict_proba(inputs["p"]), exact["pred_train"], **PREDICTION)
    np.testing.assert_allclose(
        fitted.predict_proba(inputs["p_new"]), exact["pred_new"], **PREDICTION
    )


def test_beta_reference_with_another_eps(reference):
    case = reference("binary_b120_zero_one")
    inputs, expected = case["inputs"], case["cal_beta_eps_1e6"]
    fitted = BetaCalibration(eps=1e-6).fit(inputs["p"], inputs["y"])
    np.testing.assert_allclose(
        fitted.predict_proba(inputs["p"]), expected["exact"]["pred_train"], **PREDICTION
    )
    np.testing.assert_allclose(
        fitted.predict_proba(inputs["p_new"]), expected["exact"]["pred_new"], **PREDICTION
    )


@pytest.mark.parametrize("name", BINARY)
def test_binary_temperature_reference(reference, name):
    case = reference(name)
    inputs, exact = case["inputs"], case["cal_temperature"]["exact"]
    fitted = TemperatureScaling().fit(inputs["logit_p"], inputs["y"])
    assert fitted.converged_
    assert fitted.temperature_ == pytest.approx(exact["temperature"], rel=1e-6)
    assert fitted.loss_ == pytest.approx(exact["value"] / len(inputs["y"]), abs=1e-12)
    new = inputs["logit_p_new"] + inputs["score_new"]
    np.testing.assert_allclose(
        fitted.predict_proba(inputs["logit_p"]), exact["pred_train"], **PREDICTION
    )
    np.testing.assert_allclose(fitted.predict_proba(new), exact["pred_new"], **PREDICTION)
    from_p = TemperatureScaling(input="probability").fit(inputs["p"], inputs["y"])
    assert from_p.temperature_ == pytest.approx(exact["temperature"], rel=1e-6)


@pytest.mark.parametrize("name", [*EDGES, "edge_constant"])
def test_edge_temperature_reference(reference, name):
    case = reference(name)
    expected = case["cal_temperature"]
    assert expected["assert_temperature"]
    fitted = TemperatureScaling().fit(case["inputs"]["logit_p"], case["inputs"]["y"])
    assert fitted.temperature_ == pytest.approx(expected["exact_temperature"], rel=1e-6)


@pytest.mark.parametrize("name", MULTI)
def test_multiclass_temperature_reference(reference, name):
    case = reference(name)
    inputs, exact = case["inputs"], case["cal_temperature"]["exact"]
    fitted = TemperatureScaling().fit(inputs["logits"], inputs["y"])
    assert fitted.converged_
    assert fitted.temperature_ == pytest.approx(exact["temperature"], rel=1e-6)
    assert fitted.loss_ == pytest.approx(exact["value"], abs=1e-9)
    prob = fitted.predict_proba(inputs["logits"])
    packed = exact["pred_train"]
    np.testing.assert_allclose(prob[: packed["rows"]], packed["head"], **PREDICTION)
    if packed["rows"] < len(prob):
        signs = np.cos(np.arange(1, len(prob) + 1))
        np.testing.assert_allclose(signs @ prob, packed["weighted_sums"], atol=1e-6)
        np.testing.assert_allclose(prob.mean(axis=0), packed["column_means"], atol=1e-9)
    np.testing.assert_allclose(
        fitted.predict_proba(inputs["logits_new"]), exact["pred_new"], **PREDICTION
    )


def test_temperature_reference_scores(reference):
    case = reference("scores_s150")
    inputs, exact = case["inputs"], case["cal_temperature"]["exact"]
    fitted = TemperatureScaling().fit(inputs["score"], inputs["y"])
    assert fitted.temperature_ == pytest.approx(exact["temperature"], rel=1e-6)
    np.testing.assert_allclose(
        fitted.predict_proba(inputs["score_new"]), exact["pred_new"], **PREDICTION
    )


# ---------------------------------------------------------------- slow twins and other libraries

rng = np.random.default_rng(5)
SCORES = rng.normal(size=300) * 3
LABELS = (rng.uniform(size=300) < expit(0.7 * SCORES - 0.4)).astype(int)
PROB = expit(SCORES)
LOGITS = rng.normal(size=(250, 4)) * 3
CODES = (LOGITS / 2 + rng.gumbel(size=LOGITS.shape)).argmax(axis=1)


def test_platt_minimises_its_objective():
    n_1 = LABELS.sum()
    target = np.where(LABELS, (n_1 + 1) / (n_1 + 2), 1 / (len(LABELS) - n_1 + 2))

    def objective(theta):
        eta = theta[0] + theta[1] * SCORES
        return np.mean(np.logaddexp(0, eta) - target * eta)

    slow = minimize(
        objective, [0, 1], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14}
    )
    fitted = PlattScaling().fit(SCORES, LABELS)
    assert [fitted.intercept_, fitted.slope_] == pytest.approx(slow.x, abs=1e-6)
    assert fitted.loss_ <= slow.fun + 1e-14


def test_platt_agrees_with_scikit_learn_up_to_its_solver():
    sigmoid = _SigmoidCalibration().fit(SCORES, LABELS)
    np.testing.assert_allclose(
        PlattScaling().fit(SCORES, LABELS).predict_proba(SCORES), sigmoid.predict(SCORES), atol=1e-4
    )


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("power", [1.0, 0.2])
def test_monotone_beta_is_the_constrained_optimum(flip, power):
    prob = (1 - PROB if flip else PROB) ** power
    features = np.column_stack([np.log(prob), -np.log1p(-prob), np.ones(len(prob))])
    sign = 2 * LABELS - 1

    def objective(theta):
        eta = features @ theta
        return np.mean(np.logaddexp(0, -sign * eta)), -(sign * expit(-sign * eta)) @ features / len(
            prob
        )

    slow = minimize(
        objective, [1, 1, 0], jac=True, method="L-BFGS-B",
        bounds=[(0, None), (0, None), (None, None)], options={"ftol": 1e-16, "gtol": 1e-12},
    )  # fmt: skip
    fitted = BetaCalibration(constraint="monotone").fit(prob, LABELS)
    assert min(fitted.a_, fitted.b_) >= 0
    assert fitted.loss_ <= slow.fun + 1e-12
    assert [fitted.a_, fitted.b_, fitted.c_] == pytest.approx(slow.x, abs=1e-4)
    if flip and power == 1.0:
        assert (fitted.a_, fitted.b_) == (0, 0)
    free = BetaCalibration().fit(prob, LABELS)
    assert free.loss_ <= fitted.loss_ + 1e-14


def test_temperature_minimises_its_objective():
    def objective(temperature):
        z = LOGITS / temperature
        return np.mean(logsumexp(z, axis=1) - z[np.arange(len(z)), CODES])

    slow = minimize_scalar(
        objective, bounds=(0.01, 100), method="bounded", options={"xatol": 1e-10}
    )
    fitted = TemperatureScaling().fit(LOGITS, CODES)
    assert fitted.temperature_ == pytest.approx(slow.x, rel=1e-6)
    assert fitted.loss_ <= slow.fun + 1e-14
    assert (fitted.predict_proba(LOGITS).argmax(axis=1) == LOGITS.argmax(axis=1)).all()


def test_two_logits_are_their_difference():
    pair = np.column_stack([rng.normal(size=300), np.zeros(300)])
    pair[:, 1] = pair[:, 0] + SCORES
    one, two = (TemperatureScaling().fit(x, LABELS) for x in (SCORES, pair))
    assert two.temperature_ == pytest.approx(one.temperature_, rel=1e-9)
    prob = one.predict_proba(SCORES)
    np.testing.assert_allclose(
        two.predict_proba(pair), np.column_stack([1 - prob, prob]), atol=1e-9
    )
    p2 = np.column_stack([1 - PROB, PROB])
    from_p = TemperatureScaling(input="probability").fit(p2, LABELS)
    np.testing.assert_allclose(from_p.predict_proba(p2)[:, 1], prob, atol=1e-9)


def test_multiclass_probabilities_are_read_as_their_logs():
    prob = np.exp(LOGITS - logsumexp(LOGITS, axis=1, keepdims=True))
    from_p = TemperatureScaling(input="probability").fit(prob, CODES)
    from_z = TemperatureScaling().fit(LOGITS, CODES)
    assert from_p.temperature_ == pytest.approx(from_z.temperature_, rel=1e-9)
    np.testing.assert_allclose(from_p.predict_proba(prob), from_z.predict_proba(LOGITS), atol=1e-12)


# ---------------------------------------------------------------- invariants

CALIBRATORS = [
    PlattScaling(),
    BetaCalibration(),
    BetaCalibration(constraint="monotone"),
    TemperatureScaling(input="probability"),
]


@pytest.mark.parametrize("calibrator", CALIBRATORS, ids=repr)
@settings(max_examples=40, deadline=None)
@given(rows=binary_samples, seed=st.integers(0, 99))
def test_predictions_are_probabilities_and_do_not_depend_on_the_order(calibrator, rows, seed):
    p, y, _ = map(np.array, zip(*rows, strict=True))
    fitted = quietly(calibrator, p, y)
    grid = np.linspace(0, 1, 21)
    prob = fitted.predict_proba(grid)
    assert np.isfinite(prob).all()
    assert 0 <= prob.min() <= prob.max() <= 1
    assert np.isfinite(fitted.loss_)
    if fitted.converged_:
        order = np.random.default_rng(seed).permutation(len(p))
        again = quietly(calibrator, p[order], y[order])
        np.testing.assert_allclose(again.predict_proba(grid), prob, atol=1e-7)


@pytest.mark.parametrize("calibrator", CALIBRATORS, ids=repr)
@settings(max_examples=40, deadline=None)
@given(rows=binary_samples)
def test_an_integer_weight_repeats_the_row(calibrator, rows):
    p, y, w = map(np.array, zip(*rows, strict=True))
    weighted = quietly(calibrator, p, y, sample_weight=w)
    mean, converged = weighted.loss_, weighted.converged_
    prob = weighted.predict_proba(p)
    repeated = quietly(calibrator, np.repeat(p, w), np.repeat(y, w))
    both = converged and repeated.converged_
    # Without a finite optimum a fit ends where the loss hardly falls any more.
    assert mean == pytest.approx(repeated.loss_, abs=1e-9 if both else 1e-6)
    if both:
        np.testing.assert_allclose(prob, repeated.predict_proba(p), atol=1e-7)


@pytest.mark.parametrize("calibrator", CALIBRATORS, ids=repr)
def test_invariants_on_ordinary_data(calibrator):
    fitted = calibrator.fit(PROB, LABELS)
    prob = fitted.predict_proba(PROB)
    order = rng.permutation(len(PROB))
    np.testing.assert_allclose(
        calibrator.fit(PROB[order], LABELS[order]).predict_proba(PROB), prob, atol=1e-12
    )
    np.testing.assert_allclose(
        calibrator.fit(PROB, LABELS, sample_weight=np.full(300, 1e-12)).predict_proba(PROB), prob,
        atol=1e-12 if not isinstance(calibrator, PlattScaling) else 1,
    )  # fmt: skip
    coarse = PROB.astype(np.float32)
    np.testing.assert_allclose(
        calibrator.fit(coarse, LABELS).predict_proba(coarse),
        calibrator.fit(coarse.astype(float), LABELS).predict_proba(coarse.astype(float)),
        atol=1e-12,
    )
    one_by_one = [float(calibrator.predict_proba([p])[0]) for p in coarse[:20].astype(float)]
    np.testing.assert_allclose(
        calibrator.predict_proba(coarse[:20].astype(float)), one_by_one, atol=1e-15
    )
    if not (isinstance(calibrator, BetaCalibration) and calibrator.constraint is None):
        assert (np.diff(calibrator.predict_proba(np.linspace(0, 1, 101))) >= 0).all()


def test_the_other_label_is_the_other_probability():
    up = TemperatureScaling().fit(SCORES, LABELS)
    down = TemperatureScaling().fit(-SCORES, 1 - LABELS)
    assert down.temperature_ == pytest.approx(up.temperature_, rel=1e-12)
    beta = BetaCalibration().fit(PROB, LABELS).predict_proba(PROB)
    mirrored = BetaCalibration().fit(1 - PROB, 1 - LABELS).predict_proba(1 - PROB)
    np.testing.assert_allclose(mirrored, 1 - beta, atol=1e-9)


# ---------------------------------------------------------------- degenerate cases


def test_constant_scores_predict_the_constant_optimum(reference):
    case = reference("edge_constant")
    p, y = case["inputs"]["p"], case["inputs"]["y"]
    with pytest.warns(UserWarning, match="all scores are equal"):
        platt = PlattScaling().fit(p, y)
    assert platt.slope_ == 0
    assert platt.converged_
    intercept = case["cal_platt_on_p"]["coefficients"]["intercept"]
    np.testing.assert_allclose(
        platt.predict_proba([0.0, 0.3, 1.0]), inv_logit(intercept), atol=1e-9
    )
    with pytest.warns(UserWarning, match="all probabilities are equal"):
        beta = BetaCalibration().fit(p, y)
    np.testing.assert_allclose(beta.predict_proba([0.0, 0.3, 1.0]), 0.4, atol=1e-9)


@pytest.mark.parametrize("name", ["edge_separated", "edge_reversed", "edge_two"])
def test_separated_data_have_no_optimum(reference, name):
    inputs = reference(name)["inputs"]
    with pytest.warns(ConvergenceWarning, match="no finite optimum"):
        beta = BetaCalibration().fit(inputs["p"], inputs["y"])
    assert not beta.converged_
    with pytest.warns(ConvergenceWarning, match="at its (upper|lower) bound"):
        temperature = TemperatureScaling().fit(inputs["logit_p"], inputs["y"])
    assert not temperature.converged_
    assert temperature.temperature_ == pytest.approx(
        reference(name)["cal_temperature"]["exact_temperature"], rel=1e-9
    )
    for fitted, x in ((beta, inputs["p_new"]), (temperature, inputs["logit_p_new"])):
        prob = fitted.predict_proba(x)
        assert np.isfinite(prob).all()
        assert 0 <= prob.min() <= prob.max() <= 1


def test_temperature_of_logits_that_say_nothing():
    with pytest.warns(UserWarning, match="no row prefers a class"):
        fitted = TemperatureScaling().fit(np.zeros((4, 3)), [0, 1, 2, 0])
    assert fitted.temperature_ == 1
    np.testing.assert_allclose(fitted.predict_proba(np.zeros((2, 3))), 1 / 3)


def test_temperature_of_logits_that_say_the_opposite():
    with pytest.warns(ConvergenceWarning, match="at its upper bound 1000"):
        fitted = TemperatureScaling().fit(-LOGITS, CODES)
    assert fitted.temperature_ == pytest.approx(1000)


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1e5, 1e200])
def test_platt_on_scores_of_any_size(scale):
    prob = PlattScaling().fit(SCORES * scale, LABELS).predict_proba(SCORES * scale)
    expected = PlattScaling().fit(SCORES, LABELS).predict_proba(SCORES)
    np.testing.assert_allclose(prob, expected, atol=1e-9)


def test_platt_on_scores_far_from_zero():
    shifted = PlattScaling().fit(SCORES + 1e5, LABELS).predict_proba(SCORES + 1e5)
    np.testing.assert_allclose(
        shifted, PlattScaling().fit(SCORES, LABELS).predict_proba(SCORES), atol=1e-8
    )


@pytest.mark.parametrize("scale", [1e-2, 1e2])
def test_temperature_scales_with_the_logits(scale):
    base = TemperatureScaling().fit(LOGITS, CODES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        scaled = TemperatureScaling().fit(LOGITS * scale, CODES)
    assert scaled.temperature_ == pytest.approx(base.temperature_ * scale, rel=1e-9)


def test_logits_as_large_as_doubles_get():
    fitted = TemperatureScaling().fit(LOGITS, CODES)
    prob = fitted.predict_proba([[1e308, -1e308, 0.0, 0.0], [-1e308, -1e308, -1e308, -1e308]])
    np.testing.assert_allclose(prob, [[1, 0, 0, 0], [0.25] * 4])
    binary = TemperatureScaling().fit(SCORES, LABELS)
    assert binary.predict_proba([-1e308, 1e308]).tolist() == [0, 1]


def test_beta_on_two_distinct_probabilities():
    p, y = np.repeat([0.2, 0.7], 10), np.r_[[1] * 3 + [0] * 7, [1] * 8 + [0] * 2]
    fitted = BetaCalibration().fit(p, y)
    np.testing.assert_allclose(fitted.predict_proba([0.2, 0.7]), [0.3, 0.8], atol=1e-9)


def test_huge_and_tiny_weights():
    w = rng.uniform(0.5, 2, 300)
    for calibrator in (BetaCalibration(), TemperatureScaling(input="probability")):
        base = calibrator.fit(PROB, LABELS, sample_weight=w).predict_proba(PROB)
        for factor in (1e-250, 1e250):
            again = calibrator.fit(PROB, LABELS, sample_weight=w * factor).predict_proba(PROB)
            np.testing.assert_allclose(again, base, atol=1e-9)


# ---------------------------------------------------------------- messages


def test_logits_that_are_probabilities():
    prob = np.exp(LOGITS - logsumexp(LOGITS, axis=1, keepdims=True))
    with pytest.raises(ValueError, match="use input='probability'"):
        TemperatureScaling().fit(prob, CODES)
    with pytest.warns(
        UserWarning, match=r"all its values lie in \[0, 1\]: use input='probability'"
    ):
        TemperatureScaling().fit(PROB, LABELS)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: TemperatureScaling(input="score").fit(SCORES, LABELS), "input must be 'logit' or"),
        (lambda: BetaCalibration(constraint="up").fit(PROB, LABELS), "constraint must be None or"),
        (lambda: BetaCalibration(eps=0.5).fit(PROB, LABELS), r"eps must be a number in \(0, 0.5\)"),
        (lambda: BetaCalibration().fit(SCORES, LABELS), r"X\[\d+\] is -?\d.*not a probability"),
        (lambda: TemperatureScaling().fit([0.5, np.inf], [0, 1]), r"X\[1\] is inf, not a score"),
    ],
)
def test_bad_input(call, expected):
    with pytest.raises(ValueError, match=expected):
        call()


def test_logit_and_probability_input_agree():
    z = logit(PROB)
    a = TemperatureScaling().fit(z, LABELS)
    b = TemperatureScaling(input="probability").fit(PROB, LABELS)
    assert a.temperature_ == b.temperature_
    assert log_loss(a.predict_proba(z), LABELS) == pytest.approx(a.loss_, abs=1e-12)
