"""The report on class probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.arguments import as_seed, check_n_resamples
from calibrant.calibrators.logits import INPUT
from calibrant.entries import check
from calibrant.inputs import as_weights
from calibrant.reporting import provenance
from calibrant.reporting.class_findings import Findings, find
from calibrant.reporting.document import Report, check_dependencies, rate_in_words, render
from calibrant.reporting.names import named, printable, quoted
from calibrant.reporting.panel import make_panel
from calibrant.reporting.sample import Sample, read_sample
from calibrant.reporting.slices import LEVEL, MOST_GROUPS, group_labels
from calibrant.reporting.stakes import START
from calibrant.selection.candidates import Input
from calibrant.selection.showing import SURELY_WRONG


def report(
    y_true: Any,
    y_prob: Any,
    *,
    labels: Any = None,
    pos_label: Any = None,
    input: Input = "probability",
    by: Any = None,
    sample_weight: Any = None,
    title: str | None = None,
    date: str | None = None,
    n_resamples: int = 999,
    random_state: int | np.random.Generator | None = 0,
) -> Report:
    r"""Report on class probabilities: one HTML page to hand on, which loads nothing.

    It says in one sentence whether the probabilities can be trusted, and then shows why: metrics
    with intervals and the calibration test, reliability diagrams, calibrators compared out of fold
    and what the recommended one changes, groups of rows, what decisions cost as predicted and in
    truth (with sliders for the costs and the threshold), and how all of it was computed.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        What happened: labels of any kind.
    y_prob : array-like of shape (n,), (n, 2) or (n, K)
        Predicted probabilities: of the positive class, or of each class with rows summing to one.
    labels, pos_label
        As in `reliability_table`.
    input : {"probability", "logit"}, default="probability"
        What `y_prob` holds. Of logits, (n,) log-odds or (n, K) for a softmax, the report measures
        the probabilities; calibrators are compared on the logits, as by `compare_calibrators`.
    by : array-like of shape (n,), optional
        The group of each row, such as a region: each group is measured and tested by itself. Rows
        where it is missing (None, NaN, null) are a group of their own.
    sample_weight : array-like of shape (n,), optional
        Weights. Rows of weight zero are left out. Tests, which are for unweighted rows, are too;
        groups are tested by their mean gap. Weights are taken for those of importance, whole
        numbers too: they are multiplied by :math:`\sum w / \sum w^2`, which makes them add up to
        Kish's effective number of rows. So their scale changes no number.
    title : str, optional
        The heading.
    date : str, optional
        Shown as it is. Without it, the same input gives the same page, byte by byte.
    n_resamples : int, default=999
        Resamples for intervals and the test; more for the tests of many groups.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of folds and resamples. The report names it.

    Returns
    -------
    Report
        With ``save(path)``; the page is ``.html``.

    Raises
    ------
    ValueError
        If an argument is not of the described kind.
    ImportError
        If altair, jinja2, matplotlib or vl-convert-python is not installed.

    See Also
    --------
    forecast_report : Of forecasts of a real outcome.

    Notes
    -----
    The verdict is that of `calibrant.metrics.verdict` (of the top label, for more than two
    classes), and calibrators are those of `compare_calibrators` by default. Each group gets the
    bootstrap kernel test; with p-values in ascending order, Holm's

    .. math:: \tilde p_{(k)} = \max_{j \le k} \min\{1, (m - j + 1) p_{(j)}\}

    holds for all m groups together: with 5 % probability or less, one of the calibrated groups is
    called miscalibrated. Cost: that of `compare_calibrators`, mostly; O(nB) for B resamples.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal
    of Statistics, 6(2), 65-70.

    Kish, L. (1965). Survey Sampling. Wiley.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.reporting import report
    >>> rng = np.random.default_rng(0)
    >>> prob = rng.random(500)
    >>> y = rng.random(500) < prob**2
    >>> found = report(y, prob, by=np.where(prob > 0.5, "high", "low"), n_resamples=99)
    >>> print(found.verdict)
    Biased high: the mean prediction, 53.1%, is 16.3 percentage points above the observed
    frequency, 36.8% (ECE 0.16; a perfectly calibrated forecast of this size would show about 0.045
    by chance).
    >>> found.html[:15]
    '<!doctype html>'
    """
    check_dependencies()
    n_resamples, seed = check_n_resamples(n_resamples), as_seed(random_state)
    check(INPUT, "input", input)
    sample, there = read_sample(
        y_true, y_prob, labels=labels, pos_label=pos_label, sample_weight=sample_weight,
        input=input,
    )  # fmt: skip
    groups = group_labels(by, there)
    groups = None if groups is None else groups[there]
    found = find(sample, groups, n_resamples=n_resamples, seed=seed)
    heading = "Can these probabilities be trusted?" if title is None else printable(str(title))
    given = found.sample.prob if found.sample.logits is None else found.sample.logits
    columns = {"y_true": found.sample.y, "y_prob": given}
    if (weight := as_weights(sample_weight, len(there))) is not None:
        columns["sample_weight"] = weight[there]
    if groups is not None:
        columns["by"] = groups
    done = _what_was_done(found, columns, date, n_resamples, seed)
    return Report(heading, found.verdict.text, _page(found, heading, done))


def _page(found: Findings, title: str, done: dict[str, str]) -> str:
    from calibrant.reporting.class_pictures import draw

    return render(
        "classes.html",
        {
            "title": title,
            "found": found,
            "pictures": draw(found),
            "panel": make_panel(found.stakes),
            "start": START,
            "done": done,
            "versions": provenance.versions(),
            "level": LEVEL,
            "most_groups": MOST_GROUPS,
            "facts": _facts(found.sample),
            "event": _event(found.sample),
            "surely_wrong": SURELY_WRONG,
        },
    )


def _facts(sample: Sample) -> str:
    """Of what and how many."""
    rows = f"{sample.n:,} row{'s' if sample.n != 1 else ''}"
    if not sample.binary:
        return f"{rows}, {len(sample.classes)} classes: {named(sample.labels)}"
    rate = float(np.average(sample.codes, weights=sample.weight))
    return f"{rows}; {_event(sample)} happened in {rate_in_words(rate)} of them"


def _event(sample: Sample) -> str:
    """What the probability of two classes is of."""
    label = sample.labels[1]
    return "the event" if not isinstance(label, str) and label == 1 else quoted(label)


def _what_was_done(
    found: Findings,
    columns: dict[str, NDArray[Any]],
    date: str | None,
    n_resamples: int,
    seed: int,
) -> dict[str, str]:
    sample = found.sample
    done = {} if date is None else {"Date": str(date)}
    done |= {
        "Rows": f"{sample.n:,}" + (" of positive weight" if sample.weight is not None else ""),
        "Classes": named(sample.labels, 20),
        "Bins": "10 of equal width",
        "Intervals": f"95 %, percentile bootstrap, {n_resamples:,} resamples of rows",
        "Test": "none: it is for unweighted rows" if found.test is None else (
            f"wild bootstrap of the squared kernel calibration error, bandwidth "
            f"{found.test.bandwidth:g}, {n_resamples:,} resamples"
        ),
    }  # fmt: skip
    if sample.weight is not None:
        done["Weights"] = (
            f"of importance, as if of {sample.weight.sum():,.1f} rows (Kish's effective number)"
        )
    if found.comparison is not None:
        done["Calibrators"] = (
            f"compared out of fold on the {'probabilities' if sample.logits is None else 'logits'}"
            f", {found.comparison.n_folds} folds; the simplest within one standard error of the "
            "lowest log loss is recommended"
        )
    if found.groups:
        done["Groups"] = f"{len(found.groups)}; p-values with Holm's correction"
    fingerprint = provenance.fingerprint(columns)
    return done | {"Seed": str(seed), f"SHA-256 of {', '.join(columns)}": fingerprint}
