"""predict_proba of every fitted calibrator, against one exp per entry of the input."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import simulated
from contenders import Case, Contender, Data, Outcome

FITTED_ON = 5_000
N_CLASSES = 10


def _ours(make: Callable[[Any], Any], scores: str, data: Data):
    import calibrant

    head = slice(FITTED_ON)
    fitted = make(calibrant).fit(data[scores][head], data["y"][head])
    return lambda: fitted.predict_proba(data[scores])


def _exp(scores: str, data: Data):
    return lambda: np.exp(data[scores])


def _nothing_to_compare(_values, _data: Data) -> Outcome:
    return {}


def _case(name: str, make: Callable[[Any], Any], scores: str) -> Case:
    binary = scores in ("p", "s")
    return Case(
        name=f"predict-{name}",
        job=f"{name} predict, 1 million{'' if binary else f' x {N_CLASSES}'}",
        data=simulated.binary if binary else partial(simulated.multiclass, n_classes=N_CLASSES),
        reads=(scores,),
        rows=1_000_000,
        quick_rows=10_000,
        ours=Contender("calibrant", partial(_ours, make, scores), _nothing_to_compare),
        peers=(Contender("np.exp", partial(_exp, scores), _nothing_to_compare, faster=1),),
        first_call=False,
    )


CASES = (
    _case("platt", lambda c: c.PlattScaling(), "s"),
    _case("beta", lambda c: c.BetaCalibration(), "p"),
    _case("isotonic", lambda c: c.IsotonicCalibration(), "p"),
    _case("histogram", lambda c: c.HistogramBinning(), "p"),
    _case("temperature", lambda c: c.TemperatureScaling(), "s"),
    _case("temperature-multiclass", lambda c: c.TemperatureScaling(), "Z"),
    _case("vector", lambda c: c.VectorScaling(), "Z"),
    _case("dirichlet", lambda c: c.DirichletCalibration(lambda_=1e-3), "P"),
    _case("one-vs-rest", lambda c: c.OneVsRest(c.PlattScaling()), "Z"),
)
