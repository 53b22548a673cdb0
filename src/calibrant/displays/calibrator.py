"""The map of a fitted calibrator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant.calibrators.base import BinaryCalibrator, Calibrator
from calibrant.calibrators.cross_validated import CrossValidated
from calibrant.displays import drawing
from calibrant.displays.drawing import Floats
from calibrant.inputs import as_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_N_GRID = 1001
_MAX_RUG = 300


class CalibratorDisplay:
    """What a fitted calibrator of two classes makes of each probability or score.

    Make it with `from_estimator`, which draws it too. `plot` draws any other map, given by `x` and
    `y`.

    Parameters
    ----------
    x : ndarray of shape (m,)
        Input, ascending.
    y : ndarray of shape (m,)
        Calibrated probability at `x`.
    rug : ndarray of shape (n,), optional
        Inputs that are shown as ticks.
    rug_event : ndarray of bool, shape (n,), optional
        Whether the event happened: ticks above for those, below for the others.
    label : label, optional
        The class that is predicted.
    scale : {"probability", "score"}, default="probability"
        What `x` is.
    name : str, optional
        The calibrator, for the legend.

    Attributes
    ----------
    x, y, rug, rug_event, label, scale, name
        As given.
    figure_ : matplotlib.figure.Figure
    ax_ : matplotlib.axes.Axes
        Pass it to the `plot` of another display to compare calibrators.
    line_ : matplotlib.lines.Line2D
        The map.
    rug_ : list of matplotlib.collections.LineCollection
        The ticks.

    Examples
    --------
    >>> from calibrant import IsotonicCalibration
    >>> from calibrant.displays import CalibratorDisplay
    >>> prob, y = [0.1, 0.3, 0.4, 0.6, 0.8], [0, 1, 0, 1, 1]
    >>> isotonic = IsotonicCalibration().fit(prob, y)
    >>> display = CalibratorDisplay.from_estimator(isotonic, prob, y)
    >>> display.line_.get_xydata()[[0, 350, 1000]]
    array([[0.  , 0.  ],
           [0.35, 0.5 ],
           [1.  , 1.  ]])
    """

    def __init__(
        self,
        *,
        x: Floats,
        y: Floats,
        rug: Floats | None = None,
        rug_event: Any = None,
        label: Any = None,
        scale: str = "probability",
        name: str | None = None,
    ) -> None:
        self.x = x
        self.y = y
        self.rug = rug
        self.rug_event = rug_event
        self.label = label
        self.scale = scale
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        name: str | None = None,
        ax: Any = None,
        **line_options: Any,
    ) -> Self:
        """Draw the map of a fitted calibrator.

        Parameters
        ----------
        estimator : calibrator
            Fitted on (n,) input, or on two columns of probabilities.
        X : array-like of shape (n,) or (n, 2), optional
            Data as the calibrator takes it, for the rug; of scores it gives the range of the map,
            too, which is -6 to 6 otherwise.
        y : array-like of shape (n,), optional
            What happened, to part the rug in two.
        name : str, optional
            The calibrator, for the legend; default the name of its class.
        ax, **line_options
            As in `plot`.

        Returns
        -------
        CalibratorDisplay

        Raises
        ------
        ValueError
            If the calibrator is of more than two classes or takes two columns of logits (its map
            is not one of one number), if it cannot read `X`, or labels are not among its classes.
        sklearn.exceptions.NotFittedError
            If it is not fitted.
        ImportError
            If matplotlib is not installed.

        Notes
        -----
        The map is computed at 1001 points. At most 300 ticks of a side are drawn, at evenly spaced
        ranks. Time O(n log n).
        """
        from sklearn.utils.validation import check_is_fitted

        drawing.pyplot()
        if not isinstance(estimator, Calibrator):
            raise ValueError(
                f"estimator {type(estimator).__name__} is not one of the calibrators, such as "
                "IsotonicCalibration: draw other maps by CalibratorDisplay(x=..., y=...).plot()."
            )
        check_is_fitted(estimator)
        scale = _checked_scale(estimator)
        rug = event = None
        if X is not None:
            estimator.predict_proba(X)  # refuses what it cannot read
            scores = as_scores(X, "X").astype(np.float64)
            rug = scores if scores.ndim == 1 else scores[:, 1]
        if y is not None:
            event = _events(y, rug, estimator)
        grid = _grid(scale, rug)
        two = estimator.n_features_in_ == 2
        value = estimator.predict_proba(np.column_stack([1.0 - grid, grid]) if two else grid)
        return cls(
            x=grid,
            y=value[:, 1] if two else value,
            rug=rug,
            rug_event=event,
            label=estimator.classes_[1].item(),
            scale=scale,
            name=name or type(estimator).__name__,
        ).plot(ax, **line_options)

    def plot(self, ax: Any = None, *, name: str | None = None, **line_options: Any) -> Self:
        """Draw the map and the rug.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw, perhaps next to other maps; default a new figure.
        name : str, optional
            In place of the name that the display was made with.
        **line_options
            Passed on to ``Axes.plot``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `ax` is not an Axes.
        ImportError
            If matplotlib is not installed.
        """
        axes = drawing.axes_or_new(ax, 5.0, 4.6)
        k = drawing.n_series(axes)
        look = drawing.style(k, line_options, markevery=drawing.mark_some(k, len(self.x)))
        self.rug_ = self._draw_rug(axes)
        if self.scale == "probability":
            drawing.reference_line(axes, [0.0, 1.0], [0.0, 1.0], "Identity")
        shown = name or self.name or "Calibrator"
        (self.line_,) = axes.plot(self.x, self.y, **{"label": shown, **look})
        self.figure_, self.ax_ = axes.figure, axes
        of = "" if self.label in (None, 0, 1) else f" of {self.label!r}"
        what = "Predicted probability" if self.scale == "probability" else "Score"
        axes.set(xlabel=f"{what}{of}", ylabel=f"Calibrated probability{of}", ylim=(-0.07, 1.07))
        if self.rug is not None:
            ticks = "Ticks: data" + (", events above" if self.rug_event is not None else "")
            drawing.title(axes, "Calibration map", ticks)
        elif k == 0:
            drawing.title(axes, "Calibration map")
        drawing.add_legend(axes, borderaxespad=1.6)
        return self

    def _draw_rug(self, ax: Axes) -> list[Any]:
        """Ticks along the axes: events above, the others (or all) below."""
        if self.rug is None:
            return []
        if self.rug_event is None:
            sides = [(self.rug, 0.0)]
        else:
            event = np.asarray(self.rug_event, dtype=bool)
            sides = [(self.rug[event], 0.97), (self.rug[~event], 0.0)]
        transform = ax.get_xaxis_transform()
        return [
            ax.vlines(
                _spread(values), at, at + 0.03, colors="0.25", linewidth=0.5, alpha=0.6,
                transform=transform, zorder=1.0,
            )
            for values, at in sides
        ]  # fmt: skip


def _checked_scale(calibrator: Calibrator) -> str:
    """What the input of a calibrator of two classes is."""
    if len(calibrator.classes_) != 2:
        raise ValueError(
            f"estimator is for {len(calibrator.classes_)} classes: only that of two is a map of "
            "one number."
        )
    base = calibrator.calibrator_ if isinstance(calibrator, CrossValidated) else calibrator
    scale = "score" if base._scale == "score" else "probability"
    if calibrator.n_features_in_ == 2:
        if scale == "score" and not isinstance(base, BinaryCalibrator):
            raise ValueError(
                "estimator takes two columns of logits: only that of one column (or of "
                "probabilities) is a map of one number."
            )
        return "probability"
    return scale


def _grid(scale: str, rug: Floats | None) -> Floats:
    if scale == "probability":
        return np.linspace(0.0, 1.0, _N_GRID)
    low, high = (-6.0, 6.0) if rug is None else (float(rug.min()), float(rug.max()))
    return np.linspace(low, high, _N_GRID)


def _events(y: Any, rug: Floats | None, calibrator: Calibrator) -> Any:
    from calibrant.inputs import as_classes, check_lengths

    if rug is None:
        raise ValueError("y is given without X: pass both for a rug.")
    codes, _ = as_classes(y, 2, labels=calibrator.classes_, name="y")
    check_lengths(X=rug, y=codes)
    return codes == 1


def _spread(values: Floats) -> Floats:
    """At most so many of the values, at evenly spaced ranks."""
    if len(values) <= _MAX_RUG:
        return values
    ranks = np.linspace(0, len(values) - 1, _MAX_RUG).round().astype(int)
    return np.asarray(np.sort(values)[ranks])
