"""The expected calibration error, ten bins of equal width."""

from __future__ import annotations

import simulated
from contenders import Case, Contender, Data, Outcome

N_BINS = 10


def _ours(data: Data):
    from calibrant import ece

    return lambda: ece(data["y"], data["p"], n_bins=N_BINS)


def _our_outcome(value: float, data: Data) -> Outcome:
    from calibrant import reliability_table

    table = reliability_table(data["y"], data["p"], n_bins=N_BINS)
    return {"ece": value, "observed": table.observed, "mean": table.mean_prob}


def _torchmetrics(data: Data):
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    p, y = torch.from_numpy(data["p"]), torch.from_numpy(data["y"])
    return lambda: binary_calibration_error(p, y, n_bins=N_BINS, norm="l1")


def _scikit_learn(data: Data):
    from sklearn.calibration import calibration_curve

    return lambda: calibration_curve(data["y"], data["p"], n_bins=N_BINS)


def _netcal(data: Data):
    from netcal.metrics import ECE

    return lambda: ECE(N_BINS).measure(data["p"], data["y"])


def _uncertainty_calibration(data: Data):
    import calibration

    return lambda: calibration.get_ece(data["p"], data["y"], num_bins=N_BINS)


def _value(value, _data: Data) -> Outcome:
    return {"ece": float(value)}


def _curve(curve, _data: Data) -> Outcome:
    return {"observed": curve[0], "mean": curve[1]}


OURS = Contender("calibrant", _ours, _our_outcome)

CASES = (
    Case(
        name="ece-10m",
        job="ece, 10 million rows",
        data=simulated.binary,
        reads=("y", "p"),
        rows=10_000_000,
        quick_rows=100_000,
        ours=OURS,
        peers=(
            Contender("torchmetrics", _torchmetrics, _value, faster=10),
            Contender("scikit-learn calibration_curve", _scikit_learn, _curve, faster=10),
        ),
        memory_share=0.20,
    ),
    Case(
        name="ece-1m",
        job="ece, 1 million rows",
        data=simulated.binary,
        reads=("y", "p"),
        rows=1_000_000,
        quick_rows=10_000,
        ours=OURS,
        peers=(
            Contender("netcal ECE", _netcal, _value),
            Contender("uncertainty-calibration get_ece", _uncertainty_calibration, _value),
        ),
        first_call=False,
    ),
)
