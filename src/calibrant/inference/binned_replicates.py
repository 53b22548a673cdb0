"""Binned calibration errors of bootstrap resamples, from the sums of their bins."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.binning import bin_edges
from calibrant.inference.resamples import Floats, Resamples
from calibrant.inputs import Predictions

Metric = Callable[[Floats, Floats, Floats], Floats]
"""Of the sums of w, w p and w y, (panels, bins, R) each."""


def binned_replicates(
    metric: str, data: Predictions, options: dict[str, Any], resamples: Resamples
) -> Floats:
    """`metric` is "ece", "mce" or "ace", `options` all of its options but those of `data`."""
    error = {"mce": _mce, "ace": _ace}.get(metric)
    if error is None:
        error = partial(_ece, norm=options["norm"], debiased=options["debiased"])
    columns = data.prob[:, np.newaxis] if data.binary else data.prob
    target, codes = data.target, np.arange(columns.shape[1])
    if data.binary:
        codes = np.array([1])
    elif options["kind"] == "confidence":
        top = columns.argmax(axis=1)
        columns, target, codes = columns.max(axis=1)[:, np.newaxis], top == target, np.array([1])
    run = _quantile if options["strategy"] == "quantile" else _uniform
    return run(error, columns, target, codes, data.weight, options["n_bins"], resamples)


def _uniform(
    error: Metric,
    columns: NDArray[Any],
    target: NDArray[Any],
    codes: NDArray[Any],
    weight: Floats | None,
    n_bins: int,
    resamples: Resamples,
) -> Floats:
    """The same bins in all resamples."""
    from calibrant.kernels import bins, resampling

    n_panels = len(codes)
    edges = bin_edges(columns[:, 0], n_bins, "uniform")
    grid = bins.bin_grid((edges,) * n_panels)
    lower = np.tile(edges[:-1], n_panels)

    def statistic(replicates: slice) -> Floats:
        sums = np.zeros((len(lower), 2, 2, resampling.N_ABREAST))
        for rows, m in resamples.blocks(replicates):
            resampling.add_binned_rows(
                columns, target, weight, codes, lower, grid, rows.start, m, sums
            )
        return _of_sums(error, sums.reshape(n_panels, n_bins, 2, 2, -1))

    return resamples.evaluate(statistic, resampling.N_ABREAST)


def _quantile(
    error: Metric,
    columns: NDArray[Any],
    target: NDArray[Any],
    codes: NDArray[Any],
    weight: Floats | None,
    n_bins: int,
    resamples: Resamples,
) -> Floats:
    """Bins of equally many rows of the resample, found in the sorted columns."""
    from calibrant.kernels import resampling

    panels = []
    for column, code in zip(columns.T, codes, strict=True):
        order = np.argsort(column, kind="stable")
        hit = (target[order] == code).view(np.uint8)
        own = None if weight is None else weight[order]
        panels.append((order, column[order].astype(np.float64, copy=False), hit, own))

    def statistic(replicates: slice) -> Floats:
        m = resamples.multiplicities(replicates)[:, 0]
        # Fewer bins where quantiles coincide: the last ones stay empty.
        sums = np.zeros((len(panels), n_bins, 2, 2))
        for (order, column, hit, own), bins in zip(panels, sums, strict=True):
            counts = m[order].astype(np.float64)
            if own is not None:
                counts *= own
            edges = _quantile_edges(column, counts, n_bins)
            inner = np.searchsorted(column, edges[1:-1])
            starts = np.concatenate([[0], inner, [len(column)]])
            resampling.add_runs(column, hit, counts, starts, bins)
        return _of_sums(error, sums[..., np.newaxis])

    return resamples.evaluate(statistic, 1)


def _quantile_edges(column: NDArray[Any], counts: Floats, n_bins: int) -> Floats:
    """Those of `bin_edges` for an ascending column."""
    last = np.cumsum(counts)
    n = last[-1]
    if not np.array_equal(counts, np.floor(counts)):
        return bin_edges(column, n_bins, "quantile", counts)
    # Of rows counted in whole numbers, only the few around each quantile matter: let the first of
    # them stand for all before it.
    position = np.floor(n * np.arange(n_bins + 1) / n_bins)
    near = np.clip(np.add.outer([-1, 0, 1, 2, 3], position), 1, n)
    rows = np.unique(np.searchsorted(last, near))
    return bin_edges(column[rows], n_bins, "quantile", np.diff(last[rows], prepend=0.0))


def _of_sums(error: Metric, sums: Floats) -> Floats:
    """The error from sums (panels, bins, 2, 2, R): by outcome, of w and w p."""
    both = sums.sum(axis=2)
    return error(both[:, :, 0], both[:, :, 1], sums[:, :, 1, 0])


def _ece(weight: Floats, prob: Floats, true: Floats, *, norm: str, debiased: bool) -> Floats:
    gap = _gap(weight, prob, true)
    terms = gap if norm == "l1" else gap**2
    if debiased:
        several = weight > 1
        observed = true[several] / weight[several]
        terms[several] -= observed * (1 - observed) / (weight[several] - 1)
        terms[~several] = 0.0
    share = weight / weight.sum(axis=1, keepdims=True)
    return np.asarray((share * terms).sum(axis=1).mean(axis=0))


def _mce(weight: Floats, prob: Floats, true: Floats) -> Floats:
    return np.asarray(_gap(weight, prob, true).max(axis=(0, 1)))


def _ace(weight: Floats, prob: Floats, true: Floats) -> Floats:
    filled = (weight > 0).sum(axis=1)
    return np.asarray((_gap(weight, prob, true).sum(axis=1) / filled).mean(axis=0))


def _gap(weight: Floats, prob: Floats, true: Floats) -> Floats:
    """Absolute gaps, 0 in empty bins."""
    return np.abs(np.divide(true - prob, weight, out=np.zeros_like(weight), where=weight > 0))
