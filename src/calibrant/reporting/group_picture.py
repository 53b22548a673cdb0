"""The picture of groups: the error of each, its interval, and what chance alone gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrant.displays.drawing import COLOURS, GREY
from calibrant.reporting.pictures import new_figure, to_svg
from calibrant.reporting.sample import short_labels
from calibrant.reporting.slices import Group

if TYPE_CHECKING:
    from markupsafe import Markup

_MOST = 20


def draw_groups(groups: Sequence[Group], metric: str) -> Markup:
    """The worst groups, the worst on top."""
    shown = groups[:_MOST]
    figure = new_figure(5.8, 1.5 + 0.3 * len(shown))
    ax = figure.subplots()
    at = np.arange(len(shown))
    error, low, high, chance = (
        np.array([getattr(group, name) for group in shown])
        for name in ("error", "low", "high", "by_chance")
    )
    for rejected, colour, marker in ((True, COLOURS[1], "o"), (False, COLOURS[0], "s")):
        own = np.array([group.rejected == rejected for group in shown])
        if own.any():
            label = f"{metric}, miscalibrated" if rejected else f"{metric}, no sign of it"
            ax.errorbar(
                error[own], at[own], xerr=[(error - low)[own], (high - error)[own]], fmt=marker,
                color=colour, capsize=2.5, linewidth=1.4, label=label,
            )  # fmt: skip
    ax.scatter(chance, at, marker="|", s=120.0, color=GREY, linewidth=2.0, label="By chance, about")
    names = short_labels(np.array([str(group.label) for group in shown]))
    ax.set_yticks(at, names.tolist())
    ax.set(xlabel=metric, xlim=(0.0, None), ylim=(len(shown) - 0.4, -0.6))
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    told = ", ".join(f"{name} {value:.3f}" for name, value in zip(names, error, strict=True))
    return to_svg(figure, "groups", f"{metric} of groups: {told}.")
