"""Student's t predictive distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from calibrant.forecasts.base import Floats, Forecast, as_parameters, check_positive


class StudentT(Forecast):
    r"""A t distribution with location and scale for each row.

    The density at :math:`y = \mu + \sigma z` is

    .. math:: \frac{1}{\sigma \sqrt\nu B(1/2, \nu/2)} (1 + z^2 / \nu)^{-(\nu + 1) / 2}

    Parameters
    ----------
    df : array-like of shape (n,) or float
        Degrees of freedom :math:`\nu`, positive; a number is meant for every row.
    loc : array-like of shape (n,) or float
        Medians :math:`\mu`.
    scale : array-like of shape (n,) or float
        Scales :math:`\sigma` (not standard deviations), positive.

    Raises
    ------
    ValueError
        If a parameter is not finite, a `df` or `scale` is not positive, or shapes do not line up.

    Notes
    -----
    As in SciPy the mean is infinite where `df` is at most 1, and the standard deviation is
    infinite where `df` is at most 2 and nan where it is at most 1.

    Examples
    --------
    >>> from calibrant.forecasts import StudentT
    >>> forecast = StudentT(5.0, [0.0, 1.0], 2.0)
    >>> forecast.cdf(1.0).round(4)
    array([0.6809, 0.5   ])
    >>> forecast.crps([0.0, 1.0]).round(4)
    array([0.5141, 0.5141])
    """

    _row_fields = ("df", "loc", "scale")

    def __init__(self, df: Any, loc: Any, scale: Any) -> None:
        parameters = as_parameters(df=df, loc=loc, scale=scale)
        self.df, self.loc, self.scale = parameters["df"], parameters["loc"], parameters["scale"]
        check_positive(self.df, "df")
        check_positive(self.scale, "scale")

    def cdf(self, y: Any) -> Floats:
        return np.asarray(special.stdtr(self.df, (self._points(y) - self.loc) / self.scale))

    def ppf(self, p: Any) -> Floats:
        p = self._levels(p)
        z = special.stdtrit(self.df, p)
        # At p = 0 and in the farthest lower tail stdtrit has the wrong sign.
        return np.asarray(self.loc + self.scale * np.where(p < 0.5, -np.abs(z), z))

    def logpdf(self, y: Any) -> Floats:
        z = (self._points(y) - self.loc) / self.scale
        return self._log_density(z) - np.log(self.scale)

    def mean(self) -> Floats:
        return np.where(self.df > 1.0, self.loc, np.inf)

    def std(self) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            finite = self.scale * np.sqrt(self.df / (self.df - 2.0))
        return np.where(self.df > 2.0, finite, np.where(self.df > 1.0, np.inf, np.nan))

    def parameters(self) -> dict[str, Floats]:
        return {"df": self.df, "loc": self.loc, "scale": self.scale}

    def crps(self, y: Any) -> Floats:
        r"""Continuous ranked probability score of each row, with z = (y - loc) / scale:

        .. math::
            \sigma \Bigl( z (2 F_\nu(z) - 1) + 2 f_\nu(z) \frac{\nu + z^2}{\nu - 1}
            - \frac{2 \sqrt\nu}{\nu - 1} \frac{B(1/2, \nu - 1/2)}{B(1/2, \nu/2)^2} \Bigr)

        Jordan, Krueger and Lerch (2019), J. Stat. Software 90(12).

        Raises
        ------
        ValueError
            If a `df` is at most 1: such a distribution has no mean.
        """
        y = self._outcomes(y)
        without_mean = self.df <= 1.0
        if without_mean.any():
            row = int(without_mean.argmax())
            raise ValueError(
                f"df[{row}] is {float(self.df[row])!r}: crps needs more than one degree of "
                "freedom; leave such rows out."
            )
        z = (y - self.loc) / self.scale
        centred = z * (2.0 * special.stdtr(self.df, z) - 1.0)
        # The factor of the density goes into its power: no overflow for outcomes far away.
        tail = 2.0 * self.df * np.exp(self._log_density(z, power=(1.0 - self.df) / 2.0))
        spread = 2.0 * np.sqrt(self.df / np.pi) * _gamma_ratio(self.df / 2.0) ** 2
        spread /= _gamma_ratio(self.df - 0.5)
        return np.asarray(self.scale * (centred + (tail - spread) / (self.df - 1.0)))

    def _log_density(self, z: Floats, power: Floats | None = None) -> Floats:
        """Log of the standard density, with another power of 1 + z^2 / df if one is given."""
        power = -(self.df + 1.0) / 2.0 if power is None else power
        constant = np.log(_gamma_ratio(self.df / 2.0)) - 0.5 * np.log(np.pi * self.df)
        with np.errstate(over="ignore"):
            return np.asarray(constant + power * np.log1p(z**2 / self.df))


def _gamma_ratio(a: Floats) -> Floats:
    """Gamma(a + 1/2) / Gamma(a): its asymptotic series where logs of gamma would cancel."""
    large = np.maximum(a, 20.0)
    square = large**-2
    series = -1.0 / 8.0 + square * (1.0 / 192.0 + square * (-1.0 / 640.0 + square * 17.0 / 14336.0))
    asymptotic = np.sqrt(large) * np.exp(series / large)
    return np.where(a < 20.0, special.poch(np.minimum(a, 20.0), 0.5), asymptotic)
