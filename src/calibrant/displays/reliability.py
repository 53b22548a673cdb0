"""Reliability diagrams: what happened against what was predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant.arguments import check_confidence_level
from calibrant.displays import bands, drawing
from calibrant.displays.reliability_axes import new_axes
from calibrant.displays.reliability_figure import check_scale, describe, tables_to_draw
from calibrant.displays.reliability_panel import Options, draw_panel, subtitle
from calibrant.metrics import ReliabilityTable, reliability_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ReliabilityDisplay:
    """Reliability diagram: the observed frequency in each bin against the mean prediction.

    Make it with `from_predictions`, `from_estimator` or `from_table`, which draw it too.
    Everything is read from the reliability table. Points above the diagonal happened more often
    than predicted. The line is broken at bins without predictions.

    Parameters
    ----------
    table : ReliabilityTable
        What is drawn.
    name : str, optional
        The model, for the legend.

    Attributes
    ----------
    table : ReliabilityTable
    name : str or None
    figure_ : matplotlib.figure.Figure
    ax_ : matplotlib.axes.Axes, or array of them
        One for each panel; several where a classwise table shows several classes. Pass it to
        the `plot` of another display to compare models.
    line_ : matplotlib.lines.Line2D, or list of them
        The points: ``line_.get_xydata()`` are `mean_prob` and `observed` of the bins.
    points_ : matplotlib.collections.PathCollection, or list of them, or None
        The points sized by counts, if they are.
    histogram_ax_ : matplotlib.axes.Axes, or list of them, or None
        The axes under the diagram, if there are.
    classes_ : list of labels
        The class of each panel; of a binary table the positive one; empty for the top label.

    References
    ----------
    Broecker, J., & Smith, L. A. (2007). Increasing the reliability of reliability diagrams.
    Weather and Forecasting, 22(3), 651-661.

    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference.
    J. Amer. Statist. Assoc., 22, 209-212.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.displays import ReliabilityDisplay
    >>> rng = np.random.default_rng(0)
    >>> prob = rng.random(500)
    >>> y = rng.random(500) < prob**2
    >>> display = ReliabilityDisplay.from_predictions(y, prob, n_bins=4, name="raw")
    >>> display.line_.get_xydata().round(2)
    array([[0.13, 0.04],
           [0.38, 0.15],
           [0.62, 0.35],
           [0.88, 0.82]])
    >>> better = ReliabilityDisplay.from_predictions(y, prob**2, name="squared", ax=display.ax_)
    """

    def __init__(self, table: ReliabilityTable, *, name: str | None = None) -> None:
        self.table = table
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        n_bins: int = 10,
        kind: str = "classwise",
        strategy: str = "uniform",
        labels: Any = None,
        pos_label: Any = None,
        sample_weight: Any = None,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw predictions with what happened.

        Parameters
        ----------
        y_true, y_prob, n_bins, kind, strategy, labels, pos_label, sample_weight
            As in `reliability_table`.
        name : str, optional
            The model, for the legend.
        ax, **options
            As in `plot`.

        Returns
        -------
        ReliabilityDisplay

        Raises
        ------
        ValueError
            As for `reliability_table` and `plot`.
        ImportError
            If matplotlib is not installed.

        Notes
        -----
        The cost is that of `reliability_table`; drawing depends on the number of bins only.
        """
        drawing.pyplot()
        table = reliability_table(
            y_true,
            y_prob,
            n_bins=n_bins,
            kind=kind,
            strategy=strategy,
            labels=labels,
            pos_label=pos_label,
            sample_weight=sample_weight,
        )
        return cls.from_table(table, name=name, ax=ax, **options)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, **options: Any
    ) -> Self:
        """Draw what a fitted classifier or calibrator predicts.

        Parameters
        ----------
        estimator : estimator with `predict_proba` and `classes_`
        X : array-like
            What the estimator takes.
        y : array-like of shape (n,)
            What happened.
        name : str, optional
            The model, for the legend; default the name of the estimator's class.
        **options
            As in `from_predictions`; the labels are the estimator's classes.

        Returns
        -------
        ReliabilityDisplay

        Raises
        ------
        ValueError
            If the estimator cannot predict probabilities, or as for `from_predictions`.
        """
        prob, labels, kind = drawing.predictions_of(estimator, X)
        options.setdefault("labels", labels)
        return cls.from_predictions(y, prob, name=kind if name is None else name, **options)

    @classmethod
    def from_table(
        cls, table: ReliabilityTable, *, name: str | None = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw a reliability table, merged from pieces perhaps.

        Parameters
        ----------
        table : ReliabilityTable
        name : str, optional
            The model, for the legend.
        ax, **options
            As in `plot`.

        Returns
        -------
        ReliabilityDisplay

        Raises
        ------
        ValueError
            If `table` is something else, or as for `plot`.
        """
        return cls(table, name=name).plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        classes: Sequence[Any] | None = None,
        n_panels: int = 4,
        scale: str = "linear",
        band: str | None = "auto",
        confidence_level: float = 0.95,
        sized: bool = False,
        histogram: bool = True,
        **line_options: Any,
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or sequence of them, optional
            Where to draw, one for each panel; default a new figure. On axes that have a diagram
            already, this model is drawn next to it, classwise tables for the same classes. For a
            histogram, axes give up the lower sixth of their place.
        name : str, optional
            In place of the name that the display was made with.
        classes : sequence of labels, optional
            The classes of a classwise table to show, in this order.
        n_panels : int, default=4
            Otherwise, how many classes to show, those with the largest ECE, worst first.
        scale : {"linear", "logit"}, default="linear"
            "logit" spreads probabilities near 0 and 1, for rare events, best with
            ``strategy="quantile"``. Hollow diamonds on the edge are points off the scale: at 0
            or 1, or nearer to these than a tenth of a row is to all rows.
        band : {"auto", "consistency", "confidence", None}, default="auto"
            "consistency": bars around the diagonal that hold the point of a bin with probability
            `confidence_level` (or more, where predictions in the bin differ) if the forecast is
            calibrated: binomial quantiles. "confidence": Wilson's interval around each point.
            "auto": consistency where no weights were given, else None. All are bin by bin.
        confidence_level : float, default=0.95
            Of the bars.
        sized : bool, default=False
            Areas of points in proportion to what the bins hold.
        histogram : bool, default=True
            Show the shares of the predictions in the bins underneath (their density for bins of
            unequal width).
        **line_options
            Passed on to ``Axes.plot`` for the line of points.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an option is not as described; if the number of axes is not that of the panels; or
            if bars are asked for where rows were weighted: the table does not say how many
            independent rows that is.
        ImportError
            If matplotlib is not installed.
        """
        drawing.check_type(self.table, "table", ReliabilityTable)
        options = Options(
            scale,
            bands.checked_band(band, self.table),
            check_confidence_level(confidence_level),
            drawing.check_flag(sized, "sized"),
            drawing.check_flag(histogram, "histogram"),
            line_options,
        )
        axes = None if ax is None else drawing.axes_list(ax)
        check_scale(scale, axes)
        tables = tables_to_draw(self.table, classes, n_panels, axes)
        new_grid = axes is None and len(tables) > 1
        if axes is None:
            axes = new_axes(len(tables))
        drawing.check_n_axes(axes, len(tables))
        self._draw(axes, tables, self.name if name is None else name, options)
        describe(axes, self.table, new_grid=new_grid)
        return self

    def _draw(
        self,
        axes: list[Axes],
        tables: dict[Any, ReliabilityTable],
        name: str | None,
        options: Options,
    ) -> None:
        panels = []
        for ax, (label, table) in zip(axes, tables.items(), strict=True):
            mean_ece = self.table.ece() if len(tables) > 1 else None
            panels.append(draw_panel(ax, table, name, mean_ece, options))
            heading = f"Class {label}" if table.kind == "classwise" else "Reliability diagram"
            drawing.title(ax, heading, subtitle(ax))
        self.figure_ = axes[0].figure
        self.ax_ = np.array(axes, dtype=object) if len(axes) > 1 else axes[0]
        self.classes_ = self._classes(list(tables))
        self.line_ = _each([panel.line for panel in panels])
        self.points_ = _each([panel.points for panel in panels])
        self.histogram_ax_ = _each([panel.histogram_ax for panel in panels])

    def _classes(self, shown: list[Any]) -> list[Any]:
        if self.table.kind == "classwise":
            return shown
        return [self.table.classes[-1].item()] if self.table.kind == "binary" else []


def _each(values: list[Any]) -> Any:
    """The only one, or the list; None where there are none."""
    if values[0] is None:
        return None
    return values if len(values) > 1 else values[0]
