"""Has the calibration changed? A test of two reliability tables against each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant import frames
from calibrant.inference.gap_differences import Bins, differences, pvalue, squares
from calibrant.inference.kernel_test import evidence
from calibrant.metrics.table import ReliabilityTable

FloatVector = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationDrift:
    """What `calibration_drift_test` found.

    The arrays have one entry for each bin of the tables, panel after panel.

    Attributes
    ----------
    statistic : float
        Sum of the squared standardised differences over the bins compared; of a classwise table
        that of the class with the smallest p-value.
    pvalue : float
        How often two tables of equal gaps would differ as much or more; of a classwise table the
        smallest p-value times the number of classes compared (Holm's first step).
    df : int
        Bins compared, which is what the statistic is on average without a drift where no bin is
        small.
    kind : {"binary", "classwise", "confidence"}
        Of the tables.
    n_reference, n_current : int
        Rows of each table.
    difference : numpy.ndarray of float64
        Gap of `current` minus gap of `reference`: above zero where events have become more
        frequent than predicted, or less far below; nan where one of the bins is empty.
    standard_error : numpy.ndarray of float64
        Of the difference, under the hypothesis; nan where the difference is.
    class_pvalues : dict or None
        For a classwise table the p-value of each class, adjusted by Holm's method.
    reference, current : ReliabilityTable
        What was compared.
    """

    statistic: float
    pvalue: float
    df: int
    difference: FloatVector
    standard_error: FloatVector
    class_pvalues: dict[Any, float] | None
    reference: ReliabilityTable
    current: ReliabilityTable

    @property
    def kind(self) -> str:
        return self.reference.kind

    @property
    def n_reference(self) -> int:
        return _n_rows(self.reference)

    @property
    def n_current(self) -> int:
        return _n_rows(self.current)

    @property
    def interpretation(self) -> str:
        """What the p-value means, in words."""
        sentence = f"{evidence(self.pvalue).capitalize()} of a change of calibration"
        if evidence(self.pvalue) == "no evidence":
            return f"{sentence}; that is no proof of none, more rows may show one."
        if self.class_pvalues is not None:
            label = min(self.class_pvalues, key=self.class_pvalues.__getitem__)
            return f"{sentence}, the strongest for class {label!r}."
        with np.errstate(divide="ignore", invalid="ignore"):  # bins of one row each
            z = np.nan_to_num(self.difference / self.standard_error)
        at = int(np.abs(z).argmax())
        return (
            f"{sentence}: gap {self.reference.gap[at]:+.4f} from {self.reference.lower[at]:.4g} to "
            f"{self.reference.upper[at]:.4g}, now {self.current.gap[at]:+.4f}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain values, nan as None, and `interpretation`."""
        names = ("statistic", "pvalue", "df", "kind", "n_reference", "n_current", "class_pvalues",
                 "interpretation")  # fmt: skip
        arrays = {
            name: [None if np.isnan(v) else v for v in getattr(self, name).tolist()]
            for name in ("difference", "standard_error")
        }
        return {name: getattr(self, name) for name in names} | arrays

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """The comparison as a data frame with a row for each bin.

        Parameters
        ----------
        backend : {"polars", "pandas", "pyarrow"}, optional
            Whose data frame. Default: the first of them that is imported already, else the first
            that is installed.

        Returns
        -------
        polars.DataFrame, pandas.DataFrame or pyarrow.Table
            The columns lower, upper, count_reference, count_current, gap_reference, gap_current,
            difference and standard_error, with the label of the class before them in a classwise
            table.
        """
        columns: dict[str, Any] = {}
        if self.kind == "classwise":
            columns["class"] = self.reference.classes[self.reference.panel]
        columns |= {"lower": self.reference.lower, "upper": self.reference.upper}
        for name in ("count", "gap"):
            columns[f"{name}_reference"] = getattr(self.reference, name)
            columns[f"{name}_current"] = getattr(self.current, name)
        columns |= {"difference": self.difference, "standard_error": self.standard_error}
        return frames.from_columns(columns, backend)

    def __repr__(self) -> str:
        compared = ~np.isnan(self.difference)
        both = self.reference.count + self.current.count
        share = both[compared].sum() / both.sum()
        return (
            f"Calibration drift test ({self.kind})\n"
            "  hypothesis: observed minus predicted is the same in both tables, bin by bin\n"
            f"  n = {self.n_reference} and {self.n_current}, {compared.sum()} of "
            f"{len(compared)} bins compared, with {100 * share:.4g} % of the rows\n"
            f"  chi-square = {self.statistic:.4g} of {self.df} bins, p-value = {self.pvalue:.4g}\n"
            f"{self.interpretation}"
        )


def calibration_drift_test(
    reference: ReliabilityTable, current: ReliabilityTable
) -> CalibrationDrift:
    r"""Test whether calibration differs between two tables: a reference and what came since.

    The hypothesis is that in each bin the gap, observed frequency minus mean prediction, is the
    same in both. It says nothing about whether either is calibrated, and predictions may be
    distributed over the bins differently.

    Parameters
    ----------
    reference, current : ReliabilityTable
        Tables of different, independent rows with the same kind, classes and bins, without
        weights.

    Returns
    -------
    CalibrationDrift

    Raises
    ------
    ValueError
        If the tables differ in kind, classes or bins, if one is weighted, or if no bin has rows
        of both.

    Notes
    -----
    In a bin with :math:`n_a` and :math:`n_b` rows, mean predictions :math:`\bar p_a` and
    :math:`\bar p_b` and observed frequencies :math:`o_a` and :math:`o_b` the hypothesis is that the
    event rates are :math:`q_a = \bar p_a + g` and :math:`q_b = \bar p_b + g` with one gap g: two
    rates that differ by the known :math:`\bar p_b - \bar p_a`. With the maximum likelihood g, the
    statistic is

    .. math:: X^2 = \sum_{\text{bins}} \frac{(o_b - \bar p_b - o_a + \bar p_a)^2}
              {q_a (1 - q_a) / n_a + q_b (1 - q_b) / n_b}.

    A bin that expects at least 20 events and 20 non-events in both tables adds a chi-square
    variable with one degree of freedom. For any other bin the distribution of its term is
    computed from the two binomial distributions at the estimated rates. So no bin has to be
    left out or pooled, nothing is random, and rare events do not raise false alarms.

    A table holds means only, so that the variances ignore how far rates spread within a bin. They
    are too large by that spread (at most a tenth for calibrated predictions in ten equal bins), and
    the test errs on the side of no alarm. Where the gap itself varies within a bin, a shift of the
    predictions within the bin is a change of its gap.

    The panels of a classwise table depend on each other: each is tested, and the p-values are
    adjusted by Holm's method, which holds under any dependence.

    A test that is repeated every day will raise false alarms in the long run: lower the level
    accordingly. Time O(J) for J bins that are not small, a few milliseconds for each other bin.

    Simulated false alarms and power are in the documentation, on the page about monitoring.

    References
    ----------
    Hosmer, D. W., & Lemeshow, S. (1980). Goodness of fit tests for the multiple logistic
    regression model. Communications in Statistics - Theory and Methods, 9(10), 1043-1069.

    Miettinen, O., & Nurminen, M. (1985). Comparative analysis of two rates. Statistics in
    Medicine, 4(2), 213-226. (rates that differ by a known amount)

    Storer, B. E., & Kim, C. (1990). Exact properties of some exact test statistics for comparing
    two binomial proportions. Journal of the American Statistical Association, 85(409), 146-155.
    (binomial distributions at the estimated rates)

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import calibration_drift_test, reliability_table
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=(2, 2000))
    >>> y = rng.uniform(size=(2, 2000)) < [p[0], p[1] ** 1.3]
    >>> before, after = (reliability_table(*rows, n_bins=5) for rows in zip(y, p))
    >>> calibration_drift_test(before, after)
    Calibration drift test (binary)
      hypothesis: observed minus predicted is the same in both tables, bin by bin
      n = 2000 and 2000, 5 of 5 bins compared, with 100 % of the rows
      chi-square = 41.98 of 5 bins, p-value = 5.941e-08
    Very strong evidence of a change of calibration: gap +0.0451 from 0.6 to 0.8, now -0.0963.
    """
    for name, table in (("reference", reference), ("current", current)):
        _check_unweighted(name, table)
    _check_same_bins(reference, current)
    filled = (reference.count > 0) & (current.count > 0)
    if not filled.any():
        raise ValueError(
            "no bin has rows of both reference and current: make both tables with wider bins."
        )
    bins = Bins(
        *(
            np.stack([getattr(reference, name)[filled], getattr(current, name)[filled]])
            for name in ("weight", "sum_true", "mean_prob")
        )
    )
    difference, variance = differences(bins)
    terms = squares(difference, variance)
    panel = reference.panel[filled]
    pvalues = {
        number: pvalue(bins.where(panel == number), terms[panel == number])
        for number in np.unique(panel).tolist()
    }
    adjusted = _holm(pvalues)
    first = min(pvalues, key=pvalues.__getitem__)
    labels = reference.classes.tolist()
    classwise = reference.kind == "classwise"
    return CalibrationDrift(
        statistic=float(terms[panel == first].sum()),
        pvalue=adjusted[first],
        df=int((panel == first).sum()),
        difference=_spread(difference, filled),
        standard_error=_spread(np.sqrt(variance), filled),
        class_pvalues={labels[k]: p for k, p in adjusted.items()} if classwise else None,
        reference=reference,
        current=current,
    )


def _check_unweighted(name: str, table: ReliabilityTable) -> None:
    if not isinstance(table, ReliabilityTable):
        raise ValueError(
            f"{name} must be a ReliabilityTable, got {type(table).__name__}: make it with "
            "reliability_table."
        )
    # Weights may add up to the number of rows, but hardly those of the events to whole numbers too.
    odd = (table.weight != table.count) | (table.sum_true != np.floor(table.sum_true))
    if odd.any():
        at = int(odd.argmax())
        raise ValueError(
            f"{name} is weighted: bin {at} has {table.count[at]} rows of weight "
            f"{table.weight[at]:.6g}. The variance of a weighted frequency cannot be told from a "
            "table: make it without sample_weight."
        )


def _check_same_bins(reference: ReliabilityTable, current: ReliabilityTable) -> None:
    try:
        reference.merge(current)
    except ValueError as error:
        message = str(error).replace("merge tables", "compare tables")
        raise ValueError(message) from None


def _holm(pvalues: dict[int, float]) -> dict[int, float]:
    """P-values of several panels, adjusted: each is multiplied by how many are not smaller."""
    adjusted: dict[int, float] = {}
    largest = 0.0
    for rank, number in enumerate(sorted(pvalues, key=pvalues.__getitem__)):
        largest = max(largest, min((len(pvalues) - rank) * pvalues[number], 1.0))
        adjusted[number] = largest
    return {number: adjusted[number] for number in pvalues}


def _spread(values: FloatVector, filled: NDArray[np.bool_]) -> FloatVector:
    """The values at the filled bins, nan at the others."""
    full = np.full(len(filled), np.nan)
    full[filled] = values
    return full


def _n_rows(table: ReliabilityTable) -> int:
    return int(table.count[table.panel == 0].sum())
