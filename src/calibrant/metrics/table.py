"""The reliability table: per bin, how often it was predicted, what was predicted, what happened."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant import frames, saving
from calibrant.metrics import showing
from calibrant.metrics.checking import check_table
from calibrant.metrics.exact import LIMIT, ExactSums, from_doubles, to_double, to_doubles

FloatVector = NDArray[np.float64]


@saving.saveable
@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityTable:
    """Predictions counted and summed per bin: what every binned metric is computed from.

    Made by `reliability_table`. The table has one or more panels, each with its own bins: one
    for a binary forecast and for the top label of a multiclass one, one for each class if
    `kind` is "classwise". The arrays below have one entry for each bin, panel after panel. No
    row of the data is kept.

    The sums are exact whatever the order of the rows, so that merged tables of pieces of the
    data equal the table of the whole, to the last bit.

    Attributes
    ----------
    kind : {"binary", "classwise", "confidence"}
        What the panels are.
    strategy : {"uniform", "quantile", "given"}
        How the bins were made.
    classes : numpy.ndarray of shape (K,)
        The labels in the order of the columns; for a binary table the positive one is last.
    edges : tuple of numpy.ndarray
        For each panel the edges of its bins, from 0 to 1.
    count : numpy.ndarray of int64
        Rows in the bin (rows of weight zero left out).
    panel : numpy.ndarray of intp
        The panel of the bin; in a classwise table the position of its class in `classes`.
    lower, upper : numpy.ndarray of float64
        Edges of the bin. It holds its lower edge; the last bin of a panel holds both.
    weight : numpy.ndarray of float64
        Sum of the weights w of the rows in the bin; equal to `count` without weights.
    sum_prob, sum_true : numpy.ndarray of float64
        Sums of w * p and of w * y, where p is what was predicted and y is 1 where it happened.
    mean_prob, observed : numpy.ndarray of float64
        Mean prediction and observed frequency; nan in empty bins.
    gap : numpy.ndarray of float64
        ``observed - mean_prob``.

    Examples
    --------
    >>> from calibrant import reliability_table
    >>> table = reliability_table([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], n_bins=2)
    >>> table
    ReliabilityTable: binary, 4 rows, 2 uniform bins, ECE 0.15
    lower  upper  count  mean_prob  observed      gap
        0    0.5      2     0.1500    0.0000  -0.1500
      0.5      1      2     0.8500    1.0000  +0.1500
    >>> table.merge(table).count
    array([4, 4])
    """

    kind: str
    strategy: str
    classes: NDArray[Any]
    edges: tuple[FloatVector, ...]
    count: NDArray[np.int64]
    _sums: ExactSums

    def __post_init__(self) -> None:
        n_bins = sum(len(panel) - 1 for panel in self.edges)
        if any(len(column) != n_bins for column in (self.count, *self._sums)):
            raise ValueError(
                f"the columns of a table with {n_bins} bins must have {n_bins} entries."
            )
        if sum(self._sums.weight) >= LIMIT:
            raise ValueError(
                "sample_weight adds up to more than a float64 can hold: divide the weights."
            )
        for array in (self.classes, self.count, *self.edges):
            array.setflags(write=False)

    # ---------------------------------------------------------------- columns

    @cached_property
    def panel(self) -> NDArray[np.intp]:
        return np.repeat(np.arange(len(self.edges)), [len(panel) - 1 for panel in self.edges])

    @cached_property
    def lower(self) -> FloatVector:
        return np.concatenate([panel[:-1] for panel in self.edges])

    @cached_property
    def upper(self) -> FloatVector:
        return np.concatenate([panel[1:] for panel in self.edges])

    @cached_property
    def weight(self) -> FloatVector:
        return np.array([to_double(weight) for weight in self._sums.weight])

    @cached_property
    def sum_prob(self) -> FloatVector:
        return np.array([to_double(prob) for prob in self._sums.prob])

    @cached_property
    def sum_true(self) -> FloatVector:
        return np.array([to_double(true) for true in self._sums.true])

    @cached_property
    def mean_prob(self) -> FloatVector:
        return _ratios(self._sums.prob, self._sums.weight)

    @cached_property
    def observed(self) -> FloatVector:
        return _ratios(self._sums.true, self._sums.weight)

    @cached_property
    def gap(self) -> FloatVector:
        return self.observed - self.mean_prob

    # ---------------------------------------------------------------- metrics

    def ece(self, *, norm: str = "l1", debiased: bool = False) -> float:
        """Expected calibration error; see `calibrant.ece`.

        Parameters
        ----------
        norm : {"l1", "l2"}, default="l1"
            Mean absolute or mean *squared* gap.
        debiased : bool, default=False
            Subtract what chance alone adds to the squared gap; needs ``norm="l2"``.

        Returns
        -------
        float
            Mean over panels. Not negative, unless `debiased`.

        Raises
        ------
        ValueError
            If `norm` is neither option, or `debiased` is asked for with ``norm="l1"``.
        """
        if norm not in ("l1", "l2"):
            raise ValueError(f"norm must be 'l1' or 'l2', got {norm!r}.")
        if debiased and norm == "l1":
            raise ValueError("debiased=True is defined for squared gaps: pass norm='l2' with it.")
        gap = np.nan_to_num(self.gap)
        terms = np.abs(gap) if norm == "l1" else gap**2
        if debiased:
            # A bin of one row says nothing of its variance: it is left out, not left uncorrected.
            several = self.weight > 1
            observed = self.observed[several]
            terms[several] -= observed * (1 - observed) / (self.weight[several] - 1)
            terms[~several] = 0.0
        total = self._panel_sums(self.weight)
        return float(np.mean(self._panel_sums(self.weight / total[self.panel] * terms)))

    def mce(self) -> float:
        """Maximum calibration error: the largest absolute gap; see `calibrant.mce`."""
        return float(np.nanmax(np.abs(self.gap)))

    def ace(self) -> float:
        """Average calibration error: mean absolute gap of non-empty bins; see `calibrant.ace`."""
        n_filled = self._panel_sums(self.count > 0)
        return float(np.mean(self._panel_sums(np.abs(np.nan_to_num(self.gap))) / n_filled))

    def _panel_sums(self, values: NDArray[Any]) -> FloatVector:
        return np.asarray(np.bincount(self.panel, weights=values), dtype=np.float64)

    # ---------------------------------------------------------------- tables of tables

    def merge(self, other: ReliabilityTable) -> ReliabilityTable:
        """The table of both data sets together, exactly.

        Parameters
        ----------
        other : ReliabilityTable
            The table of other rows, with the same kind, classes and edges.

        Returns
        -------
        ReliabilityTable
            Its `strategy` is "given" where those of the two differ.

        Raises
        ------
        ValueError
            If the tables differ in kind, classes or edges.
        """
        if self.kind != other.kind:
            raise ValueError(f"cannot merge tables of kind {self.kind!r} and {other.kind!r}.")
        if self.classes.tolist() != other.classes.tolist():
            raise ValueError(
                f"cannot merge tables of the classes {self.classes.tolist()} and "
                f"{other.classes.tolist()}: make both with the same labels=."
            )
        for mine, theirs in zip(self.edges, other.edges, strict=True):
            if not np.array_equal(mine, theirs):
                raise ValueError(
                    f"cannot merge tables with different bins ({_first_difference(mine, theirs)}): "
                    "make one of them with bin_edges= the edges of the other."
                )
        return replace(
            self,
            strategy=self.strategy if self.strategy == other.strategy else "given",
            count=self.count + other.count,
            _sums=self._sums.plus(other._sums),
        )

    def by_class(self) -> dict[Any, ReliabilityTable]:
        """A classwise table taken apart: for each class the table of its panel alone.

        Raises
        ------
        ValueError
            If the table is not classwise.
        """
        if self.kind != "classwise":
            raise ValueError(f"a table of kind {self.kind!r} has no panel for each class.")
        tables = {}
        for k, label in enumerate(self.classes.tolist()):
            bins = slice(*np.searchsorted(self.panel, [k, k + 1]))
            tables[label] = replace(
                self,
                classes=self.classes[k : k + 1],
                edges=self.edges[k : k + 1],
                count=self.count[bins],
                _sums=ExactSums(*(column[bins] for column in self._sums)),
            )
        return tables

    def __eq__(self, other: object) -> bool:
        """Whether kind, strategy, classes, edges, counts and sums are the same, exactly."""
        if not isinstance(other, ReliabilityTable):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    # ---------------------------------------------------------------- in and out

    def to_dict(self) -> dict[str, Any]:
        """What the table holds as JSON-able values; sums as the doubles that add up to them."""
        weight, prob, true = ([to_doubles(sum_) for sum_ in column] for column in self._sums)
        return {
            "kind": self.kind,
            "strategy": self.strategy,
            "classes": self.classes.tolist(),
            "edges": [panel.tolist() for panel in self.edges],
            "count": self.count.tolist(),
            "sum_weight": weight,
            "sum_prob": prob,
            "sum_true": true,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """The table that `to_dict` described."""
        sums = (content[name] for name in ("sum_weight", "sum_prob", "sum_true"))
        table = cls(
            kind=content["kind"],
            strategy=content["strategy"],
            classes=np.array(content["classes"]),
            edges=tuple(np.array(panel, dtype=np.float64) for panel in content["edges"]),
            count=np.array(content["count"], dtype=np.int64),
            _sums=ExactSums(*(tuple(map(from_doubles, column)) for column in sums)),
        )
        check_table(table)
        return table

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the table to a JSON file that `calibrant.load` reads.

        Parameters
        ----------
        path : path-like
            Where to write; the file is complete or not there at all.
        overwrite : bool, default=False
            Whether an existing file may be replaced.

        Raises
        ------
        FileExistsError
            If the file exists and `overwrite` is false.
        """
        saving.save(self, path, overwrite=overwrite)

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """The table as a data frame with a row for each bin.

        Parameters
        ----------
        backend : {"polars", "pandas", "pyarrow"}, optional
            Whose data frame. Default: the first of them that is imported already, else the first
            that is installed.

        Returns
        -------
        polars.DataFrame, pandas.DataFrame or pyarrow.Table
            The columns lower, upper, count, weight, mean_prob, observed and gap, with the label
            of the class before them in a classwise table. Empty bins have nan.

        Raises
        ------
        ValueError
            If `backend` is none of the options.
        ImportError
            If the package is not installed.
        """
        return showing.as_frame(self, backend)

    def __repr__(self) -> str:
        return showing.as_text(self)


def _ratios(sums: tuple[int, ...], weights: tuple[int, ...]) -> FloatVector:
    """Correctly rounded quotients, nan where the weight is zero."""
    pairs = zip(sums, weights, strict=True)
    return np.array([s / w if w else np.nan for s, w in pairs], dtype=np.float64)


def _first_difference(a: FloatVector, b: FloatVector) -> str:
    if len(a) != len(b):
        return f"{len(a) - 1} bins against {len(b) - 1}"
    at = int((a != b).argmax())
    return f"edge {at} is {float(a[at])!r} against {float(b[at])!r}"
