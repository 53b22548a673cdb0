"""Log-normal predictive distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from calibrant.forecasts.base import Floats, Forecast, as_parameters, check_positive

_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)


class LogNormal(Forecast):
    r"""A log-normal distribution for each row: the logarithm of the outcome is normal.

    .. math:: F(y) = \Phi((\log y - \mu) / \sigma), \quad y > 0

    Parameters
    ----------
    mu : array-like of shape (n,) or float
        Means of the logarithm; a number is meant for every row.
    sigma : array-like of shape (n,) or float
        Standard deviations of the logarithm, positive.

    Raises
    ------
    ValueError
        If a parameter is not finite, a `sigma` is not positive, or shapes do not line up.

    Examples
    --------
    >>> from calibrant.forecasts import LogNormal
    >>> forecast = LogNormal([0.0, 1.0], 0.5)
    >>> forecast.cdf([1.0, 1.0]).round(4)
    array([0.5   , 0.0228])
    >>> forecast.crps([1.0, 1.0]).round(4)
    array([0.1208, 1.2363])
    """

    _row_fields = ("mu", "sigma")

    def __init__(self, mu: Any, sigma: Any) -> None:
        parameters = as_parameters(mu=mu, sigma=sigma)
        self.mu, self.sigma = parameters["mu"], parameters["sigma"]
        check_positive(self.sigma, "sigma")

    def cdf(self, y: Any) -> Floats:
        return np.asarray(special.ndtr(self._standardised(_log(self._points(y)))))

    def ppf(self, p: Any) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.mu + self.sigma * special.ndtri(self._levels(p))))

    def logpdf(self, y: Any) -> Floats:
        points = self._points(y)
        # Where the density is zero, log y would be infinite with either sign.
        inside = (points > 0.0) & (points < np.inf)
        log_y = _log(np.where(inside, points, 1.0))
        density = -0.5 * self._standardised(log_y) ** 2 - log_y
        return np.where(inside, density - np.log(self.sigma) - _LOG_SQRT_2PI, -np.inf)

    def mean(self) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.mu + self.sigma**2 / 2.0))

    def std(self) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(self.mean() * np.sqrt(np.expm1(self.sigma**2)))

    def parameters(self) -> dict[str, Floats]:
        return {"mu": self.mu, "sigma": self.sigma}

    def crps(self, y: Any) -> Floats:
        r"""Continuous ranked probability score of each row, with z = (log y - mu) / sigma:

        .. math::
            y (2 \Phi(z) - 1)
            - 2 e^{\mu + \sigma^2 / 2} (\Phi(z - \sigma) + \Phi(\sigma / \sqrt 2) - 1)

        An outcome of at most zero has z = -inf.

        Baran and Lerch (2015), Q. J. R. Meteorol. Soc. 141.
        """
        y = self._outcomes(y)
        z = self._standardised(_log(y))
        # The two tails are multiplied by the mean, which may overflow, on the log scale.
        log_mean = self.mu + self.sigma**2 / 2.0
        with np.errstate(over="ignore"):
            spread = np.exp(log_mean + special.log_ndtr(-self.sigma / np.sqrt(2.0)))
            below = np.exp(log_mean + special.log_ndtr(z - self.sigma))
        return np.asarray(y * (2.0 * special.ndtr(z) - 1.0) + 2.0 * (spread - below))

    def _standardised(self, log_y: Floats) -> Floats:
        return np.asarray((log_y - self.mu) / self.sigma)


def _log(y: Floats) -> Floats:
    """The logarithm, -inf for outcomes of at most zero."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(y, 0.0)))
