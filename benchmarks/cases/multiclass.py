"""Fitting the multiclass calibrators."""

from __future__ import annotations

from functools import partial

from scipy.special import softmax

import simulated
from contenders import Case, Contender, Data, Outcome

PENALTY = 1e-3


def _ours_temperature(data: Data):
    from calibrant import TemperatureScaling

    return lambda: TemperatureScaling().fit(data["Z"], data["y"])


def _ours_temperature_outcome(fitted, data: Data) -> Outcome:
    return {"predictions": fitted.predict_proba(data["Z"])}


def _scikit_learn_temperature(data: Data):
    # What CalibratedClassifierCV(method="temperature") fits, without the classifier around it.
    from sklearn.calibration import _TemperatureScaling

    return lambda: _TemperatureScaling().fit(data["Z"], data["y"])


def _scikit_learn_temperature_outcome(fitted, data: Data) -> Outcome:
    return {"predictions": softmax(fitted.beta_ * data["Z"], axis=1)}


def _netcal_temperature(data: Data):
    from netcal.scaling import TemperatureScaling

    def fit():
        scaling = TemperatureScaling()
        scaling.fit(data["P"], data["y"])
        return scaling

    return fit


def _netcal_temperature_outcome(fitted, data: Data) -> Outcome:
    return {"predictions": softmax(float(fitted.temperature[0]) * data["Z"], axis=1)}


def _probmetrics_temperature(data: Data):
    import torch
    from probmetrics.calibrators import TemperatureScalingCalibrator
    from probmetrics.distributions import CategoricalLogits

    logits, labels = torch.from_numpy(data["Z"]), torch.from_numpy(data["y"])
    return lambda: TemperatureScalingCalibrator().fit_torch(CategoricalLogits(logits), labels)


def _probmetrics_temperature_outcome(fitted, data: Data) -> Outcome:
    return {"predictions": softmax(float(fitted.invtemp_) * data["Z"], axis=1)}


def _ours_dirichlet(data: Data):
    from calibrant import DirichletCalibration

    return lambda: DirichletCalibration(lambda_=PENALTY).fit(data["P"], data["y"])


def _dirichletcal(data: Data):
    from dirichletcal.calib.fulldirichlet import FullDirichletCalibrator

    # ref_row=False penalises the weights as we do, not their difference to the last row.
    return lambda: FullDirichletCalibrator(reg_lambda=PENALTY, reg_mu=PENALTY, ref_row=False).fit(
        data["P"], data["y"]
    )


def _dirichlet_outcome(fitted, data: Data) -> Outcome:
    return {"predictions": fitted.predict_proba(data["P"])}


CASES = (
    Case(
        name="temperature",
        job="temperature fit, 10,000 x 100 logits",
        data=partial(simulated.multiclass, n_classes=100),
        reads=("y", "Z"),
        rows=10_000,
        quick_rows=1_000,
        ours=Contender("calibrant", _ours_temperature, _ours_temperature_outcome),
        peers=(
            Contender(
                "scikit-learn temperature",
                _scikit_learn_temperature,
                _scikit_learn_temperature_outcome,
                faster=3,
            ),
            Contender("netcal", _netcal_temperature, _netcal_temperature_outcome, faster=3),
            Contender(
                "probmetrics", _probmetrics_temperature, _probmetrics_temperature_outcome, faster=3
            ),
        ),
    ),
    Case(
        name="dirichlet-10",
        job="Dirichlet fit, 5,000 x 10, penalty 0.001",
        data=partial(simulated.multiclass, n_classes=10),
        reads=("y", "P"),
        rows=5_000,
        quick_rows=500,
        ours=Contender("calibrant", _ours_dirichlet, _dirichlet_outcome),
        peers=(Contender("dirichletcal", _dirichletcal, _dirichlet_outcome, faster=10),),
    ),
    Case(
        name="dirichlet-100",
        job="Dirichlet fit, 10,000 x 100, penalty 0.001",
        data=partial(simulated.multiclass, n_classes=100),
        reads=("y", "P"),
        rows=10_000,
        quick_rows=1_000,
        ours=Contender("calibrant", _ours_dirichlet, _dirichlet_outcome),
        first_call=False,
    ),
)
