"""One-vs-rest calibration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import calibrant
from calibrant import (
    BetaCalibration,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)

FILES = [
    "multi_m3_60_ties",
    "multi_m3_90_rare1",
    "multi_m3_90_rare2",
    "multi_m3_150_zeros",
    "multi_m3_300",
    "multi_m4_400_distorted",
    "multi_m5_1000",
    "multi_m10_2000",
]
BASES = {
    "platt": PlattScaling(),
    "beta": BetaCalibration(),
    "isotonic": IsotonicCalibration(),
    "histogram": HistogramBinning(),
    "temperature": TemperatureScaling(),
}
BINNING = ("isotonic", "histogram")


def assert_packed(found, packed, atol):
    """Compare a matrix with its first rows and summaries of all of them."""
    np.testing.assert_allclose(found[: len(packed["head"])], packed["head"], rtol=0, atol=atol)
    if "column_means" in packed:
        signs = np.cos(np.arange(1, len(found) + 1))
        for summary, expected, scale in [
            (found.mean(axis=0), packed["column_means"], 1),
            ((found**2).mean(axis=0), packed["column_mean_squares"], 2),
            (signs @ found, packed["weighted_sums"], len(found)),
        ]:
            np.testing.assert_allclose(summary, expected, rtol=0, atol=atol * scale)


def assert_distributions(prob):
    assert (prob >= 0).all()
    assert (prob <= 1).all()
    np.testing.assert_allclose(prob.sum(axis=1), 1, rtol=0, atol=1e-12)


def base_of(case):
    arguments = case.get("arguments") or {}
    if arguments:
        return HistogramBinning(n_bins=arguments["bins"], strategy="quantile")
    return BASES[case["method"]]


# Some classes have no finite optimum (beta), or one at the bound (temperature): that is warned of.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", FILES)
def test_reference(reference, name):
    content = reference(name)
    inputs = content["inputs"]
    assert len(content["cal_ovr"]) == 6
    for case in content["cal_ovr"]:
        logits = case["input"] == "ovr_logits"
        X = inputs["ovr_logits"] if logits else inputs["p"]
        X_new = inputs["ovr_logits_new"] if logits else inputs["ovr_new"]
        fitted = OneVsRest(base_of(case)).fit(X, inputs["y"])
        assert_distributions(fitted.predict_proba(X_new))
        if not case.get("assert_values", True):
            continue
        atol = 1e-12 if case["method"] in BINNING else 2e-6
        assert_packed(fitted.predict_proba(X), case["pred_train"], atol)
        predicted = fitted.predict_proba(X_new)
        np.testing.assert_allclose(predicted, case["pred_new"], rtol=0, atol=atol)
        if "raw_new" in case:
            columns = np.array(X_new).T
            raw = [c.predict_proba(x) for c, x in zip(fitted.calibrators_, columns, strict=True)]
            np.testing.assert_allclose(np.transpose(raw), case["raw_new"], rtol=0, atol=atol)


def test_documentation_example(reference):
    (example,) = (e for e in reference("doc_examples")["examples"] if e["topic"] == "cal_ovr")
    x, y = example["inputs"]["x"], example["inputs"]["y"]
    fitted = OneVsRest(BASES[example["inputs"]["method"]]).fit(x, y)
    np.testing.assert_allclose(fitted.predict_proba(x), example["calibrated"], rtol=0, atol=1e-12)


@pytest.fixture
def sample():
    rng = np.random.default_rng(5)
    prob = rng.dirichlet([1.0, 2.0, 3.0], 200)
    y = np.array([rng.choice(3, p=row**2 / (row**2).sum()) for row in prob])
    return prob, y


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_is_the_binary_calibrators_with_rows_rescaled(sample, base):
    X, y = sample
    if isinstance(base, TemperatureScaling):
        X = calibrant.logit(X)
    fitted = OneVsRest(base).fit(X, y)
    columns = [clone(base).fit(X[:, k], y == k).predict_proba(X[:, k]) for k in range(3)]
    expected = np.transpose(columns) / np.sum(columns, axis=0)[:, np.newaxis]
    np.testing.assert_allclose(fitted.predict_proba(X), expected, rtol=0, atol=1e-15)
    assert [type(c) for c in fitted.calibrators_] == [type(base)] * 3
    assert not hasattr(base, "classes_")


def test_temperature_of_probabilities_is_that_of_their_logits(sample):
    prob, y = sample
    of_logits = OneVsRest(TemperatureScaling()).fit(calibrant.logit(prob), y)
    of_prob = OneVsRest(TemperatureScaling(input="probability")).fit(prob, y)
    np.testing.assert_allclose(
        of_prob.predict_proba(prob), of_logits.predict_proba(calibrant.logit(prob)), atol=1e-12
    )


def test_rows_need_not_sum_to_one_and_rows_of_zeros_become_uniform(sample):
    prob, y = sample
    fitted = OneVsRest(IsotonicCalibration()).fit(prob, y)
    assert_distributions(fitted.predict_proba([[0.9, 0.9, 0.9], [0.2, 0.1, 0.0]]))
    nothing = OneVsRest(HistogramBinning(n_bins=2)).fit(
        [[0.9, 0.1, 0.1], [0.1, 0.9, 0.1], [0.1, 0.1, 0.9]], ["a", "b", "c"]
    )
    assert nothing.predict_proba([[0.1, 0.1, 0.1]]).tolist() == [[1 / 3] * 3]


@settings(deadline=None, max_examples=30)
@given(st.permutations(range(3)), st.sampled_from(["isotonic", "histogram", "platt"]))
def test_relabelled_classes_are_permuted_columns(order, base):
    rng = np.random.default_rng(5)
    prob = rng.dirichlet([1.0, 2.0, 3.0], 60)
    y = np.arange(60) % 3
    expected = OneVsRest(BASES[base]).fit(prob, y).predict_proba(prob)
    relabelled = np.argsort(order)[y]
    permuted = OneVsRest(BASES[base]).fit(prob[:, order], relabelled)
    np.testing.assert_allclose(
        permuted.predict_proba(prob[:, order]), expected[:, order], rtol=0, atol=1e-14
    )
    words = np.array(["x", "a", "m"])
    named = OneVsRest(BASES[base]).fit(prob, words[y], labels=words)
    assert named.classes_.tolist() == words.tolist()
    assert named.predict_proba(prob).tolist() == expected.tolist()


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_integer_weights_are_repeated_rows(sample, base):
    X, y = sample
    if isinstance(base, TemperatureScaling):
        X = calibrant.logit(X)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = OneVsRest(base).fit(X, y, sample_weight=weight)
    repeated = OneVsRest(base).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), rtol=0, atol=1e-9
    )


def test_two_columns_get_a_calibrator_each():
    rng = np.random.default_rng(3)
    p = rng.random(100)
    y = rng.random(100) < p
    X = np.column_stack([1 - p, p])
    fitted = OneVsRest(HistogramBinning(n_bins=4)).fit(X, y)
    assert len(fitted.calibrators_) == 2
    first = HistogramBinning(n_bins=4).fit(X[:, 0], ~y).predict_proba(X[:, 0])
    second = HistogramBinning(n_bins=4).fit(p, y).predict_proba(p)
    expected = np.column_stack([first, second]) / (first + second)[:, np.newaxis]
    np.testing.assert_allclose(fitted.predict_proba(X), expected, rtol=0, atol=1e-15)


def test_a_class_without_rows_is_named():
    prob = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.3, 0.6, 0.1]]
    base = OneVsRest(IsotonicCalibration())
    with pytest.raises(ValueError, match="class 'c' does not occur in y"):
        base.fit(prob, ["a", "b", "a"], labels=["a", "b", "c"])
    with pytest.raises(ValueError, match="class 'b' does not occur in y"):
        base.fit(prob, ["a", "b", "c"], sample_weight=[1, 0, 1])


@pytest.mark.parametrize(
    "base", [VectorScaling(), DirichletCalibration(), OneVsRest(PlattScaling()), "platt", None]
)
def test_multiclass_bases_are_refused(base):
    with pytest.raises(ValueError, match="which can be fitted one class at a time, got"):
        OneVsRest(base).fit([[0.5, 0.5], [0.1, 0.9]], [0, 1])


def test_input_of_the_wrong_shape_or_scale(sample):
    prob, y = sample
    with pytest.raises(ValueError, match="needs a column for each class"):
        OneVsRest(PlattScaling()).fit([0.1, 0.9], [0, 1])
    with pytest.raises(ValueError, match=r"X\[0, 0\] is 1.5"):
        OneVsRest(BetaCalibration()).fit([[1.5, 0.2], [0.2, 0.3]], [0, 1])
    with pytest.raises(ValueError, match="fitted on 3 columns"):
        OneVsRest(PlattScaling()).fit(prob, y).predict_proba(prob[:, :2])


def test_survives_saving(sample, tmp_path):
    prob, y = sample
    fitted = OneVsRest(HistogramBinning(n_bins=4)).fit(prob, y)
    fitted.save(tmp_path / "ovr.json")
    loaded = calibrant.load(tmp_path / "ovr.json")
    assert loaded.predict_proba(prob).tolist() == fitted.predict_proba(prob).tolist()
    assert loaded.base.n_bins == 4
