"""What every recalibration does: read forecasts and outcomes, fit, transform, save."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from calibrant.encoding import decode_members, encode, member
from calibrant.entries import Entries, Sizes, check, one_of
from calibrant.forecasts.adapters import as_forecast
from calibrant.forecasts.base import Floats, Forecast, as_outcomes
from calibrant.metrics.average import pit_values
from calibrant.metrics.grids import as_counts
from calibrant.recalibration.derived import Derived
from calibrant.saving import save

_MOSTLY = 0.75
PIT_METHOD = one_of("value", "mid", "randomized")


class Recalibration(BaseEstimator):
    """Base class: a map from forecasts to better calibrated forecasts.

    Subclasses declare in `_parameters` and `_state` what the parameters and the fitted attributes
    that `transform` needs look like; the latter are what is saved. They give `_fit` and
    `_transform` over clean input, and have the parameters `pit` and `random_state`.
    """

    _parameters: ClassVar[Entries] = {}
    _state: ClassVar[Entries] = {}

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

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted recalibration to a JSON file that `calibrant.load` reads.

        Parameters
        ----------
        path : path-like
            Where to write; the file is complete or not there at all.
        overwrite : bool, default=False
            Whether an existing file may be replaced.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If `fit` was not called.
        FileExistsError
            If the file exists and `overwrite` is false.
        """
        check_is_fitted(self)
        save(self, path, overwrite=overwrite)

    def to_dict(self) -> dict[str, Any]:
        """Parameters, and the fitted attributes if there are any, as JSON-able values."""
        # Whom progress was told is no part of what was learned.
        params = {**self.get_params(deep=False), "progress": None}
        content: dict[str, Any] = {
            "params": {k: encode(params[k], k) for k in self._get_param_names()}
        }
        if self.__sklearn_is_fitted__():
            content["fitted"] = {k: encode(getattr(self, k), k) for k in self._state}
        return content

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """The recalibration that `to_dict` described."""
        params = member(content, "params")
        recalibration = cls(**decode_members(params, cls._get_param_names(), "params"))
        recalibration._check_parameters()
        if "fitted" in content:
            fitted = decode_members(content["fitted"], cls._state, "fitted")
            sizes: Sizes = {}
            for name, entry in cls._state.items():
                check(entry, name, fitted[name], sizes)
                setattr(recalibration, name, fitted[name])
            recalibration._check_state()
        return recalibration

    def _check_parameters(self) -> None:
        for name, entry in {"pit": PIT_METHOD, **self._parameters}.items():
            check(entry, name, getattr(self, name))

    def _check_droppable(self) -> None:
        """Raise ValueError where a parameter counts rows that would be left out."""

    def _check_state(self) -> None:
        """Raise ValueError where fitted attributes do not fit together."""

    def __sklearn_is_fitted__(self) -> bool:
        return all(hasattr(self, name) for name in self._state)


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
