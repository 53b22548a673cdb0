"""Threshold calibration errors as a heat map over thresholds and levels."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.displays import drawing
from calibrant.displays.drawing import Floats
from calibrant.displays.of_forecasts import OfForecasts
from calibrant.metrics.threshold import ThresholdCalibrationError, threshold_calibration_error

if TYPE_CHECKING:
    from matplotlib.patches import PathPatch


class ThresholdCalibrationDisplay(OfForecasts):
    """Heat map of the threshold calibration error; what may be noise is hatched.

    Decisions at the threshold y0 that act where F(y0) is above or below alpha cost what the
    forecast promises where the error is small. Cells that are not above the null quantile of their
    groups are hatched and without colour: a calibrated forecast gives such errors, too. Cells with
    too few rows on a side are blank. Each cell is judged alone: of a calibrated forecast, a share
    of 1 - `null_level` is coloured.

    Parameters
    ----------
    error : ThresholdCalibrationError
        What is drawn.
    name : str, optional
        The forecaster, for the title.

    Attributes
    ----------
    error, name
        As given.
    figure_ : matplotlib.figure.Figure
    ax_ : matplotlib.axes.Axes
    mesh_ : matplotlib.collections.QuadMesh
        The errors above their null quantiles, levels by thresholds in ascending order; others are
        masked.
    noise_ : matplotlib.patches.PathPatch
        The hatched cells, all in one path, which is empty where there are none.
    colorbar_ : matplotlib.colorbar.Colorbar

    References
    ----------
    Sahoo, R., Zhao, S., Chen, A., Ermon, S. (2021). Reliable decisions with threshold calibration.
    NeurIPS. Definition 4.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.displays import ThresholdCalibrationDisplay
    >>> from calibrant.forecasts import Normal
    >>> rng = np.random.default_rng(0)
    >>> mu = rng.normal(size=2000)
    >>> y = mu + rng.normal(size=2000)
    >>> display = ThresholdCalibrationDisplay.from_predictions(
    ...     Normal(0.5 * mu, 1.2), y, thresholds=[-1.0, 0.0, 1.0], levels=[0.3, 0.5]
    ... )
    >>> display.mesh_.get_array().filled(0.0).round(3)
    array([[0.194, 0.208, 0.   ],
           [0.   , 0.185, 0.   ]])
    """

    def __init__(self, error: ThresholdCalibrationError, *, name: str | None = None) -> None:
        self.error = error
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        forecast: Any,
        y: Any,
        *,
        name: str | None = None,
        ax: Any = None,
        vmax: float | None = None,
        **options: Any,
    ) -> Self:
        """Draw the errors of a forecast.

        Parameters
        ----------
        forecast, y
            As for `threshold_calibration_error`, which is what it costs.
        name : str, optional
            The forecaster, for the title.
        ax, vmax
            As in `plot`.
        **options
            As for `threshold_calibration_error`.

        Returns
        -------
        ThresholdCalibrationDisplay

        Raises
        ------
        ValueError
            As for `threshold_calibration_error` and `plot`.
        ImportError
            If matplotlib is not installed.
        """
        drawing.pyplot()
        error = threshold_calibration_error(forecast, y, **options)
        return cls.from_error(error, name=name, ax=ax, vmax=vmax)

    @classmethod
    def from_error(
        cls,
        error: ThresholdCalibrationError,
        *,
        name: str | None = None,
        ax: Any = None,
        vmax: float | None = None,
    ) -> Self:
        """Draw errors that were computed already.

        Parameters
        ----------
        error : ThresholdCalibrationError
        name : str, optional
            The forecaster, for the title.
        ax, vmax
            As in `plot`.

        Returns
        -------
        ThresholdCalibrationDisplay

        Raises
        ------
        ValueError
            If `error` is something else, or as for `plot`.
        """
        return cls(error, name=name).plot(ax, vmax=vmax)

    def plot(self, ax: Any = None, *, name: str | None = None, vmax: float | None = None) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw, default a new figure. The colour bar takes some of its place.
        name : str, optional
            In place of the name that the display was made with.
        vmax : float, optional
            Error of the darkest colour, default the largest; the same for two pictures makes them
            comparable.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `ax` is not an Axes, or `vmax` is not positive.
        ImportError
            If matplotlib is not installed.
        """
        drawing.check_type(self.error, "error", ThresholdCalibrationError)
        number = isinstance(vmax, Real) and not isinstance(vmax, bool)
        if vmax is not None and not (number and 0.0 < vmax < np.inf):
            raise ValueError(f"vmax must be a positive number, got {vmax!r}.")
        axes = drawing.axes_or_new(ax, 6.0, 4.4)
        error = self.error
        columns, rows = np.argsort(error.thresholds), np.argsort(error.levels)
        x, y = _edges(error.thresholds[columns]), _edges(error.levels[rows])
        value = error.value[columns][:, rows].T
        noise = value <= error.null_quantile[columns][:, rows].T
        signal = np.ma.masked_where(noise | np.isnan(value), value)
        top = vmax or (error.max if error.max > 0.0 else 1.0)
        self.mesh_ = axes.pcolormesh(
            x, y, signal, cmap="YlGnBu", vmin=0.0, vmax=top, rasterized=True
        )
        self.noise_ = axes.add_patch(_hatched(noise, x, y))
        self.figure_, self.ax_ = axes.figure, axes
        self.colorbar_ = self.figure_.colorbar(
            self.mesh_, ax=axes, label="Threshold calibration error",
            extend="max" if error.max > top else "neither",
        )  # fmt: skip
        axes.set(xlabel="Threshold y0 (unit of the outcome)", ylabel="Level alpha of F(y0)")
        heading = name or self.name or "Threshold calibration"
        drawing.title(axes, heading, self._summary(bool(noise.any()), bool(np.isnan(value).any())))
        return self

    def _summary(self, noise: bool, blank: bool) -> str:
        """Numbers, and what cells without colour are."""
        error, notes = self.error, []
        if noise:
            notes.append(f"hatched: noise ({drawing.percent(error.null_level)})")
        if blank:
            notes.append(f"blank: a group under {error.min_group_size:g} rows")
        numbers = (
            f"Largest {error.max:.3g}, mean {error.mean:.3g}; "
            f"{100 * error.share_above_null:.0f} % of cells above noise"
        )
        return "\n".join([numbers, "; ".join(notes).capitalize()]) if notes else numbers


def _hatched(cells: NDArray[np.bool_], x: Floats, y: Floats) -> PathPatch:
    """The cells, between these edges, as one patch: files repeat the hatching of each patch."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    blank = np.zeros((len(cells), 1), dtype=bool)
    steps = np.diff(np.hstack([blank, cells, blank]).astype(np.int8))
    row, first = np.nonzero(steps == 1)
    last = np.nonzero(steps == -1)[1]
    left, right, below, above = x[first], x[last], y[row], y[row + 1]
    across = np.column_stack([left, right, right, left, left])
    up = np.column_stack([below, below, above, above, below])
    one = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    path = Path(np.column_stack([across.ravel(), up.ravel()]), np.tile(one, len(row)))
    return PathPatch(path, hatch="////", facecolor="0.95", edgecolor="0.55", linewidth=0.0)


def _edges(centres: Floats) -> Floats:
    """Edges of cells around ascending centres."""
    if len(centres) == 1:
        return np.asarray(centres[0] + np.array([-0.5, 0.5]) * max(abs(centres[0]) / 10.0, 0.01))
    middles = (centres[1:] + centres[:-1]) / 2.0
    first, last = 2.0 * centres[0] - middles[0], 2.0 * centres[-1] - middles[-1]
    return np.asarray(np.concatenate([[first], middles, [last]]))
