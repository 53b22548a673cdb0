"""The axes of reliability diagrams: grids of them, the histogram's place, labels, logit ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrant.displays import drawing
from calibrant.displays.drawing import Floats
from calibrant.metrics import ReliabilityTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_TICKS = 7


def new_axes(n: int) -> list[Axes]:
    """Axes of a new figure, as square as they come."""
    n_columns = _n_columns(n)
    n_rows = -(-n // n_columns)
    size = (5.2, 5.6) if n == 1 else (3.5 * n_columns, 3.8 * n_rows + 0.4)
    figure, grid = drawing.pyplot().subplots(
        n_rows, n_columns, figsize=size, layout="constrained", squeeze=False
    )
    figure.get_layout_engine().set(hspace=0.0, h_pad=0.03)
    for spare in grid.ravel()[n:]:
        spare.remove()
    axes = list(grid.ravel()[:n])
    figure.sca(axes[0])
    return axes


def label_axes(
    axes: list[Axes], lowest: list[Axes], x_label: str, y_label: str, *, outer: bool
) -> None:
    """Label all axes, or those of the left and the lower side of the grid that `new_axes` made.

    `lowest` are the axes themselves, or their histograms.
    """
    n_columns = _n_columns(len(axes))
    for k, ax in enumerate(axes):
        if not outer or k + n_columns >= len(axes):
            lowest[k].set_xlabel(x_label)
        if not outer or k % n_columns == 0:
            ax.set_ylabel(y_label)


def axis_labels(table: ReliabilityTable) -> tuple[str, str]:
    """What is predicted, and what was observed."""
    if table.kind == "confidence":
        return "Mean probability of the top class", "Share of rows where it is right"
    of = ""
    if table.kind == "binary" and table.classes.tolist() not in ([0, 1],):
        of = f" of {table.classes[-1].item()!r}"
    return f"Mean predicted probability{of}", f"Observed frequency{of}"


def _n_columns(n: int) -> int:
    return min(n, 2 if n <= 4 else 3)


def split_below(ax: Axes) -> Axes:
    """New axes under these, in the place that these had."""
    figure, spec = ax.figure, ax.get_subplotspec()
    current = figure.gca()
    if spec is None:
        x, y, width, height = ax.get_position().bounds
        ax.set_position((x, y + 0.22 * height, width, 0.78 * height))
        below = figure.add_axes((x, y, width, 0.17 * height), sharex=ax)
    else:
        grid = spec.subgridspec(2, 1, height_ratios=[5, 1], hspace=0.06)
        ax.set_subplotspec(grid[0])
        below = figure.add_subplot(grid[1], sharex=ax)
    figure.sca(current)
    ax.tick_params(labelbottom=False)
    below.set_xlabel(ax.get_xlabel())
    ax.set_xlabel("")
    return below


def set_logit_ticks(ax: Axes, ends: Floats) -> None:
    """A half, powers of ten and one minus them, as many as there is place for."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    decades = np.arange(1, 13)
    for step in range(1, 13):
        k = decades[::step]
        ticks = np.concatenate([10.0 ** -k[::-1], [0.5], 1.0 - 10.0**-k])
        exponents = np.concatenate([-k[::-1], [0], k])
        inside = (ticks >= ends[0]) & (ticks <= ends[1])
        if inside.sum() <= _MAX_TICKS:
            break
    labels = [_tick_label(int(k)) for k in exponents[inside]]
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(FixedLocator(ticks[inside]))
        axis.set_major_formatter(FixedFormatter(labels))
        axis.set_minor_locator(NullLocator())


def _tick_label(k: int) -> str:
    """10^k below a half, 1 - 10^-k above."""
    if k == 0:
        return "0.5"
    value = 10.0**k if k < 0 else 1.0 - 10.0**-k
    if abs(k) <= 3:
        return f"{value:.3g}"
    return f"$10^{{{k}}}$" if k < 0 else f"$1-10^{{{-k}}}$"
