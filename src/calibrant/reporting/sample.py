"""The rows that a report on class probabilities is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.arguments import as_generator
from calibrant.entries import is_whole
from calibrant.inputs import check_predictions

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """Checked predictions: (n,) of ``classes[1]``, or (n, K); `codes` are the columns that came.

    Weights, all positive, add up to Kish's effective number of these rows.
    """

    prob: Floats
    codes: NDArray[np.intp]
    weight: Floats | None
    classes: NDArray[Any]

    @property
    def binary(self) -> bool:
        return self.prob.ndim == 1

    @property
    def n(self) -> int:
        return len(self.codes)

    @property
    def y(self) -> NDArray[Any]:
        return self.classes[self.codes]

    @property
    def labels(self) -> list[Any]:
        labels: list[Any] = self.classes.tolist()
        return labels

    @property
    def options(self) -> dict[str, Any]:
        """What every metric is told besides outcomes and predictions."""
        return {"labels": self.labels, "sample_weight": self.weight}

    def take(self, rows: NDArray[np.intp]) -> Sample:
        weight = None if self.weight is None else of_importance(self.weight[rows])
        return replace(self, prob=self.prob[rows], codes=self.codes[rows], weight=weight)

    def event(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Probability of the second of two classes, else of the top label; whether it came."""
        if self.binary:
            return self.prob, self.codes == 1
        top = self.prob.argmax(axis=1)
        return self.prob[np.arange(self.n), top], top == self.codes

    def with_short_labels(self) -> Sample:
        """The same with labels that pictures have room for."""
        return replace(self, classes=short_labels(self.classes))


def read_sample(
    y_true: Any, y_prob: Any, *, labels: Any, pos_label: Any, sample_weight: Any
) -> tuple[Sample, NDArray[np.bool_]]:
    """Check everything; rows of weight zero are left out, as the mask says.

    Weights are those of importance: times sum(w) / sum(w^2), so that their scale has no say.
    """
    data = check_predictions(
        y_true, y_prob, labels=labels, pos_label=pos_label, sample_weight=sample_weight
    )
    there = np.ones(len(data.prob), dtype=bool) if data.weight is None else data.weight > 0
    sample = Sample(
        data.prob[there].astype(np.float64, copy=False),
        data.target[there].astype(np.intp),
        None if data.weight is None else of_importance(data.weight[there]),
        data.classes,
    )
    if not sample.binary:
        # Rows of float32 sum to one up to its rounding; everything here is in doubles.
        sums = sample.prob.sum(axis=1, keepdims=True)
        sample = replace(sample, prob=sample.prob / sums)
    return sample, there


def of_importance(weight: Floats) -> Floats:
    """Positive weights scaled to add up to Kish's effective number of rows."""
    share = weight / weight.max()
    return np.asarray(share * (share.sum() / (share @ share)))


def short_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Text of at most so many characters, still all different."""
    most = 24
    if labels.dtype.kind != "U" or max(map(len, labels.tolist())) <= most:
        return labels
    shown = [
        text if len(text) <= most else f"{text[: most - 8]}… ({k + 1})"
        for k, text in enumerate(labels.tolist())
    ]
    return np.array(shown)


def as_seed(random_state: Any) -> int:
    """The number itself, or one that is drawn: the report names it."""
    if is_whole(random_state):
        as_generator(random_state)
        return int(random_state)
    return int(as_generator(random_state).integers(2**32))


def named(values: Sequence[Any], most: int = 8) -> str:
    """Some labels in words."""
    more = f", … ({len(values)} in all)" if len(values) > most else ""
    return ", ".join(map(str, values[:most])) + more
