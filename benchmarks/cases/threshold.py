"""Threshold calibration of forecasts: there is no peer, so the yardstick is sorting."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np

import simulated
from contenders import Case, Contender, Data, Outcome

N_THRESHOLDS = 50


def _nothing(result, data: Data) -> Outcome:
    return {}


def _fitted(data: Data, n_layers: int):
    from calibrant import ThresholdRecalibration
    from calibrant.forecasts import Normal

    forecast = Normal(data["mu"], data["sigma"])
    # That these are fewer layers than would converge is known.
    warnings.simplefilter("ignore")
    options = {"tol": 0.0, "max_iter": n_layers, "thresholds": N_THRESHOLDS, "levels": 20}
    return forecast, lambda: ThresholdRecalibration(**options).fit(forecast, data["Y"])


def _fit(n_layers: int, data: Data):
    return _fitted(data, n_layers)[1]


def _apply(n_layers: int, data: Data):
    """Transform, and ask every row for the CDF at its outcome."""
    forecast, fit = _fitted(data, n_layers)
    recalibration = fit()
    return lambda: recalibration.transform(forecast).cdf(data["Y"])


def _surface(data: Data):
    from calibrant import threshold_calibration_error
    from calibrant.forecasts import Normal

    forecast = Normal(data["mu"], data["sigma"])
    return lambda: threshold_calibration_error(forecast, data["Y"])


def _table(data: Data):
    from calibrant import decision_table
    from calibrant.forecasts import Normal

    forecast = Normal(data["mu"], data["sigma"])
    return lambda: decision_table(forecast, data["Y"], random_state=0)


def _sort(data: Data):
    values = np.random.default_rng(0).random((N_THRESHOLDS, len(data["Y"])))
    return lambda: np.sort(values)


def _ours(prepare) -> Contender:
    return Contender("calibrant", prepare, _nothing)


def _sorting(times: float | None = None) -> Contender:
    return Contender("numpy.sort of 50 x n", _sort, _nothing, faster=times and 1.0 / times)


READS = ("mu", "sigma", "Y")

CASES = (
    Case(
        "threshold-fit", "threshold fit, 3,201 rows, 40 layers", simulated.forecasts, READS,
        rows=3_201, quick_rows=500, ours=_ours(partial(_fit, 40)), peers=(_sorting(60),),
    ),
    Case(
        "threshold-fit-835", "threshold fit, 835 rows, 10 layers", simulated.forecasts, READS,
        rows=835, quick_rows=500, ours=_ours(partial(_fit, 10)), first_call=False,
    ),
    Case(
        "threshold-apply", "threshold transform and CDF, 3,580 rows, 10 layers",
        simulated.forecasts, READS, rows=3_580, quick_rows=500, ours=_ours(partial(_apply, 10)),
        first_call=False,
    ),
    Case(
        "threshold-fit-1m", "threshold fit, 1 million rows, 10 layers", simulated.forecasts,
        READS, rows=1_000_000, quick_rows=2_000, ours=_ours(partial(_fit, 10)),
        # Three times the m x n array of F(y0), where the input is three columns.
        memory_share=N_THRESHOLDS * 3 / 3, first_call=False,
    ),
    Case(
        "threshold-error", "threshold calibration error, 13,719 rows", simulated.forecasts, READS,
        rows=13_719, quick_rows=500, ours=_ours(_surface), peers=(_sorting(),),
    ),
    Case(
        "decision-table", "decision table 50 x 50, 13,719 rows, 999 resamples",
        simulated.forecasts, READS, rows=13_719, quick_rows=500, ours=_ours(_table),
        peers=(_sorting(),),
    ),
)  # fmt: skip
