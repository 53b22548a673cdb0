"""The report: one self-contained HTML file about class probabilities or forecasts."""

from calibrant.reporting.classes import report
from calibrant.reporting.document import Report
from calibrant.reporting.forecasts import forecast_report

__all__ = ["Report", "forecast_report", "report"]
