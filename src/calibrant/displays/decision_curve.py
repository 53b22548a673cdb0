"""Decision curves: what acting on predicted probabilities is worth at each threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant.displays import drawing
from calibrant.displays.drawing import Floats
from calibrant.inputs import as_real_array, check_predictions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABELS = {
    "net_benefit": "Net benefit (true positives per row)",
    "cost": "Cost per row (share of what both errors cost)",
}


class DecisionCurveDisplay:
    r"""Decision curve of a binary forecast: net benefit, or cost, against the threshold.

    Who acts where the predicted probability is at least t finds it right to do so if a false
    positive costs t and a false negative 1 - t. With the shares TP and FP of rows that are true and
    false positives,

    .. math:: \text{net benefit}(t) = TP - FP \frac{t}{1 - t}, \qquad
              \text{cost}(t) = t \, FP + (1 - t) \, FN.

    The two order forecasts alike at each t. Lines for acting always and never are drawn with it: a
    forecast below them in net benefit (above in cost) does harm at that threshold.

    Parameters
    ----------
    thresholds : ndarray of shape (m,)
        In (0, 1), ascending.
    true_positive, false_positive : ndarray of shape (m,)
        Shares of the rows that are acted on at each threshold, where the event happened and where
        not.
    prevalence : float
        Share of the rows where the event happened.
    name : str, optional
        The model, for the legend.

    Attributes
    ----------
    thresholds, true_positive, false_positive, prevalence, name
        As given.
    net_benefit, cost : ndarray of shape (m,)
    figure_ : matplotlib.figure.Figure
    ax_ : matplotlib.axes.Axes
        Pass it to the `plot` of another display to compare models on the same outcomes.
    line_ : matplotlib.lines.Line2D

    References
    ----------
    Vickers, A. J., & Elkin, E. B. (2006). Decision curve analysis: a novel method for evaluating
    prediction models. Medical Decision Making, 26(6), 565-574.

    Examples
    --------
    >>> from calibrant.displays import DecisionCurveDisplay
    >>> display = DecisionCurveDisplay.from_predictions(
    ...     [0, 0, 1, 1], [0.1, 0.6, 0.5, 0.9], thresholds=[0.25, 0.5, 0.75]
    ... )
    >>> display.net_benefit.round(4), display.cost
    (array([0.4167, 0.25  , 0.25  ]), array([0.0625, 0.125 , 0.0625]))
    """

    def __init__(
        self,
        *,
        thresholds: Floats,
        true_positive: Floats,
        false_positive: Floats,
        prevalence: float,
        name: str | None = None,
    ) -> None:
        self.thresholds = thresholds
        self.true_positive = true_positive
        self.false_positive = false_positive
        self.prevalence = prevalence
        self.name = name

    @property
    def net_benefit(self) -> Floats:
        odds = self.thresholds / (1.0 - self.thresholds)
        return np.asarray(self.true_positive - odds * self.false_positive)

    @property
    def cost(self) -> Floats:
        missed = self.prevalence - self.true_positive
        return np.asarray(self.thresholds * self.false_positive + (1.0 - self.thresholds) * missed)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        thresholds: Any = None,
        labels: Any = None,
        pos_label: Any = None,
        sample_weight: Any = None,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the curve of binary predictions.

        Parameters
        ----------
        y_true, y_prob, labels, pos_label, sample_weight
            As in `reliability_table`, for two classes.
        thresholds : array-like of shape (m,), optional
            In (0, 1), default 0.01, 0.02, ..., 0.99.
        name : str, optional
            The model, for the legend.
        ax, **options
            As in `plot`.

        Returns
        -------
        DecisionCurveDisplay

        Raises
        ------
        ValueError
            If the predictions are of more than two classes or not probabilities, thresholds are
            not inside (0, 1), or as for `plot`.
        ImportError
            If matplotlib is not installed.

        Notes
        -----
        Time O(n log n), memory O(n).
        """
        drawing.pyplot()
        at = _as_thresholds(thresholds)
        data = check_predictions(
            y_true, y_prob, labels=labels, pos_label=pos_label, sample_weight=sample_weight
        )
        if not data.binary:
            raise ValueError(
                f"y_prob has {data.prob.shape[1]} columns: decision curves are for two classes; "
                "pass one column, and whether its class happened."
            )
        share = np.full(len(data.prob), 1.0) if data.weight is None else data.weight
        share = share / share.sum()
        order = np.argsort(data.prob, kind="stable")
        place = np.searchsorted(data.prob[order].astype(np.float64), at, side="left")
        event = data.target[order] == 1
        positive, negative = (
            np.append(np.cumsum((share[order] * side)[::-1])[::-1], 0.0) for side in (event, ~event)
        )
        return cls(
            thresholds=at,
            true_positive=positive[place],
            false_positive=negative[place],
            prevalence=float(positive[0]),
            name=name,
        ).plot(ax, **options)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, **options: Any
    ) -> Self:
        """Draw the curve of what a fitted binary classifier or calibrator predicts.

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
        DecisionCurveDisplay

        Raises
        ------
        ValueError
            If the estimator cannot predict probabilities, or as for `from_predictions`.
        """
        prob, labels, kind = drawing.predictions_of(estimator, X)
        options.setdefault("labels", labels)
        return cls.from_predictions(y, prob, name=kind if name is None else name, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        measure: str = "net_benefit",
        **line_options: Any,
    ) -> Self:
        """Draw the curve, and those of acting always and never.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw, perhaps next to other models; default a new figure.
        name : str, optional
            In place of the name that the display was made with.
        measure : {"net_benefit", "cost"}, default="net_benefit"
            Net benefit is cut off below the axis where acting always is far from worth it.
        **line_options
            Passed on to ``Axes.plot``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `measure` is neither, or `ax` is not an Axes.
        ImportError
            If matplotlib is not installed.
        """
        drawing.check_option(measure, "measure", tuple(_LABELS))
        axes = drawing.axes_or_new(ax)
        values = self.net_benefit if measure == "net_benefit" else self.cost
        self._draw_references(axes, measure)
        k = drawing.n_series(axes)
        look = drawing.style(k, line_options, markevery=drawing.mark_some(k, len(values)))
        shown = name or self.name or "Forecast"
        (self.line_,) = axes.plot(self.thresholds, values, **{"label": shown, **look})
        self.figure_, self.ax_ = axes.figure, axes
        axes.set(xlim=(0.0, 1.0), xlabel="Threshold probability t", ylabel=_LABELS[measure])
        if measure == "net_benefit":
            axes.set_ylim(*self._limits())
        else:
            axes.set_ylim(bottom=0.0, auto=True)
        drawing.title(axes, "Decision curve", f"Share of events {self.prevalence:.3g}")
        drawing.add_legend(axes, loc="best")
        return self

    def _limits(self) -> tuple[float, float]:
        """What there is to gain, and a little of the harm; all harm where nothing can be gained."""
        if self.prevalence == 0.0:
            return -1.05, 0.12
        # Of a model that does nothing but harm, the least of it.
        low = min(-0.12 * self.prevalence, 1.5 * float(np.nanmax(self.net_benefit)))
        return low, 1.05 * self.prevalence

    def _draw_references(self, ax: Axes, measure: str) -> None:
        t, rate = self.thresholds, self.prevalence
        if measure == "net_benefit":
            always, never = rate - (1.0 - rate) * t / (1.0 - t), np.zeros_like(t)
        else:
            always, never = t * (1.0 - rate), (1.0 - t) * rate
        drawing.reference_line(ax, t, always, "Treat all", linestyle=(0, (5, 2)))
        drawing.reference_line(ax, t, never, "Treat none", linestyle="-")


def _as_thresholds(thresholds: Any) -> Floats:
    if thresholds is None:
        return np.arange(1, 100) / 100.0
    at = np.asarray(as_real_array(thresholds, "thresholds", low=0.0, high=1.0), dtype=np.float64)
    if at.ndim != 1 or not len(at):
        raise ValueError(f"thresholds has shape {at.shape}: it must hold numbers in a row.")
    outside = (at <= 0.0) | (at >= 1.0)
    if outside.any():
        k = int(outside.argmax())
        raise ValueError(
            f"thresholds[{k}] is {float(at[k])!r}: thresholds are between 0 and 1, neither of them "
            "included, since one of the two errors would cost nothing."
        )
    return np.sort(at)
