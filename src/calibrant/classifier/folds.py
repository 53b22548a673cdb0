"""What classifiers say of rows that they were not fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from calibrant.classifier.scores import Response, Scores
from calibrant.splits import Split


def fit_folds(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    splits: Sequence[Split],
    response: Response,
    classes: NDArray[Any],
    params: dict[str, Any],
    n_jobs: int | None,
) -> list[tuple[Any, Scores]]:
    """For each fold a clone fitted outside of it, and what it says of the rows inside."""
    folds: list[tuple[Any, Scores]] = Parallel(n_jobs=n_jobs)(
        delayed(_fit_fold)(clone(estimator), X, y, split, response, classes, params)
        for split in splits
    )
    return folds


def _fit_fold(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    split: Split,
    response: Response,
    classes: NDArray[Any],
    params: dict[str, Any],
) -> tuple[Any, Scores]:
    train, test = split
    own = _check_method_params(X, params=params, indices=train)
    estimator.fit(_safe_indexing(X, train), y[train], **own)
    return estimator, Scores.of(estimator, _safe_indexing(X, test), response, classes)
