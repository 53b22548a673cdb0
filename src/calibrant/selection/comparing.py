"""Calibrators compared by their out-of-fold predictions of the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from calibrant.arguments import as_seed, check_confidence_level, check_n_resamples
from calibrant.calibrators.logits import INPUT
from calibrant.entries import check
from calibrant.parallel import Progress
from calibrant.selection.candidates import (
    UNCALIBRATED,
    Input,
    complexity,
    default_calibrators,
    left_out,
    named_calibrators,
)
from calibrant.selection.comparison import CalibratorComparison
from calibrant.selection.resampling import METRICS
from calibrant.selection.scoring import Sampling, ranked, recommended, score_all
from calibrant.selection.trials import Steps, fit_all, of_event, read_data


def compare_calibrators(
    X: Any,
    y: Any,
    calibrators: Sequence[Any] | None = None,
    *,
    input: Input = "probability",
    cv: Any = 5,
    metrics: Sequence[str] = ("log_loss", "brier", "ece"),
    labels: Any = None,
    sample_weight: Any = None,
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    random_state: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> CalibratorComparison:
    r"""Compare calibrators with each other, and with not calibrating at all.

    Every calibrator predicts each row out of fold, on the same folds. The first metric decides: the
    recommended candidate is the simplest one whose metric exceeds the lowest by at most one
    standard error of the difference,

    .. math:: \hat m_c - \min_{c'} \hat m_{c'} \le \widehat{\operatorname{se}}.

    The order of simplicity is: uncalibrated, temperature, Platt, vector, beta, histogram, isotonic,
    Dirichlet; one-vs-rest comes right after its base, and other calibrators come last. If the log
    loss decides, a candidate that gave something that happened a probability of zero (2.2e-16 or
    less) is recommended only if all of them did: its log loss is infinite.

    Parameters
    ----------
    X : array-like of shape (n,), (n, 2) or (n, K)
        Predictions: probabilities, or logits (see `input`).
    y : array-like of shape (n,)
        What happened: labels of any kind.
    calibrators : sequence of calibrators or of (name, calibrator) pairs, optional
        What to compare; without a name, a calibrator is called after its method. By default
        Platt, temperature, beta, isotonic and histogram for two classes; temperature, vector,
        one-vs-rest Platt, beta, isotonic and histogram for more, and Dirichlet where there are at
        least ten rows for each of its K (K + 1) parameters.
    input : {"probability", "logit"}, default="probability"
        What `X` holds. Each calibrator is given what it takes: logits become probabilities by
        the logistic function or the softmax, probabilities become logits as with
        ``TemperatureScaling(input="probability")``; PlattScaling takes what there is.
    cv : int, splitter or iterable, default=5
        As for `CrossValidated`.
    metrics : sequence of str, default=("log_loss", "brier", "ece")
        Among "log_loss" (probabilities clipped to 2.2e-16), "brier" (for more than two classes
        summed over them), "ece", "mce", "ace", "mmce" and "skce", with their default options.
    labels : sequence of labels, optional
        The classes in the order of the columns, as for the calibrators.
    sample_weight : array-like of shape (n,), optional
        Weights, in fits and metrics. Rows of weight zero are not judged by.
    confidence_level : float, default=0.95
        Of the intervals.
    n_resamples : int, default=999
        Bootstrap resamples of rows.
    random_state : int, numpy.random.Generator or None, default=None
        Seed of the folds and of the resamples.
    progress : callable, optional
        Called as ``progress(done, total)`` after each candidate and each metric.

    Returns
    -------
    CalibratorComparison
        With a reason for each calibrator that was left out or could not be fitted.

    Raises
    ------
    ValueError
        If an argument is not of the described kind, or no calibrator at all can be fitted.

    See Also
    --------
    AutoCalibration : An estimator that takes the recommended candidate.
    CrossValidated : Out-of-fold predictions of one calibrator.

    Notes
    -----
    Intervals are percentile intervals over resamples of rows, the same for all candidates, so that
    what is hard about a row cancels in differences. The predictions stay as they are; that another
    sample would have led to other maps is not in the intervals. A candidate is called better than
    the uncalibrated predictions where the whole interval of its difference lies below zero.

    Use rows that the model which made `X` was not trained on. Cost: one fit for each calibrator and
    fold, and one on all rows; O(nC) for each resample of C candidates, O(nKC) for calibration
    errors.

    References
    ----------
    Breiman, L., Friedman, J. H., Olshen, R. A., & Stone, C. J. (1984). Classification and
    regression trees. Wadsworth. Section 3.4.3, the one-standard-error rule.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import PlattScaling, TemperatureScaling
    >>> from calibrant.selection import compare_calibrators
    >>> rng = np.random.default_rng(0)
    >>> logits = 3 * rng.normal(size=600)
    >>> y = rng.random(600) < 1 / (1 + np.exp(-logits / 2))
    >>> found = compare_calibrators(
    ...     logits,
    ...     y,
    ...     [TemperatureScaling(), PlattScaling()],
    ...     input="logit",
    ...     metrics=["log_loss"],
    ...     random_state=0,
    ... )
    >>> found.recommended
    'temperature'
    """
    check(INPUT, "input", input)
    chosen = _checked_metrics(metrics)
    sampling = Sampling(
        check_n_resamples(n_resamples),
        check_confidence_level(confidence_level),
        as_seed(random_state),
    )
    if progress is not None and not callable(progress):
        raise ValueError(f"progress must be None or a function, got {progress!r:.80}.")
    data = read_data(X, y, input, labels, sample_weight)
    unfit: dict[str, str] = {}
    if calibrators is None:
        candidates = default_calibrators(len(data.classes), input)
        unfit = left_out(len(data.classes), int(data.judged.sum()))
        candidates = {name: one for name, one in candidates.items() if name not in unfit}
    else:
        candidates = named_calibrators(calibrators)
    steps = Steps(progress, len(candidates) + len(chosen))
    fitted, failures = fit_all(candidates, data, input, cv, sampling.seed, steps)
    if not fitted:
        raise ValueError(
            f"no calibrator can be compared on these folds: {next(iter(failures.values()))}"
        )
    predictions = {UNCALIBRATED: data.uncalibrated}
    for name in sorted(fitted, key=lambda name: complexity(candidates[name])):
        predictions[name] = of_event(fitted[name].validated.oof_predictions_)
    scores, wrong = score_all(predictions, data, chosen, sampling, steps)
    order = ranked(scores, chosen[0], wrong)
    return CalibratorComparison(
        scores={name: scores[name] for name in order},
        best=order[0],
        recommended=recommended(scores, chosen[0], wrong),
        surely_wrong=wrong,
        failures=unfit | failures,
        notes={name: trial.notes for name, trial in fitted.items() if trial.notes},
        metrics=chosen,
        classes=data.classes,
        n=int(data.judged.sum()),
        n_folds=len(next(iter(fitted.values())).validated.calibrators_),
        n_resamples=sampling.n_resamples,
        confidence_level=sampling.confidence_level,
        calibrators={name: trial.validated.calibrator_ for name, trial in fitted.items()},
        predictions=predictions,
    )


def _checked_metrics(metrics: Any) -> tuple[str, ...]:
    names = None if isinstance(metrics, str) or not isinstance(metrics, Iterable) else [*metrics]
    if not names:
        raise ValueError(f"metrics must be a list such as ['log_loss'], got {metrics!r}.")
    for place, name in enumerate(names):
        if name not in METRICS:
            raise ValueError(
                f"metrics[{place}] must be one of {', '.join(map(repr, METRICS))}, got {name!r}."
            )
    return tuple(dict.fromkeys(names))
