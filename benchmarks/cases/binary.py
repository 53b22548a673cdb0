"""Fitting the binary calibrators."""

from __future__ import annotations

from scipy.special import expit

import simulated
from contenders import Case, Contender, Data, Outcome

# Predictions are compared on so many rows: enough to see a difference anywhere on [0, 1].
COMPARED = 10_000


def _ours_platt(data: Data):
    from calibrant import PlattScaling

    return lambda: PlattScaling().fit(data["s"], data["y"])


def _platt_outcome(fitted, data: Data) -> Outcome:
    return {"predictions": fitted.predict_proba(data["s"][:COMPARED])}


def _scikit_learn_platt(data: Data):
    # What CalibratedClassifierCV(method="sigmoid") fits, without the classifier around it.
    from sklearn.calibration import _SigmoidCalibration

    return lambda: _SigmoidCalibration().fit(data["s"], data["y"])


def _scikit_learn_platt_outcome(fitted, data: Data) -> Outcome:
    return {"predictions": fitted.predict(data["s"][:COMPARED])}


def _probcal_platt(data: Data):
    from probcal import PlattCalibrator

    return lambda: PlattCalibrator().fit(data["p"], data["y"])


def _probcal_platt_outcome(fitted, data: Data) -> Outcome:
    return {"predictions": expit(fitted.a_ * data["s"][:COMPARED] + fitted.b_)}


def _ours_beta(data: Data):
    from calibrant import BetaCalibration

    return lambda: BetaCalibration().fit(data["p"], data["y"])


def _ours_beta_outcome(fitted, data: Data) -> Outcome:
    return {"predictions": fitted.predict_proba(data["p"][:COMPARED])}


def _betacal(data: Data):
    from betacal import BetaCalibration

    return lambda: BetaCalibration("abm").fit(data["p"], data["y"])


def _betacal_outcome(fitted, data: Data) -> Outcome:
    return {"predictions": fitted.predict(data["p"][:COMPARED])}


def _ours_isotonic(data: Data):
    from calibrant import IsotonicCalibration

    def fit_and_predict():
        return IsotonicCalibration().fit(data["p"], data["y"]).predict_proba(data["p"])

    return fit_and_predict


def _scikit_learn_isotonic(data: Data):
    from sklearn.isotonic import IsotonicRegression

    def fit_and_predict():
        regression = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        return regression.fit(data["p"], data["y"]).predict(data["p"])

    return fit_and_predict


def _predictions(values, _data: Data) -> Outcome:
    return {"predictions": values}


CASES = (
    Case(
        name="platt",
        job="Platt fit, 1 million rows",
        data=simulated.binary,
        reads=("y", "s"),
        rows=1_000_000,
        quick_rows=10_000,
        ours=Contender("calibrant", _ours_platt, _platt_outcome),
        peers=(
            Contender(
                "scikit-learn sigmoid", _scikit_learn_platt, _scikit_learn_platt_outcome, faster=8
            ),
            Contender("probcal", _probcal_platt, _probcal_platt_outcome, faster=8),
        ),
    ),
    Case(
        name="beta",
        job="beta fit, 1 million rows",
        data=simulated.binary,
        reads=("y", "p"),
        rows=1_000_000,
        quick_rows=10_000,
        ours=Contender("calibrant", _ours_beta, _ours_beta_outcome),
        peers=(Contender("betacal", _betacal, _betacal_outcome, faster=4),),
    ),
    Case(
        name="isotonic",
        job="isotonic fit and predict, 1 million rows",
        data=simulated.binary,
        reads=("y", "p"),
        rows=1_000_000,
        quick_rows=10_000,
        ours=Contender("calibrant", _ours_isotonic, _predictions),
        peers=(
            Contender(
                "scikit-learn IsotonicRegression", _scikit_learn_isotonic, _predictions, faster=1
            ),
        ),
    ),
)
