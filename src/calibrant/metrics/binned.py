"""Calibration measured in bins: the reliability table, and ECE, MCE and ACE read from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.binning import bin_edges as make_edges
from calibrant.frames import is_call_on_frame
from calibrant.inputs import Predictions, check_predictions
from calibrant.metrics.counting import count_bins
from calibrant.metrics.table import ReliabilityTable

Edges = tuple[NDArray[np.float64], ...]

_KINDS = ("classwise", "confidence")


def reliability_table(
    y_true: Any,
    y_prob: Any = None,
    *,
    n_bins: int = 10,
    kind: str = "classwise",
    strategy: str = "uniform",
    bin_edges: Any = None,
    labels: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    y: str | None = None,
    prob: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
) -> Any:
    """Count predictions in bins of [0, 1] and compare with what happened.

    Parameters
    ----------
    y_true : array-like of shape (n,), or a frame
        What happened: labels of any kind. Or a data frame or relation of Polars (lazy too),
        pandas, PyArrow, DuckDB, Dask or PySpark, whose columns `y` and `prob` name: its engine
        counts and sums, and no row leaves it.
    y_prob : array-like of shape (n,), (n, 2) or (n, K)
        Predicted probabilities: of the positive class, or of each class with rows summing to one.
        Not with a frame.
    n_bins : int, default=10
        Bins of each panel. Quantile bins are fewer where probabilities are tied.
    kind : {"classwise", "confidence"}, default="classwise"
        For K > 2 classes: a panel for each class against the rest, or one panel for the top
        label (the first one if tied), its probability and whether it happened. Two classes have
        one panel, that of the positive class, whatever the kind.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of about equally many rows (type-8 quantiles), in each panel.
    bin_edges : array-like, or sequence of one for each panel, optional
        The edges themselves, ascending from 0 to 1, in place of `n_bins` and `strategy`; one
        array serves all panels. Tables of data in pieces need the same edges to merge:
        ``bin_edges=first.edges``.
    labels : sequence of labels, optional
        The classes in the order of the columns, where that is not their sorted order or where
        a class does not occur in `y_true`.
    pos_label : label, optional
        The positive class of two, where they are not 0/1 or bool.
    sample_weight : array-like of shape (n,), or column name, optional
        Weights; an integer weight means the same as repeating the row.
    y : str, optional
        With a frame: its column of outcomes.
    prob : str or sequence of str, optional
        With a frame: its column of probabilities, or its column for each class.
    by : str or sequence of str, optional
        With a frame: columns of groups, each of which is counted on its own. Null is a group.

    Returns
    -------
    ReliabilityTable
        With `by`: a dict with the table of each group, by its value (a tuple of values if `by`
        names several columns).

    Raises
    ------
    ValueError
        If an argument is not of the described kind; the message says where and what to do.

    Notes
    -----
    A bin holds its lower edge but not its upper one; the last bin holds both. Equal-width edges
    are ``numpy.linspace(0, 1, n_bins + 1)``. The sums are exact, so neither the order of the rows
    nor the number of threads changes a bit of the table.

    Time O(nK) for uniform bins, O(nK log n) for quantile bins; memory O(K * n_bins), and one
    sorted column for quantile bins.

    On a frame: one aggregation, in which bad rows are found too, and one more for the distinct
    labels unless `labels` or a column of 0/1 tells them. Counts are those of the arrays, sums agree
    to 1e-10 of their size (engines add doubles in an order of their own). Classwise tables read
    each column of `prob` in a query of its own, whose results are united. Quantile bins are exact,
    after two or three more aggregations for each group and panel; `sample_weight` must then be
    whole numbers.

    Examples
    --------
    >>> from calibrant import reliability_table
    >>> first = reliability_table([0, 1, 1], [0.1, 0.4, 0.8], n_bins=2)
    >>> second = reliability_table([1, 1], [0.7, 0.9], n_bins=2)
    >>> first.merge(second)
    ReliabilityTable: binary, 5 rows, 2 uniform bins, ECE 0.22
    lower  upper  count  mean_prob  observed      gap
        0    0.5      2     0.2500    0.5000  +0.2500
      0.5      1      3     0.8000    1.0000  +0.2000

    The same from a frame, for each country:

    >>> import polars as pl
    >>> frame = pl.LazyFrame({
    ...     "won": [0, 1, 1, 1, 1], "p": [0.1, 0.4, 0.8, 0.7, 0.9], "to": list("abbab")
    ... })
    >>> by_country = reliability_table(frame, y="won", prob="p", by="to", n_bins=2)
    >>> by_country["b"].count
    array([1, 2])
    """
    if kind not in _KINDS:
        raise ValueError(f"kind must be 'classwise' or 'confidence', got {kind!r}.")
    if is_call_on_frame(y_true, y_prob, y=y, prob=prob, by=by):
        from calibrant.engines.tables import frame_tables

        tables = frame_tables(
            y_true,
            y=y,
            prob=prob,
            by=by,
            n_bins=n_bins,
            kind=kind,
            strategy=strategy,
            given=None if bin_edges is None else partial(_given_edges, bin_edges),
            labels=labels,
            pos_label=pos_label,
            sample_weight=sample_weight,
        )
        return tables if by else tables[()]
    data = check_predictions(
        y_true, y_prob, labels=labels, pos_label=pos_label, sample_weight=sample_weight
    )
    panels = "binary" if data.binary else kind
    n_panels = len(data.classes) if panels == "classwise" else 1
    if bin_edges is not None:
        edges, strategy = _given_edges(bin_edges, n_panels), "given"
    elif strategy == "quantile":
        edges = _quantile_edges(data, panels, n_bins)
    else:
        edges = (make_edges(data.prob, n_bins, strategy),) * n_panels
    count, sums = count_bins(data, panels, edges)
    return ReliabilityTable(panels, strategy, data.classes.copy(), edges, count, sums)


def ece(
    y_true: Any,
    y_prob: Any = None,
    *,
    n_bins: int = 10,
    kind: str = "classwise",
    strategy: str = "uniform",
    norm: str = "l1",
    debiased: bool = False,
    labels: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    y: str | None = None,
    prob: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
) -> Any:
    r"""Expected calibration error: the mean gap between prediction and frequency over bins.

    .. math:: \operatorname{ECE} = \sum_{b} \frac{W_b}{W}
              \left|\operatorname{acc}(b) - \operatorname{conf}(b)\right|

    where bin b holds predictions of total weight :math:`W_b` out of W, conf(b) is their mean and
    acc(b) the observed frequency. Multiclass: the mean over classes of each class against the
    rest, or the error of the top label.

    Parameters
    ----------
    y_true, y_prob, n_bins, kind, strategy, labels, pos_label, sample_weight, y, prob, by
        As in `reliability_table`, frames too.
    norm : {"l1", "l2"}, default="l1"
        "l2" gives the *squared* error, the mean of the squared gaps.
    debiased : bool, default=False
        With ``norm="l2"``: subtract from the squared gap of each bin what chance adds to it,
        :math:`\operatorname{acc}(b)(1 - \operatorname{acc}(b)) / (W_b - 1)`. Bins of one row (of
        weight up to 1) are left out, since nothing tells their share of chance. The estimate may
        be negative.

    Returns
    -------
    float
        With `by`: a dict of them, by group.
        Zero if prediction and frequency agree in every bin, at most 1. It depends on the bins, and
        chance alone makes it positive; see `debiased`.

    Raises
    ------
    ValueError
        If an argument is not of the described kind, or `debiased` is asked for with the l1 norm.

    Notes
    -----
    Time O(nK), memory O(K * n_bins) beyond the input; quantile bins as in `reliability_table`.

    In simulations of calibrated forecasts of two classes, ten bins, the mean of the plain error was
    0.18 at 30, 0.10 at 100 and 0.03 at 1,000 rows, where the truth is 0; that of the debiased
    squared error was 0 within 0.0002 at all three.

    References
    ----------
    Guo, C., Pleiss, G., Sun, Y., & Weinberger, K. Q. (2017). On calibration of modern neural
    networks. ICML 34.

    Kumar, A., Liang, P., & Ma, T. (2019). Verified uncertainty calibration. NeurIPS 32. (debiased)

    Examples
    --------
    >>> from calibrant import ece
    >>> round(ece([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], n_bins=2), 12)
    0.15
    """
    table = reliability_table(
        y_true,
        y_prob,
        n_bins=n_bins,
        kind=kind,
        strategy=strategy,
        labels=labels,
        pos_label=pos_label,
        sample_weight=sample_weight,
        y=y,
        prob=prob,
        by=by,
    )
    return _of_each(table, lambda one: one.ece(norm=norm, debiased=debiased))


def mce(
    y_true: Any,
    y_prob: Any = None,
    *,
    n_bins: int = 10,
    kind: str = "classwise",
    strategy: str = "uniform",
    labels: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    y: str | None = None,
    prob: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
) -> Any:
    r"""Maximum calibration error: the largest gap between prediction and frequency in any bin.

    .. math:: \operatorname{MCE} = \max_{b: W_b > 0}
              \left|\operatorname{acc}(b) - \operatorname{conf}(b)\right|

    Multiclass: the largest over classes of each class against the rest, or that of the top label.

    Parameters
    ----------
    y_true, y_prob, n_bins, kind, strategy, labels, pos_label, sample_weight, y, prob, by
        As in `reliability_table`, frames too.

    Returns
    -------
    float
        With `by`: a dict of them, by group. In [0, 1]. One bin with few rows can decide it.

    Raises
    ------
    ValueError
        If an argument is not of the described kind.

    Notes
    -----
    Time O(nK), memory O(K * n_bins) beyond the input; quantile bins as in `reliability_table`.

    References
    ----------
    Guo, C., Pleiss, G., Sun, Y., & Weinberger, K. Q. (2017). On calibration of modern neural
    networks. ICML 34.

    Examples
    --------
    >>> from calibrant import mce
    >>> round(mce([0, 0, 1, 1], [0.1, 0.4, 0.8, 0.9], n_bins=2), 12)
    0.25
    """
    table = reliability_table(
        y_true,
        y_prob,
        n_bins=n_bins,
        kind=kind,
        strategy=strategy,
        labels=labels,
        pos_label=pos_label,
        sample_weight=sample_weight,
        y=y,
        prob=prob,
        by=by,
    )
    return _of_each(table, lambda one: one.mce())


def ace(
    y_true: Any,
    y_prob: Any = None,
    *,
    n_bins: int = 10,
    kind: str = "classwise",
    strategy: str = "uniform",
    labels: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    y: str | None = None,
    prob: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
) -> Any:
    r"""Average calibration error: the mean gap over non-empty bins, each counting the same.

    .. math:: \operatorname{ACE} = \frac{1}{M} \sum_{b: W_b > 0}
              \left|\operatorname{acc}(b) - \operatorname{conf}(b)\right|

    with M non-empty bins. Multiclass: the mean over classes of each class against the rest, or the
    error of the top label.

    Parameters
    ----------
    y_true, y_prob, n_bins, kind, strategy, labels, pos_label, sample_weight, y, prob, by
        As in `reliability_table`, frames too.

    Returns
    -------
    float
        With `by`: a dict of them, by group. In [0, 1]. Sparse bins weigh as much as full ones.

    Raises
    ------
    ValueError
        If an argument is not of the described kind.

    Notes
    -----
    Time O(nK), memory O(K * n_bins) beyond the input; quantile bins as in `reliability_table`.

    References
    ----------
    Niculescu-Mizil, A., & Caruana, R. (2005). Predicting good probabilities with supervised
    learning. ICML 22.

    Examples
    --------
    >>> from calibrant import ace
    >>> round(ace([0, 0, 1, 1], [0.1, 0.4, 0.8, 0.9], n_bins=2), 12)
    0.2
    """
    table = reliability_table(
        y_true,
        y_prob,
        n_bins=n_bins,
        kind=kind,
        strategy=strategy,
        labels=labels,
        pos_label=pos_label,
        sample_weight=sample_weight,
        y=y,
        prob=prob,
        by=by,
    )
    return _of_each(table, lambda one: one.ace())


def _of_each(table: Any, measure: Callable[[ReliabilityTable], float]) -> Any:
    """The measure of a table, or those of the tables of groups."""
    if isinstance(table, ReliabilityTable):
        return measure(table)
    return {group: measure(one) for group, one in table.items()}


def _quantile_edges(data: Predictions, panels: str, n_bins: int) -> Edges:
    if data.binary:
        columns = [data.prob]
    elif panels == "confidence":
        columns = [data.prob.max(axis=1)]
    else:
        columns = list(data.prob.T)
    return tuple(make_edges(column, n_bins, "quantile", data.weight) for column in columns)


def _given_edges(bin_edges: Any, n_panels: int) -> Edges:
    """The caller's edges, an array for each panel."""
    try:
        shared = np.ndim(bin_edges[0]) == 0
        given = [bin_edges] * n_panels if shared else bin_edges
        edges = tuple(np.array(panel, dtype=np.float64) for panel in given)
    except (TypeError, ValueError, LookupError) as error:
        raise ValueError(f"bin_edges cannot be read as arrays of numbers: {error}") from error
    if len(edges) != n_panels:
        raise ValueError(
            f"bin_edges has {len(edges)} arrays for {n_panels} panels: one each is due."
        )
    for panel in edges:
        ascending = panel.ndim == 1 and len(panel) > 1 and bool((np.diff(panel) > 0).all())
        if not ascending or panel[0] != 0.0 or panel[-1] != 1.0:
            raise ValueError(
                "bin_edges must ascend strictly from 0 to 1, got "
                f"{np.array2string(panel, threshold=8)}."
            )
    return edges
