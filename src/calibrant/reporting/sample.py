"""The rows that a report on class probabilities is about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import Predictions, as_scores, check_predictions, column_names
from calibrant.reporting.names import short_labels
from calibrant.selection.candidates import Input, to_probabilities

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """Checked predictions: (n,) of ``classes[1]``, or (n, K); `codes` are the columns that came.

    Weights, all positive, add up to Kish's effective number of these rows. `logits` are what the
    predictions came as, if not as probabilities: (n,) log-odds of ``classes[1]``, or (n, K).
    """

    prob: Floats
    codes: NDArray[np.intp]
    weight: Floats | None
    classes: NDArray[Any]
    logits: Floats | None = None

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
        logits = None if self.logits is None else self.logits[rows]
        prob, codes = self.prob[rows], self.codes[rows]
        return replace(self, prob=prob, codes=codes, weight=weight, logits=logits)

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
    y_true: Any, y_prob: Any, *, labels: Any, pos_label: Any, sample_weight: Any, input: Input
) -> tuple[Sample, NDArray[np.bool_]]:
    """Check everything; rows of weight zero are left out, as the mask says.

    Weights are those of importance: times sum(w) / sum(w^2), so that their scale has no say.
    """
    options = {"labels": labels, "pos_label": pos_label, "sample_weight": sample_weight}
    if input == "probability":
        data, logits = check_predictions(y_true, y_prob, **options), None
    else:
        data, logits = _of_logits(y_true, y_prob, options)
    there = np.ones(len(data.prob), dtype=bool) if data.weight is None else data.weight > 0
    sample = Sample(
        data.prob[there].astype(np.float64, copy=False),
        data.target[there].astype(np.intp),
        None if data.weight is None else of_importance(data.weight[there]),
        data.classes,
        None if logits is None else logits[there],
    )
    if not sample.binary:
        # Rows of float32 sum to one up to its rounding; everything here is in doubles.
        sums = sample.prob.sum(axis=1, keepdims=True)
        sample = replace(sample, prob=sample.prob / sums)
    return sample, there


def _of_logits(y_true: Any, y_prob: Any, options: dict[str, Any]) -> tuple[Predictions, Floats]:
    """Logits as probabilities, and themselves: of two classes the log-odds of the second."""
    logits = as_scores(y_prob, "y_prob")
    prob = to_probabilities(logits, "logit")
    columns: Any = prob
    if names := column_names(y_prob):
        named = {name: prob[:, k] for k, name in enumerate(names)}
        columns = nw.from_dict(named, backend=nw.from_native(y_prob).implementation).to_native()
    data = check_predictions(y_true, columns, **options)
    if data.binary and logits.ndim == 2:
        first, second = logits.T.astype(np.float64)
        second_last = np.array_equal(data.prob, prob[:, 1])
        logits = second - first if second_last else first - second
    return data, logits.astype(np.float64, copy=False)


def of_importance(weight: Floats) -> Floats:
    """Positive weights scaled to add up to Kish's effective number of rows."""
    share = weight / weight.max()
    return np.asarray(share * (share.sum() / (share @ share)))
