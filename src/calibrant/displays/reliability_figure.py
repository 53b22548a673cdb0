"""The panels of a reliability diagram together: their classes, their scale, labels and legend."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.arguments import check_n_bins
from calibrant.displays import drawing
from calibrant.displays.reliability_axes import axis_labels, label_axes
from calibrant.displays.reliability_panel import panels_on
from calibrant.labels import shown
from calibrant.metrics import ReliabilityTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def tables_to_draw(
    table: ReliabilityTable, classes: Any, n_panels: Any, axes: list[Axes] | None
) -> dict[Any, ReliabilityTable]:
    """The table of each panel by its class: those asked for, those on the axes, or the worst."""
    if table.kind != "classwise":
        if classes is not None:
            raise ValueError(f"classes is for classwise tables, not {table.kind} ones.")
        return {None: table}
    tables = table.by_class()
    if classes is None and axes is not None and all(panels_on(one) for one in axes):
        classes = [panels_on(one)[0].table.classes[0] for one in axes]
    if classes is None:
        worst = sorted(tables, key=lambda label: -tables[label].ece())
        return {label: tables[label] for label in worst[: _check_n_panels(n_panels)]}
    return {label: tables[label] for label in _checked(classes, table)}


def _checked(classes: Any, table: ReliabilityTable) -> list[Any]:
    """The labels asked for: at least one, each in the table and named once."""
    known = table.classes.tolist()
    labels = None if isinstance(classes, str) or not isinstance(classes, Iterable) else [*classes]
    if not labels:
        raise ValueError(f"classes must be a list of labels, got {classes!r:.80}.")
    for place, label in enumerate(labels):
        if not np.isscalar(label) or label not in known:
            raise ValueError(
                f"classes names {label!r}, which the table does not have: "
                f"it has {shown(table.classes)}."
            )
        if label in labels[:place]:
            raise ValueError(f"classes names {label!r} twice: name each class once.")
    return labels


def check_scale(scale: Any, axes: list[Axes] | None) -> None:
    """Raise ValueError if it is not a scale, or diagrams on the axes have another."""
    drawing.check_option(scale, "scale", ("linear", "logit"))
    for one in axes or []:
        if panels_on(one) and one.get_xscale() != scale:
            raise ValueError(f"scale is {scale!r}, but the axes are {one.get_xscale()} already.")


def describe(axes: list[Axes], table: ReliabilityTable, *, new_grid: bool) -> None:
    """Heading and labels where there are none yet, and a legend of everything."""
    if new_grid:
        heading = f"Reliability diagrams of {len(axes)} of {len(table.edges)} classes"
        axes[0].figure.suptitle(heading, x=0.02, ha="left", fontsize="medium")
    if len(panels_on(axes[0])) == 1:
        lowest = [panels_on(one)[0].histogram_ax or one for one in axes]
        label_axes(axes, lowest, *axis_labels(table), outer=new_grid)
    if new_grid or drawing.has_figure_legend(axes[0]):
        drawing.add_figure_legend(axes[0])
    else:
        drawing.add_legend(axes[0])


def _check_n_panels(n_panels: Any) -> int:
    try:
        return check_n_bins(n_panels)
    except ValueError:
        raise ValueError(f"n_panels must be an integer of at least 1, got {n_panels!r}.") from None
