"""What the displays of forecasts share: forecasts that an estimator gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

from calibrant.displays import drawing

if TYPE_CHECKING:
    from calibrant.forecasts import Forecast


class OfForecasts:
    """Part of the displays that have ``from_predictions(forecast, y, ...)``."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, **options: Any
    ) -> Self:
        """Draw the forecasts of a fitted regressor that gives distributions, or a recalibration's.

        Parameters
        ----------
        estimator : regressor or recalibration
            A regressor with `pred_dist` (NGBoost) or `predict_proba` (skpro), or one of
            scikit-learn whose ``predict(X, return_std=True)`` works, for normal forecasts.
        X : array-like, or forecasts for a recalibration
            What the estimator takes.
        y : array-like of shape (n,)
            Outcomes.
        name : str, optional
            The forecaster, for legend or title; default the name of the estimator's class.
        **options
            As in `from_predictions`.

        Returns
        -------
        the display

        Raises
        ------
        ValueError
            If the estimator does not give distributions, or as for `from_predictions`.
        ImportError
            If matplotlib is not installed.
        """
        drawing.pyplot()
        forecast, kind = _forecasts_of(estimator, X)
        shown = kind if name is None else name
        display: Self = cast(Any, cls).from_predictions(forecast, y, name=shown, **options)
        return display


def _forecasts_of(estimator: Any, X: Any) -> tuple[Forecast, str]:
    """The distributions that a regressor or a recalibration gives, and what it is called."""
    from calibrant.forecasts import as_forecast, from_return_std
    from calibrant.recalibration.base import Recalibration

    kind = drawing.instance_of(estimator)
    if isinstance(estimator, Recalibration):
        return estimator.transform(X), kind
    for method in ("pred_dist", "predict_proba"):  # NGBoost's and skpro's
        if hasattr(estimator, method):
            given = getattr(estimator, method)(X)
            try:
                return as_forecast(given), kind
            except ValueError as error:
                raise ValueError(
                    f"{method} of estimator {kind} gives no forecast: {error}"
                ) from error
    if not hasattr(estimator, "predict"):
        raise ValueError(f"estimator {kind} has no predict: use from_predictions.")
    return from_return_std(estimator, X), kind
