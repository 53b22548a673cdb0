"""Tests of the hypothesis that predicted probabilities are calibrated."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.arguments import as_generator, check_n_resamples
from calibrant.inference.wild_bootstrap import wild_bootstrap
from calibrant.inputs import Predictions, check_predictions
from calibrant.metrics.kernel_terms import KernelTerms, kernel_terms
from calibrant.parallel import Progress

_METHODS = ("bootstrap", "asymptotic")

# Grades of evidence against the hypothesis, by the largest p-value of each.
_EVIDENCE = (
    (0.001, "very strong evidence"),
    (0.01, "strong evidence"),
    (0.05, "evidence"),
    (0.1, "weak evidence"),
)


def evidence(pvalue: float) -> str:
    """The grade of evidence against a hypothesis, in words."""
    return next((words for most, words in _EVIDENCE if pvalue <= most), "no evidence")


@dataclass(frozen=True, slots=True, repr=False)
class CalibrationTest:
    """What `calibration_test` found.

    Attributes
    ----------
    statistic : float
        The unbiased estimate itself (bootstrap), or the estimate in standard errors (asymptotic).
    pvalue : float
        How often calibrated predictions would give a statistic as large or larger.
    estimate : float
        The squared kernel calibration error: "uq" (bootstrap) or "ul" (asymptotic); see `skce`.
    n : int
        Rows.
    method, kind : str
        As asked for; `kind` is "binary" for two classes.
    bandwidth : float
        As given, or the median distance.
    n_resamples : int or None
        Replicates of the bootstrap.
    """

    statistic: float
    pvalue: float
    estimate: float
    n: int
    method: str
    kind: str
    bandwidth: float
    n_resamples: int | None

    @property
    def interpretation(self) -> str:
        """What the p-value means, in words."""
        found = evidence(self.pvalue)
        sentence = f"{found.capitalize()} of miscalibration at n = {self.n:,}"
        if found == "no evidence":
            return f"{sentence}; that is no proof of calibration, more rows may show more."
        if self.n_resamples is not None and self.pvalue * (self.n_resamples + 1) < 1.5:
            return f"{sentence}; no p-value of {self.n_resamples} resamples can be smaller."
        return f"{sentence}."

    def to_dict(self) -> dict[str, Any]:
        """The attributes, and `interpretation`, as plain values."""
        return {**asdict(self), "interpretation": self.interpretation}

    def __repr__(self) -> str:
        target = {
            "binary": "the probabilities are calibrated",
            "canonical": "the vectors of probabilities are calibrated",
            "confidence": "the probabilities of the top label are calibrated",
        }[self.kind]
        if self.method == "bootstrap":
            name = f"wild bootstrap, {self.n_resamples} resamples"
            numbers = f"SKCE (uq) = {self.estimate:.4g}"
        else:
            name = "asymptotic"
            numbers = f"SKCE (ul) = {self.estimate:.4g}, z = {self.statistic:.4g}"
        return (
            f"Kernel calibration test ({name})\n"
            f"  hypothesis: {target}\n"
            f"  n = {self.n}, bandwidth = {self.bandwidth:.4g}\n"
            f"  {numbers}, p-value = {self.pvalue:.4g}\n"
            f"{self.interpretation}"
        )


def calibration_test(
    y_true: Any,
    y_prob: Any,
    *,
    method: str = "bootstrap",
    kind: str = "canonical",
    bandwidth: float | str = 0.2,
    n_resamples: int = 999,
    random_state: int | np.random.Generator | None = None,
    shuffle: bool = False,
    labels: Any = None,
    pos_label: Any = None,
    progress: Progress | None = None,
) -> CalibrationTest:
    r"""Test the hypothesis that the predicted probabilities are calibrated.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        What happened: labels of any kind.
    y_prob : array-like of shape (n,), (n, 2) or (n, K)
        Predicted probabilities: of the positive class, or of each class with rows summing to one.
    method : {"bootstrap", "asymptotic"}, default="bootstrap"
        "bootstrap" compares the quadratic estimate `skce` "uq" with wild-bootstrap replicates.
        "asymptotic" compares the linear estimate "ul" with a normal distribution: cheap, without
        randomness, and less powerful.
    kind : {"canonical", "confidence"}, default="canonical"
        What should be calibrated for K > 2 classes: the whole vector, or the top label.
    bandwidth : float or "median", default=0.2
        As in `skce`.
    n_resamples : int, default=999
        Replicates of the bootstrap; the smallest possible p-value is 1 / (n_resamples + 1).
    random_state : int, numpy.random.Generator or None, default=None
        Seed of the bootstrap's signs and of `shuffle`. The same seed gives the same result,
        whatever the number of processors.
    shuffle : bool, default=False
        Put the rows in random order before "asymptotic" pairs them. The bootstrap uses all pairs:
        order does not matter to it.
    labels, pos_label
        As in `skce`.
    progress : callable, optional
        Called as ``progress(done, total)`` after each finished piece of the bootstrap.

    Returns
    -------
    CalibrationTest

    Raises
    ------
    ValueError
        If an argument is not of the described kind; for kind "classwise", whose averaged kernel
        has no valid null distribution here; for fewer than two rows; for "asymptotic" with fewer
        than four rows or equal terms in all pairs, unless the estimate is not positive (p = 1).

    Warns
    -----
    UserWarning
        If "asymptotic" is to pair rows that are sorted by outcome or prediction.

    See Also
    --------
    calibrant.skce : The statistic alone.

    Notes
    -----
    Bootstrap: each replicate multiplies the doubly centred kernel terms by random signs,

    .. math:: T^* = \frac{1}{n (n - 1)} \sum_{i \ne j} w_i w_j G_{ij}, \qquad
              p = \frac{1 + \#\{T^* \ge \text{SKCE}_{uq}\}}{1 + B},

    where G is h minus its row and column means plus its grand mean. Asymptotic:
    :math:`z = \sqrt{m} \, \bar t / s` with mean and standard deviation (m - 1) of the
    :math:`m = \lfloor n / 2 \rfloor` disjoint-pair terms, and :math:`p = 1 - \Phi(z)`.

    Time of the bootstrap for two classes or "confidence" O(n log n + nB), memory O(n);
    "canonical" for K > 2 O(n^2 (K + B)), memory O(nB / 8) bytes; pieces are spread over the
    processors. Asymptotic: O(nK). There is no `sample_weight`: the theory is for independent,
    equally counted rows, and repeated rows would pass for independent evidence.

    In simulations of calibrated forecasts (n = 30 to 1,000, K = 2 to 10) the bootstrap rejected
    at the 5 % level in 4.5 to 5.8 % of the samples of at least 100 rows; with 30 rows in 2.5 %
    (K = 10, canonical) to 6.6 % ("confidence"). "asymptotic" rejected in 2.0 to 5.7 %. For logits
    too extreme by a factor 1.25, 1,000 rows and K = 2, the bootstrap had a power of 65 %,
    "asymptotic" one of 4 %.

    References
    ----------
    Widmann, D., Lindsten, F., & Zachariah, D. (2019). Calibration tests in multi-class
    classification: A unifying framework. NeurIPS 32.

    Arcones, M. A., & Giné, E. (1992). On the bootstrap of U and V statistics. The Annals of
    Statistics, 20(2), 655-674.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import calibration_test
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=300)
    >>> y = rng.uniform(size=300) < p**2
    >>> calibration_test(y, p, random_state=0)
    Kernel calibration test (wild bootstrap, 999 resamples)
      hypothesis: the probabilities are calibrated
      n = 300, bandwidth = 0.2
      SKCE (uq) = 0.01219, p-value = 0.001
    Very strong evidence of miscalibration at n = 300; no p-value of 999 resamples can be smaller.
    """
    if method not in _METHODS:
        raise ValueError(f"method must be 'bootstrap' or 'asymptotic', got {method!r}.")
    if kind == "classwise":
        raise ValueError(
            "kind='classwise' has no test: the mean of the kernel errors of the classes has no "
            "known distribution under calibration. Test 'canonical' or 'confidence', or each class "
            "against the rest, as two classes, with a correction for testing several times."
        )
    n_resamples = check_n_resamples(n_resamples)
    rng = as_generator(random_state)
    data = check_predictions(y_true, y_prob, labels=labels, pos_label=pos_label)
    n = len(data.prob)
    if n < 2:
        raise ValueError("the test compares pairs of rows, but there is one row only.")
    if method == "asymptotic":
        if shuffle:
            order = rng.permutation(n)
            data = Predictions(data.prob[order], data.target[order], None, data.classes)
        else:
            _warn_if_sorted(data)
    (terms,) = kernel_terms(data, kind, bandwidth)
    if method == "bootstrap":
        null = wild_bootstrap(terms, n_resamples, rng, progress)
        statistic, estimate, pvalue = null.estimate, null.estimate, null.pvalue
    else:
        statistic, estimate, pvalue = _asymptotic(terms)
    return CalibrationTest(
        statistic=statistic,
        pvalue=pvalue,
        estimate=estimate,
        n=n,
        method=method,
        kind="binary" if data.binary else kind,
        bandwidth=terms.bandwidth,
        n_resamples=n_resamples if method == "bootstrap" else None,
    )


def _asymptotic(terms: KernelTerms) -> tuple[float, float, float]:
    """Standardised and raw mean of the disjoint-pair terms, and the p-value."""
    from scipy.special import ndtr

    pairs = terms.disjoint_pairs()
    estimate = float(pairs.mean())
    if len(pairs) < 2 or bool((pairs == pairs[0]).all()):
        if estimate <= 0.0:
            # Whatever the standard error, there is nothing against the hypothesis.
            return (0.0 if estimate == 0.0 else -np.inf), estimate, 1.0
        found = f"{len(terms)} rows" if len(pairs) < 2 else "the same term in all pairs"
        raise ValueError(
            f"method='asymptotic' needs the spread of the terms of at least two pairs of rows, but "
            f"there are {found}: use method='bootstrap'."
        )
    statistic = float(np.sqrt(len(pairs)) * estimate / pairs.std(ddof=1))
    return statistic, estimate, float(ndtr(-statistic))


def _warn_if_sorted(data: Predictions) -> None:
    columns = [data.prob] if data.binary else list(data.prob.T)
    by_outcome = _is_sorted(data.target)
    if by_outcome or any(map(_is_sorted, columns)):
        warnings.warn(
            f"the rows are sorted by {'outcome' if by_outcome else 'prediction'}, so that the "
            "pairs (1, 2), (3, 4), ... of method='asymptotic' are not independent draws: pass "
            "shuffle=True.",
            stacklevel=3,
        )


def _is_sorted(values: NDArray[Any]) -> bool:
    """In ascending or descending order, and not all equal."""
    if values[0] == values[-1]:
        return False
    low, high = (values[:-1], values[1:]) if values[0] < values[-1] else (values[1:], values[:-1])
    return bool((low <= high).all())
