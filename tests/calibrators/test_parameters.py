"""Parameters of the wrong type or value: ValueError by `fit`, as in scikit-learn."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import calibrant
from calibrant import (
    BetaCalibration,
    CrossValidated,
    HistogramBinning,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
)
from calibrant.calibrators import __all__ as names

rng = np.random.default_rng(0)
P = rng.random(60)
Y = (rng.random(60) < P).astype(int)
P3 = rng.dirichlet([1, 1, 1], 60)
Y3 = np.arange(60) % 3

# For each parameter what is wrong besides what is never right.
NEVER = [..., "x", -1, 2.5j, np.nan, np.array([1, 2]), b"x", PlattScaling]
ALSO = {
    "eps": [None, 0, 0.5, 1, True, "0.1", np.inf],
    "lambda_": [True, "0.1", np.inf, [0.1]],
    "n_bins": [None, 0, 2.0, True, "10"],
    "strategy": [None, True, "equal_width", ["uniform"]],
    "input": [None, True, "score", ["logit"]],
    "constraint": [True, 0, "increasing", ["monotone"]],
    "base": [None, 1, "platt", [PlattScaling()]],
    "cv": [None, 0, 1, True, 2.5, [1, 2], [(0, 1, 2)], {"a": 1}],
    "random_state": [True, 1.5, "0", [0], 2**32],
}


def cases():
    for name in names:
        method = getattr(calibrant, name)
        for parameter in inspect.signature(method).parameters:
            for wrong in NEVER + ALSO[parameter]:
                yield pytest.param(method, parameter, wrong, id=f"{name}-{parameter}-{wrong!r:.30}")


@pytest.mark.parametrize(("method", "parameter", "wrong"), list(cases()))
def test_a_wrong_parameter(method, parameter, wrong):
    needed = {"base": IsotonicCalibration()} if method in (OneVsRest, CrossValidated) else {}
    calibrator = method(**(needed | {parameter: wrong}))
    multiclass = method.__name__ in ("OneVsRest", "VectorScaling", "DirichletCalibration")
    with pytest.raises(ValueError, match=rf"\b{parameter}\b"):
        calibrator.fit(*((P3, Y3) if multiclass else (P, Y)))


def test_a_wrong_parameter_of_a_base():
    for calibrator in (
        OneVsRest(BetaCalibration(eps="x")),
        CrossValidated(OneVsRest(BetaCalibration(eps="x"))),
    ):
        with pytest.raises(ValueError, match="eps must be a number"):
            calibrator.fit(P3, Y3)


def test_numbers_of_numpy_are_numbers():
    ours = BetaCalibration(eps=1e-6).fit(P, Y).predict_proba(P)
    theirs = BetaCalibration(eps=np.float64(1e-6)).fit(P, Y).predict_proba(P)
    np.testing.assert_array_equal(ours, theirs)
    assert len(HistogramBinning(n_bins=np.int32(4)).fit(P, Y).bin_values_) == 4
