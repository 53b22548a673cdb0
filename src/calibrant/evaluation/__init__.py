"""Forecasts looked at from all sides at once: what the command line and the report tell."""
