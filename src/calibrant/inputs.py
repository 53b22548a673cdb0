"""What users hand over -> clean float arrays, column codes and weights, or one clear error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.containers import column_names, to_numpy
from calibrant.labels import as_classes, binary_target, check_lengths, labels_array

__all__ = [
    "FloatArray",
    "Predictions",
    "as_classes",
    "as_columns",
    "as_probabilities",
    "as_real_array",
    "as_scores",
    "as_weights",
    "check_lengths",
    "check_predictions",
    "column_names",
]

FloatArray = NDArray[np.floating[Any]]
"""float32 or float64; everything that comes from users is brought to one of the two."""

ROW_SUM_TOLERANCE = 1e-6
"""How far from one a row of probabilities may sum; 32 eps where the dtype is coarser than that."""

_BLOCK = 65_536


@dataclass(frozen=True, slots=True)
class Predictions:
    """Validated class probabilities with their outcomes.

    Binary: `prob` (n,) is the probability of ``classes[1]`` and `target` (n,) is 1 where it
    happened. Multiclass: `prob` is (n, K) and `target` (n,) the column that happened.
    """

    prob: FloatArray
    target: NDArray[Any]
    weight: NDArray[np.float64] | None
    classes: NDArray[Any]

    @property
    def binary(self) -> bool:
        return self.prob.ndim == 1


def check_predictions(
    y_true: Any,
    y_prob: Any,
    *,
    labels: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> Predictions:
    """Validate outcomes and class probabilities together."""
    y = labels_array(y_true, "y_true", probabilities="y_prob")
    prob = as_probabilities(y_prob, "y_prob")
    check_lengths(y_true=y, y_prob=prob)
    weight = as_weights(sample_weight, len(y))
    names = column_names(y_prob)
    if prob.ndim == 1 or prob.shape[1] == 2:
        target, classes, column = binary_target(y, labels, pos_label, names, vector=prob.ndim == 1)
        positive = prob if prob.ndim == 1 else prob[:, column]
        return Predictions(positive, target, weight, classes)
    if pos_label is not None:
        raise ValueError(
            f"pos_label={pos_label!r} is for two classes, but y_prob has {prob.shape[1]} "
            "columns: leave it out."
        )
    codes, classes = as_classes(y, prob.shape[1], labels=labels, names=names, name="y_true")
    return Predictions(prob, codes, weight, classes)


def as_probabilities(values: Any, name: str = "y_prob") -> FloatArray:
    """Probabilities (n,) or (n, K): in [0, 1], rows of a matrix summing to one."""
    array, tolerance = _real_array(values, name)
    _check_rows(array, name)
    _check_range(array, name, 0.0, 1.0, "a probability")
    if array.ndim == 2:
        _check_row_sums(array, name, tolerance)
    return array


def as_columns(values: Any, name: str = "X") -> FloatArray:
    """Probabilities (n,) or (n, K) whose rows need not sum to one."""
    array, _ = _real_array(values, name)
    _check_rows(array, name)
    _check_range(array, name, 0.0, 1.0, "a probability")
    return array


def as_scores(values: Any, name: str = "X") -> FloatArray:
    """Finite real scores (n,) or (n, K)."""
    array, _ = _real_array(values, name)
    _check_rows(array, name)
    _check_range(array, name, -np.inf, np.inf, "a score")
    return array


def as_real_array(values: Any, name: str, *, low: float = -np.inf, high: float = np.inf) -> Any:
    """Finite numbers of any shape, within [low, high]."""
    array, _ = _real_array(values, name)
    if array.size:
        _check_range(array, name, low, high, "a probability" if high == 1.0 else "a number")
    return array


def as_weights(sample_weight: Any, n: int) -> NDArray[np.float64] | None:
    """Weights (n,): finite, not negative, not all zero, with a finite sum."""
    if sample_weight is None:
        return None
    name = "sample_weight"
    array, _ = _real_array(sample_weight, name)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}: it must hold one number for each row.")
    if len(array) != n:
        raise ValueError(f"{name} has {len(array)} entries for {n} rows: it needs one for each.")
    _check_range(array, name, 0.0, np.inf, "a weight")
    if not array.any():
        raise ValueError(f"{name} is zero in every row: at least one must be positive.")
    weight: NDArray[np.float64] = array.astype(np.float64, copy=False)
    with np.errstate(over="ignore"):
        if not np.isfinite(weight.sum()):
            raise ValueError(f"{name} adds up to more than a float64 can hold: divide the weights.")
    return weight


def _real_array(values: Any, name: str) -> tuple[FloatArray, float]:
    """The values as contiguous float32 or float64, and the tolerance of their row sums."""
    array = to_numpy(values, name)
    kind = array.dtype.kind
    if kind == "c":
        raise ValueError(f"{name} is complex: it must hold real numbers.")
    if kind not in "biuf":
        such_as = f" such as {array.ravel()[0]!r}" if array.size else ""
        raise ValueError(
            f"{name} has dtype {array.dtype}{such_as}, not numbers: convert it to floats first."
            + (" The order of arguments is (y_true, y_prob)." if name == "y_prob" else "")
        )
    tolerance = ROW_SUM_TOLERANCE
    if kind == "f":
        tolerance = max(tolerance, 32 * float(np.finfo(array.dtype).eps))
    if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
        array = array.astype(np.float64)
    return np.ascontiguousarray(array) if array.ndim else array, tolerance


def _check_rows(array: FloatArray, name: str) -> None:
    if array.ndim not in (1, 2):
        raise ValueError(
            f"{name} has {array.ndim} dimensions, shape {array.shape}: it must be (n,) for two "
            "classes, or (n, K) with a column for each class."
        )
    if array.ndim == 2 and array.shape[1] < 2:
        raise ValueError(
            f"{name} has shape {array.shape}: pass a single column as a one-dimensional array of "
            "shape (n,)."
        )
    if len(array) == 0:
        raise ValueError(f"{name} is empty: at least one row is needed.")


def _check_range(array: FloatArray, name: str, low: float, high: float, what: str) -> None:
    smallest, largest = array.min(), array.max()  # a NaN anywhere makes both NaN
    if np.isfinite(smallest) and np.isfinite(largest) and low <= smallest and largest <= high:
        return
    bad = ~np.isfinite(array) | (array < low) | (array > high)
    where = np.unravel_index(int(bad.argmax()), array.shape)
    value = float(array[where])
    place = f"{name}[{', '.join(str(int(i)) for i in where)}]" if where else name
    count = int(bad.sum())
    more = f" ({count} such entries in all)" if count > 1 else ""
    if not np.isfinite(value):
        raise ValueError(
            f"{place} is {value}, not {what}{more}: drop the row or fill the value in."
        )
    side, excess = ("below", low - value) if value < low else ("above", value - high)
    edge = low if value < low else high
    remedy = "correct it or drop the row"
    if what == "a probability":
        remedy = "rescale percentages, or turn scores and logits into probabilities first"
    raise ValueError(
        f"{place} is {value!r}, not {what}: {side} {edge:g} by {excess:.3g}{more}; {remedy}."
    )


def _check_row_sums(array: FloatArray, name: str, tolerance: float) -> None:
    ones = np.ones(array.shape[1])
    for start in range(0, len(array), _BLOCK):
        sums = array[start : start + _BLOCK].astype(np.float64, copy=False) @ ones
        bad = np.abs(sums - 1.0) > tolerance
        if bad.any():
            row = int(bad.argmax())
            raise ValueError(
                f"{name}[{start + row}] sums to {sums[row]:.9g}, not to one within "
                f"{tolerance:.2g}: each row must hold the probabilities of all classes; "
                "renormalise the rows or add the missing class."
            )
