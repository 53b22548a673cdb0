"""Predictive distributions of a real outcome, one for each row."""

from calibrant.forecasts.base import Forecast
from calibrant.forecasts.normal import Normal

__all__ = ["Forecast", "Normal"]
