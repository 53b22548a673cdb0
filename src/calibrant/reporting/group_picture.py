"""The picture of groups: the error of each, its interval, and what chance alone gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrant.displays.drawing import COLOURS, GREY
from calibrant.reporting.names import short_labels
from calibrant.reporting.names import shown as as_text
from calibrant.reporting.pictures import new_figure, to_svg
from calibrant.reporting.slices import Group

if TYPE_CHECKING:
    from markupsafe import Markup

_MOST = 20
_KINDS = {
    "rejected": ("miscalibrated", COLOURS[1], "o"),
    "suspect": ("not shown after correction", COLOURS[2], "D"),
    "tested": ("no sign of it", COLOURS[0], "s"),
    "small": ("too small to test", COLOURS[0], "x"),
}


def draw_groups(groups: Sequence[Group], metric: str) -> Markup:
    """The groups with the strongest evidence, the strongest on top."""
    shown = groups[:_MOST]
    figure = new_figure(5.8, 1.5 + 0.3 * len(shown))
    ax = figure.subplots()
    at = np.arange(len(shown))
    error, low, high, chance = (
        np.array([getattr(group, name) for group in shown])
        for name in ("error", "low", "high", "by_chance")
    )
    kinds = np.array([_kind(group) for group in shown])
    for kind, (told, colour, marker) in _KINDS.items():
        own = kinds == kind
        if own.any():
            ax.errorbar(
                error[own], at[own], xerr=[(error - low)[own], (high - error)[own]], fmt=marker,
                color=colour, capsize=2.5, linewidth=1.4, label=f"{metric}, {told}",
            )  # fmt: skip
    ax.scatter(chance, at, marker="|", s=120.0, color=GREY, linewidth=2.0, label="By chance, about")
    names = short_labels(np.array([as_text(group.label) for group in shown]))
    ax.set_yticks(at, names.tolist())
    ax.set(xlabel=metric, xlim=(0.0, None), ylim=(len(shown) - 0.4, -0.6))
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    told = ", ".join(f"{name} {value:.3f}" for name, value in zip(names, error, strict=True))
    return to_svg(figure, "groups", f"{metric} of groups: {told}.")


def _kind(group: Group) -> str:
    return next(
        (kind for kind in ("rejected", "suspect", "tested") if getattr(group, kind)), "small"
    )
