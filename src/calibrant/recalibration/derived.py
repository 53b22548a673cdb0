"""What forecasts that were made of other forecasts have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant import frames
from calibrant.forecasts.base import Floats, Forecast
from calibrant.forecasts.quantiles import Quantiles

_SMALLEST, _LARGEST = np.nextafter(0.0, 1.0), np.nextafter(1.0, 0.0)
_FRAME_LEVELS = np.arange(1, 100) / 100.0


class Derived(Forecast):
    """Base class: a forecast that asks another one, `base`, and changes its probabilities."""

    base: Forecast

    def parameters(self) -> dict[str, Floats]:
        return self.base.parameters()

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """A data frame of the quantiles at 0.01, 0.02, ..., 0.99, as `Quantiles` writes it."""
        values = self.ppf(_FRAME_LEVELS[:, None]).T
        return Quantiles(_FRAME_LEVELS, values).to_frame(backend)

    @classmethod
    def from_frame(cls, frame: Any) -> Any:
        raise ValueError(
            "a recalibrated forecast cannot be read from a data frame, since its maps are not in "
            "it: read the original forecast and transform it, or read the quantiles by "
            "Quantiles.from_frame."
        )

    def _base_quantiles(self, u: Floats, p: Floats) -> Floats:
        """Quantiles of the original at levels `u`, which belong to the new levels `p`."""
        # Rounding must not turn a level inside (0, 1) into 0 or 1, whose quantile may be infinite.
        inside = np.clip(u, _SMALLEST, _LARGEST)
        return self.base.ppf(np.where((p > 0.0) & (p < 1.0), inside, p))
