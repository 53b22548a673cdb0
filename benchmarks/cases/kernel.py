"""Kernel errors, tests and intervals, against other libraries and against plain NumPy."""

from __future__ import annotations

import numpy as np

import simulated
from contenders import Case, Contender, Data, Outcome

RESAMPLES = 999


def _nothing(result, data: Data) -> Outcome:
    return {}


def _value(result, data: Data) -> Outcome:
    return {"value": result}


def _estimate(result, data: Data) -> Outcome:
    return {"estimate": result.estimate}


def _ours_skce(data: Data):
    from calibrant import skce

    return lambda: skce(data["y"], data["p"])


def _argsort(data: Data):
    # No other library gets this far: sorting is what O(n log n) cannot do without.
    return lambda: np.argsort(data["p"])


def _ours_test(data: Data):
    from calibrant import calibration_test

    prob = data["P"] if "P" in data else data["p"]
    return lambda: calibration_test(data["y"], prob, n_resamples=RESAMPLES, random_state=0)


def _probcal_test(data: Data):
    from probcal.metrics.kernel import skce_test

    return lambda: skce_test(data["y"], data["p"], n_boot=RESAMPLES, bandwidth=0.2)


def _ours_mmce(data: Data):
    from calibrant import mmce

    return lambda: mmce(data["y"], data["p"])


def _netcal_mmce(data: Data):
    from netcal.metrics import MMCE

    return lambda: MMCE().measure(data["p"], data["y"])


def _dense_canonical(data: Data):
    """The textbook way: whole kernel matrix, doubly centred, one product with all signs."""

    def run() -> float:
        prob, y = data["P"], data["y"]
        n = len(prob)
        residual = -prob.copy()
        residual[np.arange(n), y] += 1.0
        norms = (prob**2).sum(axis=1)
        distance = np.maximum(norms[:, None] + norms - 2 * prob @ prob.T, 0.0)
        terms = np.exp(-np.sqrt(distance, out=distance) / 0.2) * (residual @ residual.T)
        estimate = (terms.sum() - np.trace(terms)) / (n * (n - 1))
        means = terms.mean(axis=1)
        terms += means.mean() - means[:, None] - means
        np.fill_diagonal(terms, 0.0)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(n, RESAMPLES))
        null = (signs * (terms @ signs)).sum(axis=0) / (n * (n - 1))
        return (1 + (null >= estimate).sum()) / (RESAMPLES + 1), estimate

    return run


def _dense_estimate(result, data: Data) -> Outcome:
    return {"estimate": result[1]}


def _ours_interval(data: Data):
    from calibrant import confidence_interval

    return lambda: confidence_interval(
        data["y"], data["p"], metric="ece", n_resamples=RESAMPLES, random_state=0
    )


def _index_resampling(data: Data):
    """Draw row numbers, take the rows, count them; bin numbers are made once."""
    p, y = data["p"], data["y"]
    bins = np.minimum((p * 10).astype(np.intp), 9)

    def run() -> float:
        rng = np.random.default_rng(0)
        values = np.empty(RESAMPLES)
        for b in range(RESAMPLES):
            rows = rng.integers(0, len(p), len(p))
            drawn = bins[rows]
            gap = np.bincount(drawn, y[rows], 10) - np.bincount(drawn, p[rows], 10)
            values[b] = np.abs(gap).sum() / len(p)
        return np.quantile(values, [0.025, 0.975])

    return run


def _case(name, job, rows, quick, ours, peers=(), **options) -> Case:
    canonical = "canonical" in job
    return Case(
        name,
        job,
        _ten_classes if canonical else simulated.binary,
        ("y", "P" if canonical else "p"),
        rows,
        quick,
        ours,
        peers,
        **options,
    )


def _ten_classes(n: int) -> Data:
    return simulated.multiclass(n, 10)


CASES = [
    _case(
        "skce-1m", "skce, 1 million rows", 1_000_000, 10_000,
        Contender("calibrant", _ours_skce, _value),
        (Contender("numpy.argsort of the predictions", _argsort, _nothing, 0.5),),
    ),
    _case(
        "skce-10m", "skce, 10 million rows", 10_000_000, 20_000,
        Contender("calibrant", _ours_skce, _value),
        (Contender("numpy.argsort of the predictions", _argsort, _nothing, 0.25),),
        memory_share=4.0, first_call=False,
    ),
    _case(
        "test-1m", "calibration test, 1 million rows, 999 resamples", 1_000_000, 10_000,
        Contender("calibrant", _ours_test, _estimate),
        (Contender("numpy.argsort of the predictions", _argsort, _nothing, 0.05),),
    ),
    _case(
        "test-2k", "calibration test, 2,000 rows, 999 resamples", 2_000, 200,
        Contender("calibrant", _ours_test, _estimate),
        (Contender("probcal skce_test", _probcal_test, _nothing, 500),), first_call=False,
    ),
    _case(
        "mmce-4k", "mmce, 4,000 rows", 4_000, 400,
        Contender("calibrant", _ours_mmce, _value),
        (Contender("netcal", _netcal_mmce, _nothing, 500),),
    ),
    _case(
        "test-canonical-10k", "canonical test, 10,000 x 10, 999 resamples", 10_000, 300,
        Contender("calibrant", _ours_test, _estimate),
        (Contender("dense NumPy", _dense_canonical, _dense_estimate, 5),),
    ),
    _case(
        "test-canonical-50k", "canonical test, 50,000 x 10, 999 resamples", 50_000, 500,
        Contender("calibrant", _ours_test, _estimate),
        first_call=False,
    ),
    _case(
        "interval-1m", "interval of ece, 1 million rows, 999 resamples", 1_000_000, 5_000,
        Contender("calibrant", _ours_interval, _estimate),
        (Contender("index resampling, NumPy", _index_resampling, _nothing, 10),),
    ),
]  # fmt: skip
