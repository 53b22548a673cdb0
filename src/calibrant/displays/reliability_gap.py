"""What decision makers were promised and what they lost, by threshold and by cost ratio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from calibrant.decisions import DecisionTable, decision_table
from calibrant.displays import drawing
from calibrant.displays.drawing import Floats
from calibrant.displays.of_forecasts import OfForecasts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_X = {
    "threshold": "Decision threshold y0 (unit of the outcome)",
    "cost_ratio": "Cost of a false positive (share of the total)",
}
_TITLES = {
    "reliability_gap": "Reliability gap",
    "decision_loss": "Decision loss",
    "losses": "Predicted and realised decision loss",
}


class ReliabilityGapDisplay(OfForecasts):
    """Reliability gap and decision losses by threshold or by cost ratio.

    The pictures of the source's Figures 1 to 4: each point is a mean over the decision makers of a
    `DecisionTable` with the same threshold, or with the same cost ratio.

    Parameters
    ----------
    table : DecisionTable
        What is drawn.
    name : str, optional
        The forecaster, for the legend.

    Attributes
    ----------
    table, name
        As given.
    figure_ : matplotlib.figure.Figure
    ax_ : matplotlib.axes.Axes
        Pass it to the `plot` of another display to compare forecasters.
    line_ : matplotlib.lines.Line2D
        The gap, or the realised loss.
    predicted_line_ : matplotlib.lines.Line2D or None
        The predicted loss, for ``measure="losses"``.

    References
    ----------
    Sahoo, R., Zhao, S., Chen, A., & Ermon, S. (2021). Reliable decisions with threshold
    calibration. NeurIPS 34. Figures 1 to 4.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.displays import ReliabilityGapDisplay
    >>> from calibrant.forecasts import Normal
    >>> rng = np.random.default_rng(0)
    >>> mu = rng.normal(size=500)
    >>> y = rng.normal(mu, 1.0)
    >>> narrow = ReliabilityGapDisplay.from_predictions(
    ...     Normal(mu, 0.5), y, thresholds=[-1.0, 0.0, 1.0], n_resamples=0, name="narrow"
    ... )
    >>> narrow.line_.get_xydata().round(2)
    array([[-1.  ,  0.28],
           [ 0.  ,  0.36],
           [ 1.  ,  0.28]])
    >>> right = ReliabilityGapDisplay.from_predictions(
    ...     Normal(mu, 1.0), y, thresholds=[-1.0, 0.0, 1.0], n_resamples=0, ax=narrow.ax_
    ... )
    """

    def __init__(self, table: DecisionTable, *, name: str | None = None) -> None:
        self.table = table
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        forecast: Any,
        y: Any,
        *,
        by: str = "threshold",
        measure: str = "reliability_gap",
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw what decisions on a forecast cost.

        Parameters
        ----------
        forecast, y
            As for `decision_table`, which is what it costs.
        by, measure, ax
            As in `plot`.
        name : str, optional
            The forecaster, for the legend.
        **options
            As for `decision_table`; ``n_resamples=0`` where no interval is drawn saves time.

        Returns
        -------
        ReliabilityGapDisplay

        Raises
        ------
        ValueError
            As for `decision_table` and `plot`.
        ImportError
            If matplotlib is not installed.
        """
        drawing.pyplot()
        _check(by, measure)
        table = decision_table(forecast, y, **options)
        return cls.from_table(table, by=by, measure=measure, name=name, ax=ax)

    @classmethod
    def from_table(
        cls, table: DecisionTable, *, name: str | None = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw a table that was computed already.

        Parameters
        ----------
        table : DecisionTable
        name : str, optional
            The forecaster, for the legend.
        ax, **options
            As in `plot`.

        Returns
        -------
        ReliabilityGapDisplay

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
        by: str = "threshold",
        measure: str = "reliability_gap",
        **line_options: Any,
    ) -> Self:
        """Draw one measure.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw, perhaps next to other forecasters; default a new figure.
        name : str, optional
            In place of the name that the display was made with.
        by : {"threshold", "cost_ratio"}, default="threshold"
            What the decision makers of a point have in common.
        measure : {"reliability_gap", "decision_loss", "losses"}, default="reliability_gap"
            "losses" draws the realised loss (full marks) and the predicted one (hollow, dashed).
            Where the table has intervals, a band shows where the realised loss can be, given the
            predicted one and the interval of their difference: the two differ by more than chance
            where the predicted loss is outside.
        **line_options
            Passed on to ``Axes.plot``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an option is not as described.
        ImportError
            If matplotlib is not installed.
        """
        _check(by, measure)
        drawing.check_type(self.table, "table", DecisionTable)
        axes = drawing.axes_or_new(ax)
        means = self.table.by_threshold() if by == "threshold" else self.table.by_cost_ratio()
        k = drawing.n_series(axes) // (2 if measure == "losses" else 1)
        shown = name or self.name or "Forecast"
        marked = drawing.mark_some(k, len(means[by]))
        look = {"markevery": marked, **drawing.style(k, line_options)}
        self.predicted_line_: Any = None
        if measure == "losses":
            look = {**look, "linestyle": "-", "label": f"{shown}, realised"}
            self._draw_promise(axes, by, means, shown, look)
        column = "reliability_gap" if measure == "reliability_gap" else "decision_loss"
        (self.line_,) = axes.plot(means[by], means[column], **{"label": shown, **look})
        self.figure_, self.ax_ = axes.figure, axes
        over = "cost ratios" if by == "threshold" else "thresholds"
        what = "Reliability gap" if measure == "reliability_gap" else "Loss per decision"
        axes.set(xlabel=_X[by], ylabel=f"{what} (unit of the costs)")
        axes.set_ylim(bottom=0.0, auto=True)  # the next forecaster may need more
        costs = f"the two errors cost {self.table.total:g} together"
        drawing.title(axes, _TITLES[measure], f"Mean over {over}; {costs}")
        drawing.add_legend(axes, loc="best")
        return self

    def _draw_promise(
        self, ax: Axes, by: str, means: dict[str, Floats], name: str, look: dict[str, Any]
    ) -> None:
        """The predicted loss, and where chance puts the realised one."""
        predicted = means["predicted_loss"]
        hollow = {
            "linestyle": "--",
            "markerfacecolor": ax.get_facecolor(),
            "label": f"{name}, predicted",
        }
        (self.predicted_line_,) = ax.plot(means[by], predicted, **{**look, **hollow})
        if "low" in means:
            ax.fill_between(
                means[by], predicted - means["high"], predicted - means["low"],
                color=look["color"], alpha=0.2, linewidth=0.0,
                label=drawing.once(
                    ax, f"{drawing.percent(self.table.confidence_level)} interval, point by point"
                ),
            )  # fmt: skip


def _check(by: Any, measure: Any) -> None:
    drawing.check_option(by, "by", tuple(_X))
    drawing.check_option(measure, "measure", tuple(_TITLES))
