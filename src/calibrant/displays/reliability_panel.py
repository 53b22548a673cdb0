"""One panel of a reliability diagram: the points, what chance does, the histogram underneath."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.displays import bands, drawing
from calibrant.displays.drawing import Floats
from calibrant.displays.reliability_axes import set_logit_ticks, split_below
from calibrant.metrics import ReliabilityTable
from calibrant.transforms import logit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D

_MARK = "_calibrant_panels"
_TINY = 1e-12


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
    """The panels drawn on these axes so far, unless the axes were cleared since."""
    panels: list[Panel] = ax.__dict__.setdefault(_MARK, [])
    panels[:] = [panel for panel in panels if panel.line.axes is ax]
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
    off_scale = _draw_off_scale(ax, look) if options.scale == "logit" else None
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
        ax.autoscale(False)  # it overflows at probabilities near 0, and limits are set below


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
            table.mean_prob, low, high, colors=colour, linewidth=width, alpha=0.35, zorder=1.8,
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
    area = 220.0 * (table.weight / table.weight.max())
    return ax.scatter(
        table.mean_prob, table.observed, s=area, marker=look["marker"], color=look["color"],
        edgecolor=ax.get_facecolor(), linewidth=0.6, alpha=0.85, zorder=2.1, label="_",
    )  # fmt: skip


def _draw_off_scale(ax: Axes, look: dict[str, Any]) -> PathCollection:
    """Hollow marks for points that logit axes do not reach; `_set_limits` puts them on the edge."""
    return ax.scatter(
        [], [], s=34.0, marker="d", facecolor=ax.get_facecolor(), edgecolor=look["color"],
        clip_on=False, zorder=3.0,
    )  # fmt: skip


def _set_limits(ax: Axes, options: Options) -> None:
    if options.scale == "linear":
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        return
    ends = _logit_ends([panel.table for panel in panels_on(ax)])
    ax.set(xlim=ends, ylim=ends)
    set_logit_ticks(ax, ends)
    for panel in panels_on(ax):
        if panel.off_scale is not None:
            points = np.column_stack([panel.table.mean_prob, panel.table.observed])
            off = ((points < ends[0]) | (points > ends[1])).any(axis=1)
            panel.off_scale.set_offsets(points[off].clip(*ends))
            panel.off_scale.set_label("_")
            panel.off_scale.set_label(drawing.once(ax, "Off the scale") if off.any() else "_")


def _logit_ends(tables: list[ReliabilityTable]) -> Floats:
    """Limits that show every point, but nothing finer than a tenth of a row in all."""
    finest = 0.1 / max(table.count.sum() for table in tables)
    shown = np.concatenate([values for t in tables for values in (t.mean_prob, t.observed)])
    inside = shown[(shown > 0.0) & (shown < 1.0)].clip(finest, 1.0 - finest)
    low, high = (inside.min(), inside.max()) if len(inside) else (0.1, 0.9)
    odds = np.array([low / (1.0 - low) / 1.6, high / (1.0 - high) * 1.6])
    return np.asarray(odds / (1.0 + odds))


def _draw_histogram(
    ax: Axes, table: ReliabilityTable, options: Options, look: dict[str, Any]
) -> Axes:
    """How the predictions are spread over the bins, as outlines that lie over each other."""
    below = next((p.histogram_ax for p in panels_on(ax) if p.histogram_ax is not None), None)
    if below is None:
        below = split_below(ax)
    share = table.weight / table.weight.sum()
    edges = table.edges[0]
    even = options.scale == "linear" and np.allclose(np.diff(edges), edges[1])
    if not even:
        tables = [table, *(panel.table for panel in panels_on(ax))]
        ends = _logit_ends(tables) if options.scale == "logit" else None
        edges, share = _densities(edges, share, ends)
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


def _densities(edges: Floats, share: Floats, logit_ends: Floats | None) -> tuple[Floats, Floats]:
    """Edges of bins merged until they are wide enough to see, and densities on the scale shown.

    Logit axes show what is beyond their ends in the first and the last bin.
    """
    place, smallest = edges, 0.02
    if logit_ends is not None:
        edges = edges.clip(*logit_ends)
        place = logit(edges)
        smallest = (place[-1] - place[0]) / 50.0
    kept = [0]
    for k in range(1, len(edges)):
        if place[k] - place[kept[-1]] >= smallest:
            kept.append(k)
    kept = [*kept[: max(1, len(kept) - 1)], len(edges) - 1]
    return edges[kept], np.add.reduceat(share, kept[:-1]) / np.diff(place[kept])


def _rgb(colour: Any) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)
