"""Base of the methods that need a column for each class."""

from __future__ import annotations

from calibrant.calibrators.base import Calibrator
from calibrant.inputs import FloatArray


class MulticlassCalibrator(Calibrator):
    """A map of whole rows: (n, K) scores or probabilities, K at least two."""

    def _native(self, scores: FloatArray) -> FloatArray:
        if scores.ndim == 1:
            raise ValueError(
                f"{type(self).__name__} needs a column for each class, but X has shape "
                f"{scores.shape}: pass a matrix (n, K), or use a binary calibrator such as "
                "PlattScaling."
            )
        return scores
