"""What every recalibration does: read forecasts and outcomes, fit, transform, save."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from calibrant.entries import check, one_of
from calibrant.estimators import SavedEstimator
from calibrant.forecasts.adapters import as_forecast
from calibrant.forecasts.base import Floats, Forecast, as_outcomes
from calibrant.metrics.average import pit_values
from calibrant.metrics.grids import as_counts
from calibrant.recalibration.derived import Derived

_MOSTLY = 0.75
PIT_METHOD = one_of("value", "mid", "randomized")


class Recalibration(SavedEstimator):
    """Base class: a map from forecasts to better calibrated forecasts.

    Subclasses declare in `_parameters` and `_state` what the parameters and the fitted attributes
    that `transform` needs look like; the latter are what is saved. They give `_fit` and
    `_transform` over clean input, and have the parameters `pit` and `random_state`.
    """

    pit: Any
    random_state: Any

    @abstractmethod
    def _fit(self, forecast: Forecast, y: Floats, pits: Floats, weight: Floats | None) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _transform(self, forecast: Forecast) -> Derived:
        """The recalibrated forecast."""

    def fit(self, forecast: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn how the forecasts have to be corrected.

        Parameters
        ----------
        forecast : Forecast, or anything with a broadcasting ``cdf``
            n predictive distributions, of rows that the forecaster was not trained on.
        y : array-like of shape (n,)
            Their outcomes.
        sample_weight : array-like of shape (n,), optional
            Weights; an integer weight means the same as repeating the row.

        Returns
        -------
        self
            The fitted recalibration.

        Raises
        ------
        ValueError
            If outcomes or weights do not fit the forecasts, or a parameter is not as described.

        Notes
        -----
        The cost is given by each class; all evaluate the CDF of each row at its outcome.

        Examples
        --------
        >>> from calibrant import AverageRecalibration
        >>> from calibrant.forecasts import Normal
        >>> forecast = Normal([0.0, 1.0, 2.0, 3.0], 1.0)
        >>> fitted = AverageRecalibration().fit(forecast, [0.2, 0.7, 2.3, 2.8])
        >>> fitted.transform(forecast).interval(0.5)[0].round(2)
        array([-0.27,  0.73,  1.73,  2.73])
        """
        self._check_parameters()
        held = as_forecast(forecast)
        outcomes = as_outcomes(y, len(held))
        weight = as_counts(sample_weight, len(held))
        if weight is not None and not weight.all():
            # A weight of zero means that the row is not there.
            self._check_droppable()
            there = weight > 0.0
            held, outcomes, weight = held[there], outcomes[there], weight[there]
        self._fit(held, outcomes, pit_values(held, outcomes, self.pit, self.random_state), weight)
        _warn_outside(held, outcomes, weight)
        return self

    def transform(self, forecast: Any) -> Derived:
        """Recalibrate new forecasts of the same forecaster.

        Parameters
        ----------
        forecast : Forecast, or anything with a broadcasting ``cdf``
            n predictive distributions.

        Returns
        -------
        Forecast
            With all that forecasts have: `cdf`, `ppf`, `mean`, `crps` and so on.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If `fit` was not called.
        """
        check_is_fitted(self)
        return self._transform(as_forecast(forecast))

    def _saved_params(self) -> dict[str, Any]:
        # Whom progress was told is no part of what was learned.
        params = super()._saved_params()
        return {**params, "progress": None} if "progress" in params else params

    def _check_parameters(self) -> None:
        check(PIT_METHOD, "pit", self.pit)
        super()._check_parameters()

    def _check_droppable(self) -> None:
        """Raise ValueError where a parameter counts rows that would be left out."""


def _warn_outside(forecast: Forecast, y: Floats, weight: Floats | None) -> None:
    """Say so if most outcomes lie where the forecasts have no probability."""
    outside = (forecast.cdf(y) <= 0.0) | (forecast.cdf_left(y) >= 1.0)
    share = float(np.average(outside, weights=weight))
    if share > _MOSTLY:
        warnings.warn(
            f"{share:.0%} of the outcomes lie beyond all that the forecasts hold possible: no map "
            "of their probabilities can repair that. Correct their location or spread first, for "
            "instance by a regression of the outcome on the forecast's mean.",
            UserWarning,
            stacklevel=3,
        )


def weights_or_ones(weight: Floats | None, n: int) -> Floats:
    """Weights (n,), one for each row where none were given."""
    return np.ones(n) if weight is None else weight
