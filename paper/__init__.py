"""Experiments of Sahoo, Zhao, Chen and Ermon, "Reliable decisions with threshold calibration"."""
