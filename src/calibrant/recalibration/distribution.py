"""Distribution recalibration: a map of its own for each cell of similar forecasts."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

from calibrant.entries import Entries, array, count, one_of, plain
from calibrant.forecasts.base import Floats, Forecast
from calibrant.metrics.average import sorted_pits
from calibrant.metrics.cells import OUTSIDE, ParameterGrid
from calibrant.recalibration.base import Recalibration, weights_or_ones
from calibrant.recalibration.maps import IDENTITY, MonotoneMaps, isotonic_knots, maps_of
from calibrant.recalibration.recalibrated import Recalibrated
from calibrant.saving import saveable

_MOSTLY = 0.5


@saveable
class DistributionRecalibration(Recalibration):
    """Distribution recalibration: isotonic regression of ranks on PITs in cells of the parameters.

    Each parameter of the forecasts (mean and standard deviation of a normal one, five numbers of a
    Gaussian-Laplace mixture, mean and standard deviation of a family without parameters) is
    divided into equal cells between its extremes on the fitting rows. The rows of a cell get one
    map, as `AverageRecalibration` makes it. With several parameters most cells hold hardly any
    rows, and their maps are noise.

    Parameters
    ----------
    n_bins : int, default=20
        Cells per parameter.
    fallback : {"average", "unchanged"}, default="average"
        What becomes of a forecast outside the cells or in one without fitting rows: the map of all
        fitting rows, or nothing, as in the paper's experiments.
    spread : {"sd", "variance"}, default="sd"
        Whether standard deviations are divided as they are, or squared.
    pit : {"value", "mid", "randomized"}, default="value"
        PIT of an outcome at which the CDF jumps; see `calibrant.pit`.
    random_state : None, int or numpy.random.Generator, optional
        For ``pit="randomized"``.

    Attributes
    ----------
    grid_ : ParameterGrid
        The cells. A fitting row exactly on an edge belongs to no cell; a new one to the cell above.
    cells_ : ndarray of shape (G,)
        Numbers of the cells with fitting rows.
    maps_ : MonotoneMaps
        Their maps, and the fallback as the last one.

    Notes
    -----
    Fitting takes O(n log n) time whatever the number of cells.

    References
    ----------
    Song, H., Diethe, T., Kull, M., Flach, P. (2019). Distribution calibration for regression. ICML.
    Sahoo, R., Zhao, S., Chen, A., Ermon, S. (2021). Reliable decisions with threshold calibration.
    NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import DistributionRecalibration, average_calibration_error
    >>> from calibrant.forecasts import Normal
    >>> rng = np.random.default_rng(0)
    >>> mu = rng.normal(size=2000)
    >>> y = mu + rng.normal(size=2000)
    >>> forecast = Normal(mu, 0.5)
    >>> repaired = DistributionRecalibration(n_bins=5).fit(forecast, y).transform(forecast)
    >>> round(average_calibration_error(repaired, y), 3)
    0.001
    """

    _parameters: ClassVar[Entries] = {
        "n_bins": count(1),
        "fallback": one_of("average", "unchanged"),
        "spread": one_of("sd", "variance"),
    }
    _state: ClassVar[Entries] = {
        "grid_": plain("a grid of cells", lambda value: isinstance(value, ParameterGrid)),
        "cells_": array("G", low=0, order="ascending", integers=True),
        "maps_": maps_of(),
    }

    def __init__(
        self,
        *,
        n_bins: int = 20,
        fallback: str = "average",
        spread: Any = "sd",
        pit: Any = "value",
        random_state: Any = None,
    ) -> None:
        self.n_bins = n_bins
        self.fallback = fallback
        self.spread = spread
        self.pit = pit
        self.random_state = random_state

    def _fit(self, forecast: Forecast, y: Floats, pits: Floats, weight: Floats | None) -> None:
        self.grid_ = ParameterGrid.of(forecast, self.n_bins, self.spread)
        cell = self.grid_.cells(forecast, inner=True)
        weights = weights_or_ones(weight, len(cell))
        order = np.lexsort((pits, cell))
        order = order[cell[order] != OUTSIDE]
        if len(order) < _MOSTLY * len(cell):
            warnings.warn(
                f"{len(cell) - len(order)} of {len(cell)} rows lie exactly on an edge between "
                "cells and belong to none, since a parameter takes few values: choose n_bins so "
                "that its values fall between edges.",
                UserWarning,
                stacklevel=4,
            )
        self.cells_, first = np.unique(cell[order], return_index=True)
        knots = [
            isotonic_knots(pits[rows], weights[rows])
            for rows in np.split(order, first[1:])
            if len(rows)
        ]
        average = isotonic_knots(*sorted_pits(pits, weight))
        self.maps_ = MonotoneMaps([*knots, average if self.fallback == "average" else IDENTITY])

    def _check_fitted(self) -> None:
        if len(self.maps_) != len(self.cells_) + 1:
            raise ValueError(
                f"maps_ holds {len(self.maps_)} maps for {len(self.cells_)} cells: it must hold "
                "one more."
            )

    def _transform(self, forecast: Forecast) -> Recalibrated:
        cell = self.grid_.cells(forecast)
        last = len(self.cells_)
        place = np.searchsorted(self.cells_, cell)
        known = np.append(self.cells_, OUTSIDE)[place] == cell
        codes = np.where(known & (cell != OUTSIDE), place, last).astype(np.int32)
        return Recalibrated(forecast, codes[:, None], (self.maps_,))
