"""Laplace predictive distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.forecasts.base import Floats, Forecast, as_parameters, check_positive


class Laplace(Forecast):
    r"""A Laplace (double exponential) distribution for each row.

    .. math::
        F(y) = \tfrac12 e^{(y - \mu) / b}, \quad y \le \mu, \qquad
        F(y) = 1 - \tfrac12 e^{-(y - \mu) / b}, \quad y > \mu

    Parameters
    ----------
    loc : array-like of shape (n,) or float
        Means and medians :math:`\mu`; a number is meant for every row.
    scale : array-like of shape (n,) or float
        Scales :math:`b` (the mean absolute deviation), positive.

    Raises
    ------
    ValueError
        If a parameter is not finite, a `scale` is not positive, or shapes do not line up.

    Examples
    --------
    >>> from calibrant.forecasts import Laplace
    >>> forecast = Laplace([0.0, 1.0], 2.0)
    >>> forecast.cdf(1.0).round(4)
    array([0.6967, 0.5   ])
    >>> forecast.crps([0.0, 1.0])
    array([0.5, 0.5])
    """

    _row_fields = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any) -> None:
        parameters = as_parameters(loc=loc, scale=scale)
        self.loc, self.scale = parameters["loc"], parameters["scale"]
        check_positive(self.scale, "scale")

    def cdf(self, y: Any) -> Floats:
        deviation = self._points(y) - self.loc
        beyond = 0.5 * np.exp(-np.abs(deviation) / self.scale)
        return np.subtract(1.0, beyond, out=beyond, where=deviation > 0.0)

    def ppf(self, p: Any) -> Floats:
        p = self._levels(p)
        with np.errstate(divide="ignore"):
            depth = np.log(2.0 * np.minimum(p, 1.0 - p))
        return np.asarray(self.loc + self.scale * np.where(p < 0.5, depth, -depth))

    def logpdf(self, y: Any) -> Floats:
        distance = np.abs(self._points(y) - self.loc) / self.scale
        return np.asarray(-distance - np.log(2.0 * self.scale))

    def mean(self) -> Floats:
        return self.loc.copy()

    def std(self) -> Floats:
        return np.asarray(np.sqrt(2.0) * self.scale)

    def parameters(self) -> dict[str, Floats]:
        return {"loc": self.loc, "scale": self.scale}

    def crps(self, y: Any) -> Floats:
        r"""Continuous ranked probability score of each row, with z = (y - loc) / scale:

        .. math:: b (|z| + e^{-|z|} - 3 / 4)

        Jordan, Krueger and Lerch (2019), J. Stat. Software 90(12).
        """
        distance = np.abs(self._outcomes(y) - self.loc) / self.scale
        return np.asarray(self.scale * (distance + np.exp(-distance) - 0.75))
