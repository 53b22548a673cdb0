"""Average recalibration: one map for all forecasts, so that the PITs become uniform."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from calibrant.entries import Entries
from calibrant.forecasts.base import Floats, Forecast
from calibrant.metrics.average import sorted_pits
from calibrant.recalibration.base import Recalibration
from calibrant.recalibration.maps import MonotoneMaps, isotonic_knots, maps_of
from calibrant.recalibration.recalibrated import Recalibrated
from calibrant.saving import saveable


@saveable
class AverageRecalibration(Recalibration):
    r"""Average recalibration: isotonic regression of ranks on PITs.

    .. math:: F_{new}(y) = R(F(y)), \qquad R(u_{(k)}) = k / (m + 1)

    for the m sorted PITs u of the fitting rows; equal PITs get the mean of their targets. R is
    linear in between, with R(0) = 0 and R(1) = 1. The new forecast is calibrated on average: its
    intervals cover as often as they say, over all rows. It need not be among the rows on which a
    decision maker acts: for that see `ThresholdRecalibration`.

    Parameters
    ----------
    pit : {"value", "mid", "randomized"}, default="value"
        PIT of an outcome at which the CDF jumps; see `calibrant.pit`.
    random_state : None, int or numpy.random.Generator, optional
        For ``pit="randomized"``.

    Attributes
    ----------
    maps_ : MonotoneMaps
        The one map; ``maps_.knots[0]`` has its `x` and `y`.

    See Also
    --------
    ThresholdRecalibration : Calibrated also where F(y0) is small or large, for every y0.

    Notes
    -----
    Fitting takes O(n log n) time, `transform` none, and asking the result for a CDF or quantile
    one look-up more than asking the original.

    References
    ----------
    Kuleshov, V., Fenner, N., Ermon, S. (2018). Accurate uncertainties for deep learning using
    calibrated regression. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import AverageRecalibration, average_calibration_error
    >>> from calibrant.forecasts import Normal
    >>> rng = np.random.default_rng(0)
    >>> mu, y = np.zeros(500), rng.normal(size=500)
    >>> overconfident = Normal(mu, 0.5)
    >>> repaired = AverageRecalibration().fit(overconfident, y).transform(overconfident)
    >>> round(average_calibration_error(overconfident, y), 3)
    0.109
    >>> round(average_calibration_error(repaired, y), 3)
    0.001
    """

    _state: ClassVar[Entries] = {"maps_": maps_of(1)}

    def __init__(self, *, pit: Any = "value", random_state: Any = None) -> None:
        self.pit = pit
        self.random_state = random_state

    def _fit(self, forecast: Forecast, y: Floats, pits: Floats, weight: Floats | None) -> None:
        self.maps_ = MonotoneMaps([isotonic_knots(*sorted_pits(pits, weight))])

    def _transform(self, forecast: Forecast) -> Recalibrated:
        codes = np.zeros((len(forecast), 1), dtype=np.int32)
        return Recalibrated(forecast, codes, (self.maps_,))
