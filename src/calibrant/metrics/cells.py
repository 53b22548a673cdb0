"""A grid of cells over the parameters of forecasts."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.forecasts.base import Floats, Forecast
from calibrant.saving import saveable

Spread = Literal["sd", "variance"]

_SPREADS = ("sd", "variance")
_SPREAD_NAMES = frozenset({"sigma", "std"})

OUTSIDE = -1
_TOO_MANY = 2**62


@saveable
class ParameterGrid:
    """Equal cells per parameter between its smallest and its largest value.

    Attributes
    ----------
    edges : dict of str to ndarray of shape (n_bins + 1,)
        For each parameter its edges. A constant parameter has the two edges of one cell, equal.
    spread : {"sd", "variance"}
        Whether standard deviations are divided as they are, or squared.
    """

    def __init__(self, edges: dict[str, Floats], spread: Spread) -> None:
        self.edges, self.spread = edges, spread

    @classmethod
    def of(cls, forecast: Forecast, n_bins: int, spread: Spread) -> Self:
        """The grid that spans the parameters of these forecasts."""
        _check_spread(spread)
        edges = {}
        parameters = _parameters(forecast, spread)
        if n_bins ** len(parameters) >= _TOO_MANY:
            raise ValueError(
                f"n_bins={n_bins} cells for each of {len(parameters)} parameters are too many to "
                "be numbered: lower n_bins."
            )
        for name, values in parameters.items():
            if not np.isfinite(values).all():
                row = int(np.argmin(np.isfinite(values)))
                raise ValueError(
                    f"{name} of forecast {row} is {float(values[row])}: cells need finite "
                    "parameters; drop the row."
                )
            low, high = values.min(), values.max()
            edges[name] = np.linspace(low, high, (n_bins if low < high else 1) + 1)
        return cls(edges, spread)

    def cells(
        self, forecast: Forecast, *, inner: bool = False, closed: bool = False
    ) -> NDArray[np.int64]:
        """Number of each row's cell, `OUTSIDE` for those in none.

        A cell holds its lower edges; with `inner` it holds none of its edges, with `closed` the
        last cell holds its upper edge as well.
        """
        parameters = _parameters(forecast, self.spread)
        if list(parameters) != list(self.edges):
            raise ValueError(
                f"the forecasts have the parameters {', '.join(parameters)}, but the cells are of "
                f"{', '.join(self.edges)}: use forecasts of the family that was fitted."
            )
        number = np.zeros(len(forecast), dtype=np.int64)
        inside = np.ones(len(forecast), dtype=bool)
        for name, values in parameters.items():
            edges = self.edges[name]
            if edges[0] == edges[-1]:
                inside &= values == edges[0]
                continue
            cell = np.searchsorted(edges, values, side="right") - 1
            if closed:
                cell[values == edges[-1]] = len(edges) - 2
            inside &= (cell >= 0) & (cell < len(edges) - 1)
            if inner:
                inside &= values != edges[cell]
            number = number * (len(edges) - 1) + cell
        return np.where(inside, number, OUTSIDE)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able values that `from_dict` reads."""
        edges = {name: values.tolist() for name, values in self.edges.items()}
        return {"edges": edges, "spread": self.spread}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """The grid that `to_dict` described."""
        edges = {name: np.array(values, dtype=float) for name, values in content["edges"].items()}
        for name, values in edges.items():
            if values.ndim != 1 or len(values) < 2 or not (np.diff(values) >= 0.0).all():
                raise ValueError(f"edges of {name!r} must be two ascending numbers or more.")
        return cls(edges, _check_spread(content["spread"]))


def _check_spread(spread: Any) -> Spread:
    if spread not in _SPREADS:
        raise ValueError(f"spread must be one of {', '.join(_SPREADS)}, got {spread!r}.")
    checked: Spread = spread
    return checked


def _parameters(forecast: Forecast, spread: Spread) -> dict[str, Floats]:
    return {
        name: values**2 if spread == "variance" and name in _SPREAD_NAMES else values
        for name, values in forecast.parameters().items()
    }
