"""What every calibrator does with data frames, by the engines that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, cast

if TYPE_CHECKING:
    from calibrant.calibrators.base import Calibrator


class FrameMethods:
    """Part of `Calibrator`: fitting and applying where the data are, and the map as SQL."""

    def fit_frame(
        self,
        frame: Any,
        *,
        y: str,
        prob: str | Sequence[str],
        sample_weight: str | None = None,
        labels: Any = None,
        pos_label: Any = None,
    ) -> Self:
        """Fit to the columns of a data frame, by sums that the engine which holds it computes.

        For Platt, beta, temperature and vector scaling, histogram binning, isotonic calibration,
        and `OneVsRest` of those.

        Parameters
        ----------
        frame : data frame or lazy frame
            Of Polars, pandas, PyArrow, DuckDB, Dask, PySpark or another engine that narwhals knows.
        y : str
            The column of labels.
        prob : str or sequence of str
            The column of scores or probabilities of the event; or those of all classes, in their
            order.
        sample_weight : str, optional
            The column of weights.
        labels : sequence of labels, optional
            As in `fit`. Without it, one pass more finds the labels.
        pos_label : label, optional
            In place of `labels`: the one of two labels that is predicted, by default the second.

        Returns
        -------
        self
            The fitted calibrator, as `fit` to the same columns gives it: predictions agree to 1e-8.

        Raises
        ------
        ValueError
            If a column is not of the described kind, or the calibrator cannot be fitted by sums.

        Notes
        -----
        One pass checks the rows; Platt scaling then takes some 6 to 9 passes, beta calibration
        some 12 and temperature scaling 10, vector scaling some three more than Newton's steps, of
        O(K^2) sums each, histogram binning 1 (quantile bins: 3 more, whole-number weights only).
        Isotonic calibration collects probabilities and classes: all of them up to 8 million rows,
        else range by range, as many rows at a time.

        Examples
        --------
        >>> import pandas as pd
        >>> from calibrant import PlattScaling
        >>> frame = pd.DataFrame({"s": [-2.0, -1.0, -0.5, 0.5, 1.0, 3.0], "y": [0, 0, 1, 0, 1, 1]})
        >>> round(PlattScaling().fit_frame(frame, y="y", prob="s").slope_, 4)
        0.5308
        """
        from calibrant.engines.fits import fit_calibrator

        fit_calibrator(cast("Calibrator", self), frame, y, prob, sample_weight, labels, pos_label)
        return self

    def transform_frame(
        self,
        frame: Any,
        *,
        prob: str | Sequence[str],
        name: str | Sequence[str] | None = None,
    ) -> Any:
        """A data frame with calibrated columns, computed by the engine that holds the data.

        Parameters
        ----------
        frame : data frame or lazy frame
            Of Polars, pandas, PyArrow, DuckDB, Dask, PySpark or another engine that narwhals knows.
        prob : str or sequence of str
            The column of scores or probabilities, where the calibrator was fitted on shape (n,);
            else the columns, in the order of ``classes_``.
        name : str or sequence of str, optional
            What the new columns are called; by default as the old ones, with "_calibrated".

        Returns
        -------
        data frame or lazy frame
            Of the kind that was given, with the new columns last. Lazy stays lazy. The numbers are
            those of `predict_proba`, to about 1e-12 of their size (below 1e-300: to 1e-300). Rows
            that `predict_proba` would refuse (missing, NaN, outside of [0, 1], not summing to one)
            get NULL.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If `fit` was not called.
        ValueError
            If a column is not there or a new one is, if the columns do not fit the calibrator, or
            if its map has no formula.

        Notes
        -----
        Isotonic and histogram maps of many pieces are looked up by binary search, in engines that
        run Python (Polars, pandas, PyArrow, Dask); others get a balanced tree of CASE.

        Examples
        --------
        >>> import pandas as pd
        >>> from calibrant import HistogramBinning
        >>> histogram = HistogramBinning(n_bins=2).fit([0.1, 0.2, 0.6, 0.7], [0, 1, 0, 1])
        >>> histogram.transform_frame(pd.DataFrame({"p": [0.4, 0.5]}), prob="p")
             p  p_calibrated
        0  0.4           0.5
        1  0.5           0.5
        """
        from calibrant.engines.applying import add_calibrated

        return add_calibrated(cast("Calibrator", self), frame, prob, name)

    def to_sql(
        self,
        columns: str | Sequence[str],
        *,
        dialect: Literal["duckdb", "postgres", "spark", "bigquery"] = "duckdb",
    ) -> Any:
        """The calibration map as an SQL expression.

        Parameters
        ----------
        columns : str or sequence of str
            The name of the column of scores or probabilities, where the calibrator was fitted on
            shape (n,); else the names of the columns, in the order of ``classes_``. Names are
            quoted.
        dialect : {"duckdb", "postgres", "spark", "bigquery"}, default="duckdb"
            How names and numbers are written.

        Returns
        -------
        str or list of str
            An expression for each column. Numbers and NULL as in `transform_frame`. With K classes
            the texts have O(K^2) terms in all, for Dirichlet calibration O(K^3).

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If `fit` was not called.
        ValueError
            If the columns do not fit the calibrator, `dialect` is none of the options, or the map
            has no formula.

        Examples
        --------
        >>> from calibrant import HistogramBinning
        >>> histogram = HistogramBinning(n_bins=2).fit([0.1, 0.2, 0.6, 0.7], [0, 1, 1, 1])
        >>> print(histogram.to_sql("p", dialect="spark"))
        CASE WHEN (CAST(`p` AS DOUBLE) - CAST(`p` AS DOUBLE)) BETWEEN 0.0e0D AND 0.0e0D
        AND CAST(`p` AS DOUBLE) BETWEEN 0.0e0D AND 1.0e0D THEN
        CASE WHEN CAST(`p` AS DOUBLE) < 0.5e0D THEN 0.5e0D ELSE 1.0e0D END END
        """
        from calibrant.engines.sql import sql_expressions

        return sql_expressions(cast("Calibrator", self), columns, dialect)
