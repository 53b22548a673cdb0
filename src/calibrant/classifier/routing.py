"""What a calibrated classifier passes on to the classifier and to the splitter."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import _routing_enabled, process_routing
from sklearn.utils.validation import has_fit_parameter

Params = dict[str, Any]


def routed(owner: Any, sample_weight: Any, fit_params: Params) -> tuple[Params, Params]:
    """What goes to `fit` of the owner's classifier and to `split` of its splitter."""
    if _routing_enabled():
        found = process_routing(owner, "fit", sample_weight=sample_weight, **fit_params)
        return found.estimator.fit, found.splitter.split
    estimator = owner._classifier()
    if sample_weight is None or isinstance(estimator, FrozenEstimator):
        return fit_params, {}
    if has_fit_parameter(estimator, "sample_weight"):
        return {**fit_params, "sample_weight": sample_weight}, {}
    warnings.warn(
        f"{type(estimator).__name__} takes no sample_weight: it is used for the calibrator only.",
        UserWarning,
        stacklevel=3,
    )
    return fit_params, {}
