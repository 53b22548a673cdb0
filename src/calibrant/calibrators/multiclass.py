"""Base of the methods that need a column for each class."""

from __future__ import annotations

import warnings

import numpy as np

from calibrant.calibrators.base import Calibrator
from calibrant.entries import count
from calibrant.inputs import FloatArray


class MulticlassCalibrator(Calibrator):
    """A map of whole rows: (n, K) scores or probabilities, K at least two."""

    _n_features = count(2)

    def _native(self, scores: FloatArray) -> FloatArray:
        if scores.ndim == 1:
            raise ValueError(
                f"{type(self).__name__} needs a column for each class, but X has shape "
                f"{scores.shape}: pass a matrix (n, K), or use a binary calibrator such as "
                "PlattScaling."
            )
        return scores

    def _warn_constant(self, scores: FloatArray) -> None:
        if np.array_equal(scores.min(axis=0), scores.max(axis=0)):
            warnings.warn(
                f"all rows of X are equal: {type(self).__name__} can learn no more from them than "
                "the frequencies of the classes.",
                UserWarning,
                stacklevel=4,
            )
