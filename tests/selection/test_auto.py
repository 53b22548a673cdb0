"""The calibrator that cross-validation recommends."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import calibrant
from calibrant import (
    BetaCalibration,
    DirichletCalibration,
    HistogramBinning,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
)
from calibrant.selection import AutoCalibration, compare_calibrators


@pytest.fixture(scope="module")
def overconfident():
    rng = np.random.default_rng(0)
    z = 3 * rng.normal(size=500)
    return z, np.where(rng.random(500) < expit(z / 3), "yes", "no")


@pytest.fixture(scope="module")
def animals():
    rng = np.random.default_rng(1)
    z = 3 * rng.normal(size=(400, 3))
    codes = (rng.random((400, 1)) > softmax(z / 3, axis=1).cumsum(axis=1)).sum(axis=1)
    return z, np.array(["ant", "bee", "cat"])[codes]


@pytest.fixture(scope="module")
def exact():
    """Frequencies that are the predictions exactly: there is nothing to gain."""
    p = np.repeat([0.2, 0.4, 0.5, 0.6, 0.8], 20)
    return p, np.tile(np.arange(20), 5) < 20 * p


def test_it_takes_what_the_comparison_recommends(overconfident):
    z, y = overconfident
    p = expit(z)
    auto = AutoCalibration(random_state=0, metric="brier").fit(p, y)
    found = compare_calibrators(p, y, metrics=["brier"], random_state=0)
    assert auto.comparison_ == found
    assert auto.selected_ == found.recommended
    expected = clone(auto.calibrator_).fit(p, y).predict_proba(p)
    np.testing.assert_array_equal(auto.predict_proba(p), expected)
    assert auto.classes_.tolist() == ["no", "yes"]
    assert auto.n_features_in_ == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_calibration_gives_back_the_input(exact, dtype):
    p, y = exact
    p = p.astype(dtype)
    auto = AutoCalibration(random_state=0).fit(p, y)
    assert (auto.selected_, auto.calibrator_) == ("uncalibrated", None)
    found = auto.predict_proba(p)
    np.testing.assert_array_equal(found, p)
    assert found.dtype == np.float64
    two = np.column_stack([1 - p, p])
    auto.fit(two, y)
    np.testing.assert_array_equal(auto.predict_proba(two), two)


def test_no_calibration_of_logits_gives_their_probabilities(exact):
    p, y = exact
    z = calibrant.logit(p)
    auto = AutoCalibration(input="logit", random_state=0).fit(z, y)
    assert auto.calibrator_ is None
    np.testing.assert_allclose(auto.predict_proba(z), p, rtol=1e-12)


@pytest.mark.parametrize("calibrator", [
    PlattScaling(), TemperatureScaling(), BetaCalibration(), HistogramBinning(),
], ids=lambda value: type(value).__name__)  # fmt: skip
def test_two_columns_of_logits(overconfident, calibrator):
    z, y = overconfident
    two = np.column_stack([0.5 * z, 1.5 * z])
    auto = AutoCalibration([calibrator], input="logit", random_state=0)
    one = clone(auto).fit(z, y).predict_proba(z)
    found = auto.fit(two, y).predict_proba(two)
    assert auto.calibrator_ is not None
    assert found.shape == (500, 2)
    np.testing.assert_allclose(found[:, 1], one, rtol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("input", ["probability", "logit"])
@pytest.mark.parametrize("calibrators", [
    [TemperatureScaling()], [TemperatureScaling(input="probability")],
    [DirichletCalibration(lambda_=0.01)], [OneVsRest(PlattScaling())],
    [("mine", OneVsRest(BetaCalibration()))],
], ids=repr)  # fmt: skip
def test_more_classes(animals, calibrators, input):
    z, y = animals
    X = z if input == "logit" else softmax(z, axis=1)
    auto = AutoCalibration(calibrators, input=input, random_state=0).fit(X, y)
    prob = auto.predict_proba(X)
    assert auto.selected_ != "uncalibrated"
    assert prob.shape == (400, 3)
    np.testing.assert_allclose(prob.sum(axis=1), 1, rtol=1e-9)
    assert auto.classes_.tolist() == ["ant", "bee", "cat"]


@pytest.mark.parametrize("input", ["probability", "logit"])
@pytest.mark.parametrize("calibrators", [
    None, [BetaCalibration()], [("mine", TemperatureScaling()), ("other", PlattScaling())],
], ids=repr)  # fmt: skip
def test_saved_and_loaded(overconfident, calibrators, input, tmp_path):
    z, y = overconfident
    X = z if input == "logit" else expit(z)
    auto = AutoCalibration(calibrators, input=input, cv=3, random_state=1).fit(X, y)
    auto.save(tmp_path / "auto.json")
    loaded = calibrant.load(tmp_path / "auto.json")
    np.testing.assert_array_equal(loaded.predict_proba(X), auto.predict_proba(X))
    assert loaded.selected_ == auto.selected_
    assert not hasattr(loaded, "comparison_")
    again = clone(loaded).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), auto.predict_proba(X))


def test_saved_without_a_calibrator(exact, tmp_path):
    p, y = exact
    AutoCalibration(random_state=0).fit(p, y).save(tmp_path / "auto.json")
    loaded = calibrant.load(tmp_path / "auto.json")
    assert loaded.calibrator_ is None
    np.testing.assert_array_equal(loaded.predict_proba(p), p)


@pytest.mark.parametrize(("change", "message"), [
    ({"selected_": 3}, "selected_ must be a name, got 3"),
    ({"calibrator_": None}, "calibrator_ must be there, since selected_ is"),
    ({"calibrator_": 4}, "calibrator_ must be None or a fitted calibrator, got 4"),
    ({"classes_": {"dtype": "U1", "array": ["a", "b"]}}, "classes_ must be those of calibrator_"),
    ({"n_features_in_": 3}, "classes_ must hold 3 labels"),
])  # fmt: skip
def test_damaged_files(overconfident, tmp_path, change, message):
    z, y = overconfident
    path = tmp_path / "auto.json"
    AutoCalibration(random_state=0).fit(expit(z), y).save(path)
    document = json.loads(path.read_text())
    document["content"]["fitted"] |= change
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=message):
        calibrant.load(path)


def test_weights_labels_and_frames(animals):
    z, y = animals
    prob = softmax(z, axis=1)
    weight = np.arange(400) % 3
    auto = AutoCalibration(random_state=0)
    expected = auto.fit(prob, y, sample_weight=weight).predict_proba(prob)
    kept = weight > 0
    np.testing.assert_array_equal(auto.comparison_.n, kept.sum())
    frame = pd.DataFrame(prob[:, [2, 0, 1]], columns=["cat", "ant", "bee"])
    auto.fit(frame, y, sample_weight=weight)
    assert auto.classes_.tolist() == ["cat", "ant", "bee"]
    np.testing.assert_allclose(auto.predict_proba(frame), expected[:, [2, 0, 1]], atol=1e-4)
    with pytest.raises(ValueError, match="put the columns in that order"):
        auto.predict_proba(frame[["ant", "bee", "cat"]])


def test_half_precision(animals):
    z, y = animals
    prob = softmax(z, axis=1).astype(np.float16)
    auto = AutoCalibration([DirichletCalibration(lambda_=0.01)], random_state=0).fit(prob, y)
    assert auto.selected_ == "dirichlet"
    np.testing.assert_allclose(auto.predict_proba(prob).sum(axis=1), 1, rtol=1e-9)


@pytest.mark.parametrize(("options", "message"), [
    ({"input": "odds"}, "input must be 'logit' or 'probability', got 'odds'"),
    ({"metric": "auc"}, "metric must be 'log_loss' or 'brier' or .*, got 'auc'"),
    ({"cv": 1}, "cv must be an integer of at least 2"),
    ({"random_state": "x"}, "random_state must be None or an integer"),
    ({"calibrators": ["beta"]}, r"calibrators\[0\] is 'beta': it must be an instance"),
])  # fmt: skip
def test_bad_parameters(exact, options, message):
    with pytest.raises(ValueError, match=message):
        AutoCalibration(**options).fit(*exact)


def test_bad_data(exact):
    p, y = exact
    auto = AutoCalibration(random_state=0)
    with pytest.raises(NotFittedError):
        auto.predict_proba(p)
    auto.fit(p, y)
    with pytest.raises(ValueError, match=r"X has shape \(1, 2\), but the calibrator was fitted on"):
        auto.predict_proba([[0.5, 0.5]])
    with pytest.raises(ValueError, match=r"X\[0\] is 2.0, not a probability"):
        auto.predict_proba([2.0])
    with pytest.raises(ValueError, match="class True has 3 rows, fewer than the 5 folds"):
        auto.fit(p[:10], np.arange(10) < 3)


def test_calibrators_that_can_be_read_only_once():
    p = np.linspace(0.1, 0.9, 60)
    y = np.arange(60) % 2
    auto = AutoCalibration(iter([PlattScaling()]), random_state=0)
    with pytest.raises(ValueError, match="calibrators can be read only once: pass a list"):
        auto.fit(p, y)
