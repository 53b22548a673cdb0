"""Probability integral transforms: their histogram and their distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant.arguments import check_confidence_level, check_n_bins
from calibrant.displays import bands, drawing
from calibrant.displays.drawing import Floats
from calibrant.displays.of_forecasts import OfForecasts
from calibrant.inputs import as_real_array, as_weights
from calibrant.metrics.average import PITMethod, pit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_N_POINTS = 1000
_KINDS = ("both", "histogram", "ecdf", "ecdf_difference")


class PITDisplay(OfForecasts):
    r"""Histogram and distribution of probability integral transforms; flat if calibrated.

    A forecast that is calibrated on average has uniform PITs. A hump in the middle of the
    histogram means that it is too wide, a trough that it is too narrow, a slope that it is biased.

    The bands are simultaneous: a calibrated continuous forecast stays inside everywhere with
    probability `confidence_level`. That of the distribution is exact (Kolmogorov's), that of the
    histogram is made of binomial quantiles with Bonferroni's correction, and holds at least that
    often. With weights both use Kish's effective number of rows.

    Parameters
    ----------
    pit : array-like of shape (n,)
        Probability integral transforms, in [0, 1].
    sample_weight : array-like of shape (n,), optional
        How much each row counts.
    name : str, optional
        The forecaster, for the legend.

    Attributes
    ----------
    pit, name
        As given.
    figure_ : matplotlib.figure.Figure
    ax_ : matplotlib.axes.Axes, or array of two
    histogram_ : matplotlib.patches.StepPatch or None
        Densities of the bins, where the histogram is drawn.
    line_ : matplotlib.lines.Line2D or None
        The distribution function at 0, 0.001, ..., 1 (or how far above the diagonal it is), where
        it is drawn.

    Raises
    ------
    ValueError
        If a PIT is not a number in [0, 1], or weights do not fit.

    References
    ----------
    Dawid, A. P. (1984). Statistical theory: the prequential approach. J. R. Statist. Soc. A, 147.

    Massey, F. J. (1951). The Kolmogorov-Smirnov test for goodness of fit. J. Amer. Statist.
    Assoc., 46.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.displays import PITDisplay
    >>> from calibrant.forecasts import Normal
    >>> y = np.random.default_rng(0).normal(size=300)
    >>> display = PITDisplay.from_predictions(Normal(np.zeros(300), 2.0), y, n_bins=5)
    >>> display.histogram_.get_data().values.round(2)
    array([0.2 , 1.48, 1.78, 1.32, 0.22])
    """

    def __init__(self, pit: Any, *, sample_weight: Any = None, name: str | None = None) -> None:
        self.pit = np.asarray(as_real_array(pit, "pit", low=0.0, high=1.0), dtype=np.float64)
        if self.pit.ndim != 1 or not len(self.pit):
            raise ValueError(f"pit has shape {self.pit.shape}: it must hold a number for each row.")
        self.sample_weight = as_weights(sample_weight, len(self.pit))
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        forecast: Any,
        y: Any,
        *,
        method: PITMethod = "value",
        random_state: Any = None,
        sample_weight: Any = None,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the PITs of outcomes.

        Parameters
        ----------
        forecast, y, method, random_state
            As for `pit`; "randomized" suits forecasts of counts and ensembles.
        sample_weight : array-like of shape (n,), optional
            How much each row counts.
        name : str, optional
            The forecaster, for the legend.
        ax, **options
            As in `plot`.

        Returns
        -------
        PITDisplay

        Raises
        ------
        ValueError
            As for `pit` and `plot`.
        ImportError
            If matplotlib is not installed.

        Notes
        -----
        One evaluation of the CDF and a sort of n numbers.
        """
        drawing.pyplot()
        values = pit(forecast, y, method=method, random_state=random_state)
        return cls(values, sample_weight=sample_weight, name=name).plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        kind: str = "both",
        n_bins: int = 20,
        confidence_level: float = 0.95,
        **line_options: Any,
    ) -> Self:
        """Draw the PITs.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or two of them, optional
            Where to draw, perhaps next to other forecasters; default a new figure.
        name : str, optional
            In place of the name that the display was made with.
        kind : {"both", "histogram", "ecdf", "ecdf_difference"}, default="both"
            "ecdf": the distribution function. "ecdf_difference": how far it is above the
            diagonal, easier to read where there are many rows. "both": the histogram and the
            difference, on two axes.
        n_bins : int, default=20
            Bins of the histogram, of equal width.
        confidence_level : float, default=0.95
            Of the simultaneous bands.
        **line_options
            Passed on to ``Axes.plot`` for the distribution; the histogram takes color, linestyle
            and linewidth of them.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an option is not as described, or the number of axes is not that of the pictures.
        ImportError
            If matplotlib is not installed.
        """
        drawing.check_option(kind, "kind", _KINDS)
        n_bins, level = check_n_bins(n_bins), check_confidence_level(confidence_level)
        kinds = ("histogram", "ecdf_difference") if kind == "both" else (kind,)
        axes = _axes(ax, len(kinds))
        shown = name or self.name or "PITs"
        self.histogram_: Any = None
        self.line_: Any = None
        for one, part in zip(axes, kinds, strict=True):
            if part == "histogram":
                self._draw_histogram(one, shown, n_bins, level, line_options)
            else:
                self._draw_ecdf(one, shown, level, line_options, minus=part == "ecdf_difference")
        drawing.add_legend(axes[0])
        self.figure_ = axes[0].figure
        self.ax_ = axes[0] if len(axes) == 1 else np.array(axes, dtype=object)
        return self

    @property
    def _weights(self) -> Floats:
        """Shares of the rows."""
        if self.sample_weight is None:
            return np.full(len(self.pit), 1.0 / len(self.pit))
        return np.asarray(self.sample_weight / self.sample_weight.sum())

    @property
    def _size(self) -> int:
        """How many rows, effectively."""
        if self.sample_weight is None:
            return len(self.pit)
        return max(1, int(1.0 / (self._weights**2).sum() + 1e-9))

    def _draw_histogram(
        self, ax: Axes, name: str, n_bins: int, level: float, given: dict[str, Any]
    ) -> None:
        look = drawing.style(len(_histograms(ax)), given)
        density, edges = np.histogram(self.pit, n_bins, (0.0, 1.0), weights=self._weights)
        density = density * n_bins
        low, high = np.array(bands.uniform_bins(self._size, n_bins, level)) * n_bins
        self._draw_band(ax, np.array([0.0, 1.0]), low, high, level)
        drawing.reference_line(ax, [0.0, 1.0], [1.0, 1.0], "Uniform")
        self.histogram_ = ax.stairs(
            density, edges, baseline=None, color=look["color"], linestyle=look["linestyle"],
            linewidth=look["linewidth"], label=name,
        )  # fmt: skip
        top = max(patch.get_data().values.max() for patch in _histograms(ax))
        ax.set(
            xlim=(0.0, 1.0), ylim=(0.0, 1.15 * max(top, high)), ylabel="Density",
            xlabel="Probability integral transform F(y)",
        )  # fmt: skip
        drawing.title(ax, "Where outcomes fall in their forecasts")

    def _draw_band(self, ax: Axes, x: Floats, low: Any, high: Any, level: float) -> None:
        """Once for all forecasters with as many rows."""
        label = f"{drawing.percent(level)} band, n = {self._size:,}"
        if drawing.once(ax, label) == label:
            ax.fill_between(x, low, high, color=drawing.GREY, alpha=0.2, linewidth=0, label=label)

    def _draw_ecdf(
        self, ax: Axes, name: str, level: float, given: dict[str, Any], *, minus: bool
    ) -> None:
        k = drawing.n_series(ax)
        at = np.arange(_N_POINTS + 1) / _N_POINTS
        order = np.argsort(self.pit, kind="stable")
        reached = np.concatenate([[0.0], np.cumsum(self._weights[order])])
        reached /= reached[-1]
        height = reached[np.searchsorted(self.pit[order], at, side="right")]
        offset = at if minus else np.zeros_like(at)
        half = bands.uniform_ecdf(self._size, level)
        low, high = np.clip(at - half, 0.0, 1.0) - offset, np.clip(at + half, 0.0, 1.0) - offset
        self._draw_band(ax, at, low, high, level)
        drawing.reference_line(ax, at[[0, -1]], (at - offset)[[0, -1]], "Uniform")
        look = drawing.style(k, given, markevery=drawing.mark_some(k, len(at)))
        (self.line_,) = ax.plot(at, height - offset, **{"label": name, **look})
        ax.set(xlim=(0.0, 1.0), xlabel="Level c")
        ax.set_ylabel("Share of outcomes with F(y) ≤ c" + (", minus c" if minus else ""))
        drawing.title(ax, "Distribution of F(y)" + (" against the uniform" if minus else ""))


def _histograms(ax: Axes) -> list[Any]:
    from matplotlib.patches import StepPatch

    return [patch for patch in ax.patches if isinstance(patch, StepPatch)]


def _axes(ax: Any, n: int) -> list[Axes]:
    if ax is not None:
        axes = drawing.axes_list(ax)
        drawing.check_n_axes(axes, n)
        return axes
    if n == 1:
        return [drawing.axes_or_new(None)]
    return list(drawing.pyplot().subplots(1, 2, figsize=(8.8, 3.9), layout="constrained")[1])
