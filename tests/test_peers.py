"""Agreement with other libraries where their definitions coincide with ours.

scikit-learn is always there; the other peers are those of benchmarks/requirements.txt, and their
tests are skipped where they are not installed.
"""

from __future__ import annotations

import importlib
import warnings
from types import ModuleType

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from calibrant import (
    BetaCalibration,
    DirichletCalibration,
    IsotonicCalibration,
    PlattScaling,
    TemperatureScaling,
    ece,
    mce,
    reliability_table,
)

pytestmark = pytest.mark.peers


def peer(module: str, package: str) -> ModuleType:
    """The module, imported without minding its warnings; skips where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            pytest.skip(f"{package} is not installed: {error}")


@pytest.fixture(scope="module")
def binary() -> tuple[np.ndarray, np.ndarray]:
    """Labels and overconfident probabilities, none on an edge of a bin."""
    rng = np.random.default_rng(3)
    scores = rng.normal(-0.5, 2.0, 3000)
    return (rng.random(3000) < expit(0.7 * scores + 0.3)).astype(int), expit(scores)


@pytest.fixture(scope="module")
def multiclass() -> tuple[np.ndarray, np.ndarray]:
    """Labels and overconfident logits (n, 5)."""
    rng = np.random.default_rng(4)
    z = rng.normal(0.0, 1.5, (2000, 5))
    y = (softmax(z, axis=1).cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)
    return np.minimum(y, 4), 2.0 * z


@pytest.mark.parametrize("n_bins", [1, 7, 10, 15])
def test_table_is_scikit_learns_curve(binary, n_bins):
    y, p = binary
    observed, mean_prob = calibration_curve(y, p, n_bins=n_bins)
    table = reliability_table(y, p, n_bins=n_bins)
    filled = table.count > 0
    np.testing.assert_allclose(table.observed[filled], observed, rtol=1e-13)
    np.testing.assert_allclose(table.mean_prob[filled], mean_prob, rtol=1e-13)


def test_isotonic_is_scikit_learns(binary):
    y, p = binary
    theirs = IsotonicRegression(out_of_bounds="clip").fit(p, y)
    ours = IsotonicCalibration().fit(p, y)
    grid = np.linspace(0, 1, 501)
    np.testing.assert_allclose(ours.predict_proba(grid), theirs.predict(grid), atol=1e-12)


def test_platt_and_temperature_are_scikit_learns(binary, multiclass):
    """Through the public door: a frozen classifier whose scores both calibrate."""
    y, p = binary
    X = np.column_stack([p, np.sqrt(p)])
    classifier = LogisticRegression(C=0.01).fit(X, y)
    sigmoid = CalibratedClassifierCV(FrozenEstimator(classifier), method="sigmoid").fit(X, y)
    scores = classifier.decision_function(X)
    np.testing.assert_allclose(
        PlattScaling().fit(scores, y).predict_proba(scores),
        sigmoid.predict_proba(X)[:, 1],
        atol=1e-5,
    )
    y, X = multiclass
    classifier = LogisticRegression(C=1e-4).fit(X, y)
    scaled = CalibratedClassifierCV(FrozenEstimator(classifier), method="temperature").fit(X, y)
    logits = classifier.decision_function(X)
    np.testing.assert_allclose(
        TemperatureScaling().fit(logits, y).predict_proba(logits),
        scaled.predict_proba(X),
        atol=1e-6,
    )


@pytest.mark.parametrize("n_bins", [7, 10, 15])
def test_ece_is_netcals(binary, n_bins):
    metrics = peer("netcal.metrics", "netcal")
    y, p = binary
    assert ece(y, p, n_bins=n_bins) == pytest.approx(metrics.ECE(n_bins).measure(p, y), rel=1e-12)
    assert mce(y, p, n_bins=n_bins) == pytest.approx(metrics.MCE(n_bins).measure(p, y), rel=1e-12)


def test_top_label_ece_is_netcals(multiclass):
    metrics = peer("netcal.metrics", "netcal")
    y, logits = multiclass
    P = softmax(logits, axis=1)
    assert ece(y, P, kind="confidence") == pytest.approx(metrics.ECE(10).measure(P, y), rel=1e-12)


@pytest.mark.parametrize("norm", ["l1", "max"])
def test_ece_is_torchmetrics(binary, norm):
    peer("torchmetrics", "torchmetrics")
    torch = peer("torch", "torch")
    classification = peer("torchmetrics.functional.classification", "torchmetrics")
    y, p = binary
    theirs = classification.binary_calibration_error(
        torch.from_numpy(p), torch.from_numpy(y), n_bins=10, norm=norm
    )
    ours = ece(y, p) if norm == "l1" else mce(y, p)
    assert ours == pytest.approx(float(theirs), rel=1e-12)


def test_ece_is_uncertainty_calibrations(binary, multiclass):
    calibration = peer("calibration", "uncertainty-calibration")
    y, p = binary
    assert ece(y, p) == pytest.approx(calibration.get_ece(p, y, num_bins=10), rel=1e-12)
    y, logits = multiclass
    P = softmax(logits, axis=1)
    assert ece(y, P, kind="confidence") == pytest.approx(
        calibration.get_ece(P, y, num_bins=10), rel=1e-12
    )


def test_debiased_ece_is_uncertainty_calibrations(binary, multiclass):
    """Theirs is the square root of ours, clipped at zero before it, averaged over classes alike."""
    calibration = peer("calibration", "uncertainty-calibration")
    y, p = binary
    theirs = calibration.lower_bound_scaling_ce(
        p, y, p=2, debias=True, num_bins=10, binning_scheme=calibration.get_equal_prob_bins
    )
    assert ece(y, p, norm="l2", debiased=True) == pytest.approx(theirs**2, rel=1e-10)
    y, logits = multiclass
    P = softmax(logits, axis=1)
    theirs = calibration.lower_bound_scaling_ce(
        P, y, p=2, debias=True, num_bins=10, binning_scheme=calibration.get_equal_prob_bins
    )
    assert ece(y, P, norm="l2", debiased=True) == pytest.approx(theirs**2, rel=1e-10)


def test_beta_is_betacals(binary):
    """Up to the tolerance of the solver that betacal uses."""
    betacal = peer("betacal", "betacal")
    y, p = binary
    with warnings.catch_warnings():  # betacal changes the process's warning filters
        theirs = betacal.BetaCalibration("abm").fit(p, y)
    ours = BetaCalibration().fit(p, y)
    a, b, _ = theirs.calibrator_.map_
    c = theirs.calibrator_.lr_.intercept_[0]
    np.testing.assert_allclose([ours.a_, ours.b_, ours.c_], [a, b, c], atol=2e-3)
    np.testing.assert_allclose(ours.predict_proba(p), theirs.predict(p), atol=2e-4)


def test_monotone_beta_is_betacals_where_a_slope_is_negative():
    betacal = peer("betacal", "betacal")
    rng = np.random.default_rng(5)
    p = rng.beta(2.0, 2.0, 4000)
    # True slopes a = -0.5, b = 2: the constraint binds.
    y = (rng.random(4000) < expit(-0.5 * np.log(p) - 2.0 * np.log1p(-p) - 1.0)).astype(int)
    with warnings.catch_warnings():
        theirs = betacal.BetaCalibration("abm").fit(p, y)
    ours = BetaCalibration(constraint="monotone").fit(p, y)
    assert theirs.calibrator_.map_[0] == 0 == ours.a_
    np.testing.assert_allclose(ours.predict_proba(p), theirs.predict(p), atol=1e-3)
    assert log_loss(y, ours.predict_proba(p)) <= log_loss(y, theirs.predict(p))


def test_platt_is_probcals(binary):
    probcal = peer("probcal", "probcal")
    y, p = binary
    theirs = probcal.PlattCalibrator().fit(p, y)
    scores = np.log(p) - np.log1p(-p)
    np.testing.assert_allclose(
        PlattScaling().fit(scores, y).predict_proba(scores),
        expit(theirs.a_ * scores + theirs.b_),
        atol=1e-10,
    )


def test_temperature_is_probmetrics(multiclass):
    calibrators = peer("probmetrics.calibrators", "probmetrics")
    distributions = peer("probmetrics.distributions", "probmetrics")
    torch = peer("torch", "torch")
    y, logits = multiclass
    theirs = calibrators.TemperatureScalingCalibrator().fit_torch(
        distributions.CategoricalLogits(torch.from_numpy(logits)), torch.from_numpy(y)
    )
    # They bisect thirty times.
    ours = TemperatureScaling().fit(logits, y)
    assert 1 / ours.temperature_ == pytest.approx(float(theirs.invtemp_), rel=1e-6)


def test_dirichlet_is_dirichletcals(multiclass):
    """Same penalty, without their reference row (`ref_row`)."""
    fulldirichlet = peer("dirichletcal.calib.fulldirichlet", "dirichletcal")
    y, logits = multiclass
    P = softmax(logits, axis=1)
    theirs = fulldirichlet.FullDirichletCalibrator(reg_lambda=1e-2, reg_mu=1e-2, ref_row=False)
    theirs.fit(P, y)
    ours = DirichletCalibration(lambda_=1e-2).fit(P, y)
    np.testing.assert_allclose(ours.predict_proba(P), theirs.predict_proba(P), atol=1e-6)
