"""Dirichlet calibration: a linear map of log-probabilities, then the softmax."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.calibrators.base import warn_not_converged
from calibrant.calibrators.multiclass import MulticlassCalibrator
from calibrant.calibrators.softmax_newton import (
    ConjugateGradients,
    Direction,
    Optimum,
    exact_direction,
    minimise,
)
from calibrant.calibrators.softmax_regression import (
    Matrix,
    SharedFeatures,
    SoftmaxObjective,
    row_blocks,
)
from calibrant.entries import (
    COUNT,
    FLAG,
    NUMBER,
    Entries,
    array,
    is_number,
    number,
    optional,
    plain,
)
from calibrant.inputs import FloatArray
from calibrant.saving import saveable
from calibrant.transforms import softmax

_GRID = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)
_FALLBACK = 1e-3
_MAX_FOLDS = 3
_LOSS_CLIP = 1e-15
# Held-out losses that are this close differ by rounding only.
_TIE = 1e-10
# Up to this many parameters the Hessian itself is cheaper than products with it.
_EXACT_SIZE = 160
# What no weight of a fit reaches, and what a sum over the classes does not overflow with.
_LARGEST = 1e300

_EPS = plain("a number in (0, 0.5)", lambda value: is_number(value) and 0.0 < value < 0.5)


@saveable
class DirichletCalibration(MulticlassCalibrator):
    r"""Dirichlet calibration: multinomial logistic regression on the log-probabilities.

    .. math:: q_i = \operatorname{softmax}(W \log p^*_i + b), \qquad
              p^*_{ik} = \min\{\max(p_{ik}, \epsilon), 1 - \epsilon\}

    `W` and `b` minimise the mean log loss plus the off-diagonal and intercept regularisation

    .. math:: \lambda \Bigl(\sum_{k \ne l} W_{kl}^2 + \sum_k b_k^2\Bigr).

    It is beta calibration for more than two classes. With :math:`\lambda = 0` only the predictions
    are determined: adding the same row to all rows of `W` and the same number to all of `b` changes
    nothing. `weight_` and `bias_` are then the choice with the smallest penalty.

    Parameters
    ----------
    lambda_ : float or None, default=None
        Strength of the penalty, at least 0. None selects from 0, 1e-4, 1e-3, 1e-2 and 1e-1 by the
        log loss on held-out folds; see Notes.
    eps : float, default=1e-12
        Probabilities are clipped to [eps, 1 - eps] before the log.

    Attributes
    ----------
    weight_ : ndarray of shape (K, K)
        Row k makes the logit of class k.
    bias_ : ndarray of shape (K,)
        Bias of each class.
    selected_lambda_ : float
        The penalty strength that was used.
    loss_ : float
        Mean log loss on the data of the fit (weighted mean where there are weights), plus the
        penalty.
    converged_ : bool
        Whether the optimum was reached. It need not exist: the diagonal of `W` is not penalised,
        so it grows without bound where the most likely class is always right, or where a class of
        `labels` does not occur in y; without a penalty wherever classes can be separated.
    n_iter_ : int
        Newton iterations of the last fit, the one on all rows.
    classes_ : ndarray of shape (K,)
        Labels of the columns.
    n_features_in_ : int
        K.

    Raises
    ------
    ValueError
        If X is not a matrix (n, K) of probabilities, `lambda_` is negative or not finite, or `eps`
        is not in (0, 0.5).

    Warns
    -----
    ConvergenceWarning
        If `converged_` is false; the predictions are valid probabilities all the same.
    UserWarning
        If all rows of X are equal: the prediction is constant.

    See Also
    --------
    BetaCalibration : For two classes.
    VectorScaling : Two parameters for each class.

    Notes
    -----
    For the selection the rows of each class, in the order given, are dealt to three folds in turn
    (to two where the smallest class has two rows). The first value of smallest average held-out
    loss wins. Where a class has a single row, 1e-3 is used; classes that do not occur are left out
    of account. Rows of whole-number weights are dealt as if they were repeated; where some weight
    is not whole, each row is dealt once and takes its weight along.

    Newton's method, up to 12 classes with the exact Hessian, in time O(n K^4) an iteration; beyond
    that by preconditioned conjugate gradients, in O(n K^2) for each of some hundred products with
    the Hessian. Memory O(n K + K^2). The selection costs up to 15 fits more. Prediction takes
    O(n K^2).

    References
    ----------
    Kull, M., Perello-Nieto, M., Kängsepp, M., Silva Filho, T., Song, H., Flach, P. (2019). Beyond
    temperature scaling: obtaining well-calibrated multi-class probabilities with Dirichlet
    calibration. NeurIPS.

    Examples
    --------
    >>> from calibrant import DirichletCalibration
    >>> prob = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7], [0.8, 0.1, 0.1],
    ...         [0.3, 0.4, 0.3], [0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.2, 0.6, 0.2]]
    >>> y = ["ant", "bee", "cat", "ant", "bee", "ant", "bee", "cat"]
    >>> fitted = DirichletCalibration(lambda_=0.1).fit(prob, y)
    >>> fitted.weight_.round(2)
    array([[ 0.68, -0.17,  0.18],
           [ 0.02,  1.23, -0.18],
           [-0.02,  0.17,  0.88]])
    >>> fitted.predict_proba([[0.9, 0.05, 0.05]]).round(3)
    array([[0.899, 0.054, 0.047]])
    """

    _parameters: ClassVar[Entries] = {"lambda_": optional(number(0)), "eps": _EPS}
    _state: ClassVar[Entries] = {
        "weight_": array("K", "K", low=-_LARGEST, high=_LARGEST),
        "bias_": array("K", low=-_LARGEST, high=_LARGEST),
        "selected_lambda_": number(0),
        "loss_": NUMBER,
        "converged_": FLAG,
        "n_iter_": COUNT,
    }

    weight_: NDArray[np.float64]
    bias_: NDArray[np.float64]
    selected_lambda_: float
    loss_: float
    converged_: bool
    n_iter_: int

    def __init__(self, *, lambda_: float | None = None, eps: float = 1e-12) -> None:
        self.lambda_ = lambda_
        self.eps = eps

    def _fit(
        self, scores: FloatArray, codes: NDArray[np.intp], weight: NDArray[np.float64] | None
    ) -> None:
        self._warn_constant(scores)
        features = _log_features(scores, self.eps)
        if self.lambda_ is None:
            self.selected_lambda_ = _select_lambda(features, codes, weight)
        else:
            self.selected_lambda_ = float(self.lambda_)
        optimum = _optimum(features, codes, weight, self.selected_lambda_)
        self.weight_ = np.ascontiguousarray(optimum.theta[:, :-1])
        self.bias_ = optimum.theta[:, -1].copy()
        self.loss_ = optimum.loss
        self.converged_ = optimum.converged
        self.n_iter_ = optimum.n_iter
        if not self.converged_:
            warn_not_converged(
                f"DirichletCalibration stopped after {self.n_iter_} iterations without an optimum "
                f"(lambda = {self.selected_lambda_:g}): the probabilities separate classes, "
                "perfectly or nearly so, or a class does not occur in y. The predictions are "
                "valid, but some are close to 0 or 1 without good reason; fit on more data"
                + (", or set lambda_ above 0." if self.selected_lambda_ == 0.0 else ".")
            )

    def _predict(self, scores: FloatArray) -> NDArray[np.float64]:
        prob = np.empty(scores.shape)
        for rows in row_blocks(*scores.shape):
            logits = _log_clipped(scores[rows], self.eps) @ self.weight_.T
            logits += self.bias_
            prob[rows] = softmax(logits)
        return prob


def _log_clipped(prob: Any, eps: float) -> Matrix:
    clipped: Matrix = np.clip(prob, eps, 1.0 - eps, dtype=np.float64)
    return np.log(clipped, out=clipped)


def _log_features(prob: FloatArray, eps: float) -> Matrix:
    """(n, K + 1): log-probabilities and a one, for the bias."""
    n, n_classes = prob.shape
    features = np.ones((n, n_classes + 1))
    features[:, :-1] = _log_clipped(prob, eps)
    return features


def _optimum(
    values: Matrix,
    codes: NDArray[np.intp],
    weight: NDArray[np.float64] | None,
    lambda_: float,
    start: Matrix | None = None,
) -> Optimum:
    """The fit with a given penalty, from the identity map unless told otherwise."""
    n_classes = values.shape[1] - 1
    identity = np.eye(n_classes, n_classes + 1)
    features = SharedFeatures(values, n_classes)
    objective = SoftmaxObjective(features, codes, weight, ridge=lambda_, gauge=1.0 - identity)
    direction: Direction
    if identity.size <= _EXACT_SIZE:
        direction = exact_direction(objective)
    else:
        direction = ConjugateGradients(objective, features)
    return minimise(objective, identity if start is None else start, direction)


def _select_lambda(
    values: Matrix, codes: NDArray[np.intp], weight: NDArray[np.float64] | None
) -> float:
    """The penalty of the grid with the smallest average log loss on held-out folds."""
    n = len(codes)
    copies = np.ones(n)
    if weight is not None and np.all(weight == np.floor(weight)):
        copies = weight
    sizes = np.bincount(codes, weights=copies)
    n_folds = int(min(_MAX_FOLDS, sizes[sizes > 0].min()))
    if n_folds < 2:
        return _FALLBACK
    mass = np.ones(n) if weight is None else weight
    losses = np.zeros(len(_GRID))
    for share in _held_out_shares(codes, copies, n_folds):
        train, test = share < 1.0, share > 0.0
        kept = values[train], codes[train], (mass * (1.0 - share))[train]
        held_out = values[test], codes[test], (mass * share)[test]
        start = None
        # From the strongest penalty on, each fit starts at the one before.
        for i in reversed(range(len(_GRID))):
            start = _optimum(*kept, _GRID[i], start).theta
            losses[i] += _log_loss(start, *held_out)
    return _GRID[int(np.argmax(losses <= losses.min() + _TIE))]


def _held_out_shares(
    codes: NDArray[np.intp], copies: NDArray[np.float64], n_folds: int
) -> list[NDArray[np.float64]]:
    """For each fold, the share of each row's copies in it; copies of a class are dealt in turn."""
    first = np.empty(len(codes))
    for k in np.unique(codes):
        members = np.flatnonzero(codes == k)
        first[members] = np.cumsum(copies[members]) - copies[members]
    shares = []
    for fold in range(n_folds):
        # Numbers below x that leave the remainder `fold`: floor((x + n_folds - 1 - fold) / n_folds)
        offset = n_folds - 1 - fold
        dealt = (first + copies + offset) // n_folds - (first + offset) // n_folds
        shares.append(dealt / copies)
    return shares


def _log_loss(
    theta: Matrix, values: Matrix, codes: NDArray[np.intp], weight: NDArray[np.float64]
) -> float:
    loss = 0.0
    for rows in row_blocks(len(codes), len(theta)):
        prob = softmax(values[rows] @ theta.T)
        target = codes[rows]
        likelihood = prob[np.arange(len(target)), target]
        loss -= float(weight[rows] @ np.log(np.clip(likelihood, _LOSS_CLIP, 1.0 - _LOSS_CLIP)))
    return loss / float(weight.sum())
