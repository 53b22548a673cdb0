"""Predictive distributions of a real outcome, one for each row."""

from calibrant.forecasts.adapters import (
    as_forecast,
    from_ngboost,
    from_quantile_regressors,
    from_return_std,
    from_scipy,
    from_skpro,
    from_torch,
)
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.concatenation import concatenate
from calibrant.forecasts.ensemble import Ensemble
from calibrant.forecasts.laplace import Laplace
from calibrant.forecasts.log_normal import LogNormal
from calibrant.forecasts.mixture import Mixture
from calibrant.forecasts.normal import Normal
from calibrant.forecasts.quantiles import Quantiles
from calibrant.forecasts.student_t import StudentT
from calibrant.forecasts.tabulated import Tabulated

__all__ = [
    "Ensemble",
    "Forecast",
    "Laplace",
    "LogNormal",
    "Mixture",
    "Normal",
    "Quantiles",
    "StudentT",
    "Tabulated",
    "as_forecast",
    "concatenate",
    "from_ngboost",
    "from_quantile_regressors",
    "from_return_std",
    "from_scipy",
    "from_skpro",
    "from_torch",
]
