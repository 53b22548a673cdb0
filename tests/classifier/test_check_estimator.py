"""scikit-learn's checks of estimators, which calibrated classifiers pass."""

from __future__ import annotations

import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import estimator_checks_generator

from calibrant import (
    BetaCalibration,
    CrossValidated,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    OneVsRest,
    TemperatureScaling,
    VectorScaling,
)
from calibrant.classifier import CalibratedClassifier
from calibrant.selection import AutoCalibration

# Some of the checks have classes of three rows, so that there are few folds.
CHECKED = {
    "default": CalibratedClassifier(LogisticRegression()),
    "scikit-learn's defaults": CalibratedClassifier(ensemble="auto", cv=3),
    "ensemble": CalibratedClassifier(GaussianNB(), IsotonicCalibration(), cv=3, ensemble=True),
    "beta": CalibratedClassifier(GaussianNB(), BetaCalibration(), cv=3),
    "temperature": CalibratedClassifier(LinearSVC(), TemperatureScaling(), cv=3),
    "histogram": CalibratedClassifier(GaussianNB(), HistogramBinning(), cv=3),
    "vector": CalibratedClassifier(RidgeClassifier(), VectorScaling(), cv=3),
    "dirichlet": CalibratedClassifier(GaussianNB(), DirichletCalibration(lambda_=0.1), cv=3),
    "one-vs-rest": CalibratedClassifier(GaussianNB(), OneVsRest(TemperatureScaling()), cv=3),
    "cross-validated": CalibratedClassifier(
        GaussianNB(), CrossValidated(TemperatureScaling(), cv=2, random_state=0), cv=3
    ),
    "auto": CalibratedClassifier(LogisticRegression(), AutoCalibration(cv=2, random_state=0), cv=3),
}


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(estimator, check, id=f"{name}-{getattr(check, 'func', check).__name__}")
        for name, model in CHECKED.items()
        for estimator, check in estimator_checks_generator(model)
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_check_estimator(estimator, check):
    check(estimator)
