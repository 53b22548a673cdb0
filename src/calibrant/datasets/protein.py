"""Forecasts of a neural network for the errors of protein structures, with what they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.datasets.parquet import read_columns
from calibrant.forecasts import Normal


@dataclass(frozen=True, slots=True, repr=False)
class ProteinForecasts:
    """Predictive distributions of a real outcome, with the outcomes, one row a structure.

    Attributes
    ----------
    forecast : Normal
        n normal distributions; ``forecast.mu`` and ``forecast.sigma`` are (n,) float64.
    y : numpy.ndarray of float64, shape (n,)
        Outcomes: how far a predicted structure was from the true one (root-mean-square deviation),
        standardised with the mean and standard deviation of the rows that the network learned from.
        Low is good.
    split : {"validation", "test"}
        Which rows these are.
    """

    forecast: Normal
    y: NDArray[np.float64]
    split: Literal["validation", "test"]

    def to_dict(self) -> dict[str, NDArray[np.float64]]:
        """The columns mu, sigma and y, for ``polars.DataFrame`` or ``pandas.DataFrame``."""
        return {"mu": self.forecast.mu, "sigma": self.forecast.sigma, "y": self.y}

    def __repr__(self) -> str:
        within = np.mean(np.abs(self.y - self.forecast.mu) <= self.forecast.sigma)
        return (
            f"ProteinForecasts: {len(self.y):,} {self.split} rows; "
            f"{100 * within:.1f} % of outcomes within one standard deviation"
        )


def load_protein_forecasts(split: Literal["validation", "test"] = "test") -> ProteinForecasts:
    """Normal forecasts of the errors of predicted protein structures, with the outcomes.

    A network with two hidden layers learned mean and standard deviation of the error from nine
    properties of a structure, on other rows. Fit a recalibration on the 3,201 validation rows
    (which chose when learning stopped), check it on the 13,719 test rows.

    Parameters
    ----------
    split : {"validation", "test"}, default="test"
        Which rows.

    Returns
    -------
    ProteinForecasts
        `forecast`, a `calibrant.forecasts.Normal` of n rows, and `y` (n,).

    Raises
    ------
    ValueError
        If `split` is neither of the two.
    ImportError
        If neither Polars nor PyArrow is installed to read Parquet.

    Notes
    -----
    Source of the outcomes: Rana, P. S. (2013), "Physicochemical Properties of Protein Tertiary
    Structure", UCI Machine Learning Repository, https://doi.org/10.24432/C5QW3H, CC BY 4.0.
    ATTRIBUTION.md in the folder of this module says what was changed and how the forecasts were
    made. Stored as float32, which are the forecasts and outcomes exactly.

    Examples
    --------
    >>> from calibrant.datasets import load_protein_forecasts
    >>> load_protein_forecasts("validation")
    ProteinForecasts: 3,201 validation rows; 71.9 % of outcomes within one standard deviation
    """
    if split not in ("validation", "test"):
        raise ValueError(f"split must be 'validation' or 'test', got {split!r}.")
    columns = read_columns("protein_forecasts.parquet")
    rows = columns["test"] == (split == "test")
    mu, sigma, y = (columns[name][rows].astype(np.float64) for name in ("mu", "sigma", "y"))
    return ProteinForecasts(Normal(mu, sigma), y, split)
