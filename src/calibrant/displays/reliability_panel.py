"""One panel of a reliability diagram: the points, what chance does, the histogram underneath."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.displays import bands, drawing
from calibrant.displays.drawing import Floats
from calibrant.metrics import ReliabilityTable
from calibrant.transforms import logit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D

_MARK = "_calibrant_panels"
_TINY = 1e-12
_MAX_TICKS = 7


@dataclass(frozen=True)
class Options:
    """How panels are drawn."""

    scale: str
    band: str | None
    confidence_level: float
    sized: bool
    histogram: bool
    line: dict[str, Any]


@dataclass(frozen=True)
class Panel:
    """What was drawn of one table on one axes."""

    table: ReliabilityTable
    name: str | None
    mean_ece: float | None
    """That of all classes, where the table is one of several."""
    line: Line2D
    points: PathCollection | None
    off_scale: PathCollection | None
    histogram_ax: Axes | None


def panels_on(ax: Axes) -> list[Panel]:
    """The panels drawn on these axes so far."""
    panels: list[Panel] = ax.__dict__.setdefault(_MARK, [])
    return panels


def draw_panel(
    ax: Axes,
    table: ReliabilityTable,
    name: str | None,
    mean_ece: float | None,
    options: Options,
) -> Panel:
    """Draw a table with a single panel, next to those that are there."""
    before = panels_on(ax)
    k = drawing.n_series(ax)
    if not before:
        _set_scale(ax, options.scale)
    drawing.reference_line(ax, *_diagonal(options.scale), "Perfect calibration")
    look = drawing.style(k, options.line)
    if options.band is not None:
        _draw_band(ax, table, options, look["color"])
    points = _draw_points(ax, table, look) if options.sized else None
    if options.sized:
        look["marker"] = "none"
    (line,) = ax.plot(table.mean_prob, table.observed, **{"label": "Observed", **look})
    off_scale = _draw_off_scale(ax, table, look) if options.scale == "logit" else None
    histogram_ax = _draw_histogram(ax, table, options, look) if options.histogram else None
    panel = Panel(table, name, mean_ece, line, points, off_scale, histogram_ax)
    before.append(panel)
    _set_limits(ax, options)
    _name(ax)
    return panel


def subtitle(ax: Axes) -> str | None:
    """ECE and size of the only model; ECE of several in a row where the legend has means."""
    panels = panels_on(ax)
    table = panels[0].table
    if len(panels) > 1:
        eces = ", ".join(f"{panel.table.ece():.3g}" for panel in panels)
        return None if panels[0].mean_ece is None else f"ECE {eces}"
    n_rows, n_bins = int(table.count.sum()), len(table.count)
    rows = "prediction" if n_rows == 1 else "predictions"
    bins = "bin" if n_bins == 1 else "bins"
    return f"ECE {table.ece():.3g}, {n_rows:,} {rows} in {n_bins} {bins}"


def _name(ax: Axes) -> None:
    """Legend labels; the ECE beside the name where the title does not have it."""
    panels = panels_on(ax)
    for k, panel in enumerate(panels):
        name = panel.name or ("Observed" if len(panels) == 1 else f"Model {k + 1}")
        if panel.mean_ece is not None:
            name += f" (mean ECE {panel.mean_ece:.3g})"
        elif len(panels) > 1:
            name += f" (ECE {panel.table.ece():.3g})"
        panel.line.set_label(name)


def _set_scale(ax: Axes, scale: str) -> None:
    if scale == "logit":
        ax.set_xscale("logit", nonpositive="mask")
        ax.set_yscale("logit", nonpositive="mask")


def _diagonal(scale: str) -> tuple[Floats, Floats]:
    ends = np.array([0.0, 1.0]) if scale == "linear" else np.array([_TINY, 1.0 - _TINY])
    return ends, ends


def _draw_band(ax: Axes, table: ReliabilityTable, options: Options, colour: Any) -> None:
    level, count = options.confidence_level, table.count.astype(np.float64)
    label = drawing.once(ax, f"{drawing.percent(level)} {options.band} bars")
    if options.band == "consistency":
        low, high = bands.consistency(table.mean_prob, count, level)
        if options.scale == "logit":
            low, high = low.clip(_TINY, 1.0 - _TINY), high.clip(_TINY, 1.0 - _TINY)
        width = min(7.0, max(2.0, 90.0 / len(count)))
        ax.vlines(
            table.mean_prob, low, high, colors=colour, linewidth=width, alpha=0.28, zorder=1.8,
            label=label,
        )  # fmt: skip
        return
    low, high = bands.wilson(table.observed, count, level)
    ax.errorbar(
        table.mean_prob, table.observed, [table.observed - low, high - table.observed],
        fmt="none", ecolor=colour, elinewidth=1.1, capsize=2.5, zorder=1.9, label=label,
    )  # fmt: skip


def _draw_points(ax: Axes, table: ReliabilityTable, look: dict[str, Any]) -> PathCollection:
    """Markers whose areas are proportional to what the bins hold."""
    area = 220.0 * table.weight / table.weight.max()
    return ax.scatter(
        table.mean_prob, table.observed, s=area, marker=look["marker"], color=look["color"],
        edgecolor=ax.get_facecolor(), linewidth=0.6, alpha=0.85, zorder=2.1, label="_",
    )  # fmt: skip


def _off_scale(table: ReliabilityTable) -> NDArray[np.bool_]:
    """Bins whose point has no place on logit axes."""
    return np.isin(table.mean_prob, (0.0, 1.0)) | np.isin(table.observed, (0.0, 1.0))


def _draw_off_scale(
    ax: Axes, table: ReliabilityTable, look: dict[str, Any]
) -> PathCollection | None:
    """Hollow diamonds for points at 0 or 1; `_set_limits` puts them on the edge of the axes."""
    off = _off_scale(table)
    if not off.any():
        return None
    somewhere = np.full(off.sum(), 0.5)
    return ax.scatter(
        somewhere, somewhere, s=34.0, marker="d", facecolor=ax.get_facecolor(),
        edgecolor=look["color"], clip_on=False, zorder=3.0,
        label=drawing.once(ax, "At 0 or 1, off the scale"),
    )  # fmt: skip


def _set_limits(ax: Axes, options: Options) -> None:
    if options.scale == "linear":
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        return
    ends = _logit_ends([panel.table for panel in panels_on(ax)])
    ax.set(xlim=ends, ylim=ends)
    _set_logit_ticks(ax, ends)
    for panel in panels_on(ax):
        if panel.off_scale is not None:
            points = np.column_stack([panel.table.mean_prob, panel.table.observed])
            panel.off_scale.set_offsets(points[_off_scale(panel.table)].clip(*ends))


def _logit_ends(tables: list[ReliabilityTable]) -> Floats:
    """Limits that show every point, but nothing finer than a tenth of a row in all."""
    finest = 0.1 / max(table.count.sum() for table in tables)
    shown = np.concatenate([values for t in tables for values in (t.mean_prob, t.observed)])
    inside = shown[(shown > 0.0) & (shown < 1.0)].clip(finest, 1.0 - finest)
    low, high = (inside.min(), inside.max()) if len(inside) else (0.1, 0.9)
    odds = np.array([low / (1.0 - low) / 1.6, high / (1.0 - high) * 1.6])
    return np.asarray(odds / (1.0 + odds))


def _set_logit_ticks(ax: Axes, ends: Floats) -> None:
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


def _draw_histogram(
    ax: Axes, table: ReliabilityTable, options: Options, look: dict[str, Any]
) -> Axes:
    """How the predictions are spread over the bins, as outlines that lie over each other."""
    below = next((p.histogram_ax for p in panels_on(ax) if p.histogram_ax is not None), None)
    if below is None:
        below = _split_below(ax)
    share = table.weight / table.weight.sum()
    edges = table.edges[0]
    even = options.scale == "linear" and np.allclose(np.diff(edges), edges[1])
    if not even:
        edges, share = _densities(edges, share, options.scale)
    below.stairs(
        share, edges, color=look["color"], linestyle=look["linestyle"], linewidth=1.3, fill=False
    )
    first = len(below.patches) == 1
    below.patches[-1].set_fill(first)
    below.patches[-1].set_facecolor((*_rgb(look["color"]), 0.25))
    below.set_ylabel("Share" if even else "Density")
    below.set_ylim(bottom=0.0)
    below.locator_params(axis="y", nbins=2)
    return below


def _densities(edges: Floats, share: Floats, scale: str) -> tuple[Floats, Floats]:
    """Edges of bins at least wide enough to see, and their densities on the scale that is drawn."""
    place, smallest = edges, 0.02
    if scale == "logit":
        edges = edges.clip(_TINY, 1.0 - _TINY)
        place, smallest = logit(edges), 0.5
    kept = [0]
    for k in range(1, len(edges)):
        if place[k] - place[kept[-1]] >= smallest:
            kept.append(k)
    kept = [*kept[: max(1, len(kept) - 1)], len(edges) - 1]
    return edges[kept], np.add.reduceat(share, kept[:-1]) / np.diff(place[kept])


def _rgb(colour: Any) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)


def _split_below(ax: Axes) -> Axes:
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
    return below
