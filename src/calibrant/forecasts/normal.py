"""Normal predictive distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from calibrant.forecasts.base import Floats, Forecast, as_parameters, check_positive

_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)


class Normal(Forecast):
    r"""A normal distribution for each row.

    .. math:: F(y) = \Phi((y - \mu) / \sigma)

    Parameters
    ----------
    mu : array-like of shape (n,) or float
        Means; a number is meant for every row.
    sigma : array-like of shape (n,) or float
        Standard deviations (not variances), positive.

    Raises
    ------
    ValueError
        If a parameter is not finite, a `sigma` is not positive, or shapes do not line up.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> forecast = Normal([0.0, 1.0], 2.0)
    >>> forecast.cdf(1.0).round(4)
    array([0.6915, 0.5   ])
    >>> forecast.crps([0.0, 1.0]).round(4)
    array([0.4674, 0.4674])
    """

    _row_fields = ("mu", "sigma")

    def __init__(self, mu: Any, sigma: Any) -> None:
        parameters = as_parameters(mu=mu, sigma=sigma)
        self.mu, self.sigma = parameters["mu"], parameters["sigma"]
        check_positive(self.sigma, "sigma")

    def cdf(self, y: Any) -> Floats:
        return np.asarray(special.ndtr((self._points(y) - self.mu) / self.sigma))

    def ppf(self, p: Any) -> Floats:
        return np.asarray(self.mu + self.sigma * special.ndtri(self._levels(p)))

    def logpdf(self, y: Any) -> Floats:
        z = (self._points(y) - self.mu) / self.sigma
        return np.asarray(-0.5 * z**2 - np.log(self.sigma) - _LOG_SQRT_2PI)

    def mean(self) -> Floats:
        return self.mu.copy()

    def std(self) -> Floats:
        return self.sigma.copy()

    def parameters(self) -> dict[str, Floats]:
        return {"mu": self.mu, "sigma": self.sigma}

    def crps(self, y: Any) -> Floats:
        r"""Continuous ranked probability score of each row, with z = (y - mu) / sigma:

        .. math:: \sigma (z (2 \Phi(z) - 1) + 2 \varphi(z) - 1 / \sqrt\pi)

        Gneiting and Raftery (2007), J. Amer. Statist. Assoc. 102.
        """
        z = (self._outcomes(y) - self.mu) / self.sigma
        density = np.exp(-0.5 * z**2 - _LOG_SQRT_2PI)
        centred = z * (2.0 * special.ndtr(z) - 1.0) + 2.0 * density
        return np.asarray(self.sigma * (centred - 1.0 / np.sqrt(np.pi)))
