"""The report on forecasts of a real outcome."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.arguments import as_seed, check_n_resamples
from calibrant.inputs import as_weights
from calibrant.metrics.grids import quantiles
from calibrant.reporting import provenance
from calibrant.reporting.document import Report, check_dependencies, minus, render
from calibrant.reporting.forecast_findings import Findings, find
from calibrant.reporting.forecast_rows import Rows, read_rows
from calibrant.reporting.names import printable
from calibrant.reporting.panel import make_panel
from calibrant.reporting.slices import LEVEL, MOST_GROUPS, group_labels
from calibrant.reporting.stakes import START

_FINGERPRINT_LEVELS = np.arange(1, 20) / 20.0


def forecast_report(
    forecast: Any,
    y: Any,
    *,
    by: Any = None,
    sample_weight: Any = None,
    title: str | None = None,
    date: str | None = None,
    n_resamples: int = 999,
    random_state: int | np.random.Generator | None = 0,
) -> Report:
    r"""Report on forecasts of a real outcome: one HTML page to hand on, which loads nothing.

    It says in one sentence whether the forecasts can be trusted, and then shows why: average
    calibration and the coverage of intervals, calibration among the rows on which decision makers
    act, what they were promised and what they lost, what recalibrations change on rows that were
    held out, groups of rows, and what one decision costs (with sliders for the costs and the
    threshold).

    Parameters
    ----------
    forecast : Forecast, or anything with a broadcasting ``cdf``
        n predictive distributions.
    y : array-like of shape (n,)
        Outcomes.
    by : array-like of shape (n,), optional
        The group of each row, such as a region: each group is measured and tested by itself. Rows
        where it is missing (None, NaN, null) are a group of their own.
    sample_weight : array-like of shape (n,), optional
        Weights. Rows of weight zero are left out. Weights are taken for those of importance: they
        are divided by their mean, so that their scale changes no number, and tests and what is
        said to come by chance take Kish's effective number of rows,
        :math:`(\sum w)^2 / \sum w^2`.
    title, date, n_resamples, random_state
        As in `report`; resamples are for intervals.

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
    report : Of class probabilities.

    Notes
    -----
    A third of the rows, drawn at random, is held out from a `ThresholdRecalibration` whose number
    of layers is chosen by cross-validation on the others (from 60 rows on), and from the other
    recalibrations; a `ThresholdwiseRecalibration`, which takes long, is fitted on at most 50,000
    rows, and the CRPS of recalibrations compared on at most 1,000. All rows, and groups with Holm's
    correction, are tested by Kolmogorov's distance of their PITs from the uniform distribution;
    where a CDF jumps at an outcome, its PIT is drawn from the jump, and of an ensemble of m members
    1 / (m + 1) is taken off the distance, which its steps explain. Cost: that of the
    recalibrations, mostly.

    References
    ----------
    Sahoo, R., Zhao, S., Chen, A., & Ermon, S. (2021). Reliable decisions with threshold
    calibration. NeurIPS 34.

    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal
    of Statistics, 6(2), 65-70.

    Kish, L. (1965). Survey Sampling. Wiley.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.forecasts import Normal
    >>> from calibrant.reporting import forecast_report
    >>> rng = np.random.default_rng(0)
    >>> mu = rng.normal(size=300)
    >>> found = forecast_report(Normal(mu, 0.5), mu + rng.normal(size=300))
    >>> print(found.verdict)
    Overconfident and not to be trusted for threshold decisions: central intervals hold 30.2 % of
    the outcomes where they promise 50 %, on average over all levels; among the rows that a
    threshold decision picks out, the calibration error reaches 0.225.
    """
    check_dependencies()
    n_resamples, seed = check_n_resamples(n_resamples), as_seed(random_state)
    rows, there = read_rows(forecast, y, sample_weight)
    groups = group_labels(by, np.asarray(y))
    groups = None if groups is None else groups[there]
    with np.errstate(over="ignore"):  # squares of how many deviations an outcome is off
        found = find(rows, groups, n_resamples=n_resamples, seed=seed)
    heading = "Can these forecasts be trusted?" if title is None else printable(str(title))
    # A forecast is a function: what it says at some levels stands for it.
    columns = {"y": rows.y, "quantiles": rows.forecast.ppf(_FINGERPRINT_LEVELS[:, None])}
    if sample_weight is not None:
        columns["sample_weight"] = np.asarray(as_weights(sample_weight, np.size(y)))[there]
    if groups is not None:
        columns["by"] = groups
    done = _what_was_done(found, columns, date, n_resamples, seed)
    return Report(heading, found.evaluation.verdict.text, _page(found, heading, done, seed))


def _page(found: Findings, title: str, done: dict[str, str], seed: int) -> str:
    from calibrant.reporting.forecast_pictures import draw

    return render(
        "forecasts.html",
        {
            "title": title,
            "found": found,
            "pictures": draw(found, seed=seed),
            "panel": make_panel(found.stakes),
            "start": START,
            "done": done,
            "versions": provenance.versions(),
            "level": LEVEL,
            "most_groups": MOST_GROUPS,
            "facts": _facts(found.rows),
        },
    )


def _facts(rows: Rows) -> str:
    """Of what and how many."""
    n = len(rows.y)
    found = quantiles(rows.y, rows.weight, (0.05, 0.5, 0.95))
    low, middle, high = (minus(f"{value:.4g}") for value in found)
    return (
        f"{n:,} row{'s' if n != 1 else ''}; outcomes of {middle} in the middle, nine of ten from "
        f"{low} to {high}"
    )


def _what_was_done(
    found: Findings,
    columns: dict[str, NDArray[Any]],
    date: str | None,
    n_resamples: int,
    seed: int,
) -> dict[str, str]:
    rows, tce = found.rows, found.evaluation.threshold
    low, high = (minus(f"{tce.thresholds[k]:.4g}") for k in (0, -1))
    table = found.evaluation.decisions
    done = {} if date is None else {"Date": str(date)}
    done |= {
        "Rows": f"{len(rows.y):,}" + (" of positive weight" if rows.weight is not None else ""),
        "Forecasts": type(rows.forecast).__name__,
        "Intervals": f"95 %, percentile bootstrap, {n_resamples:,} resamples of rows",
        "Test": "Kolmogorov's, of uniform PITs",
        "Threshold calibration": f"{len(tce.thresholds)} thresholds from {low} to {high}, "
        f"{len(tce.levels)} levels, groups of at least {tce.min_group_size:g} rows",
        "Decision makers": f"{len(table.thresholds)} thresholds, {len(table.cost_ratios)} cost "
        f"ratios, {len(table.levels)} rules; the two errors cost {table.total:g} together",
    }
    if found.repair is not None:
        done["Recalibration"] = (
            f"ThresholdRecalibration, {found.repair.recalibration.n_iter_} layers by "
            f"cross-validation on {found.repair.n_fitted:,} rows"
        )
    if rows.weight is not None:
        done["Weights"] = f"of importance, as if of {rows.size:,.1f} rows (Kish's effective number)"
    if found.groups:
        done["Groups"] = f"{len(found.groups)}; p-values with Holm's correction"
    fingerprint = provenance.fingerprint(columns)
    names = ", ".join(columns).replace("quantiles", "quantiles at 0.05, 0.1, ..., 0.95")
    return done | {"Seed": str(seed), f"SHA-256 of {names}": fingerprint}
