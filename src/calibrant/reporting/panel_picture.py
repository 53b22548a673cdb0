"""The picture of the decision panel, in which the script moves the lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.displays.drawing import COLOURS
from calibrant.reporting.pictures import KEEP, new_figure, to_svg
from calibrant.reporting.stakes import Stakes, words

if TYPE_CHECKING:
    from markupsafe import Markup

_N_TICKS = 4


def draw_panel(stakes: Stakes, x_label: str) -> Markup:
    """Loss against threshold for the cost that the panel starts with."""
    figure = new_figure(5.8, 4.1)
    ax = figure.subplots()
    ax.patch.set_gid(f"{KEEP}box")
    k = stakes.start
    top, at = stakes.tops[k], stakes.thresholds
    for s, (name, own) in enumerate(stakes.losses.items()):
        look: dict[str, Any] = {"color": COLOURS[s], "linewidth": 1.8}
        ax.plot(at, own.realised[k] / top, gid=f"{KEEP}realised-{s}", **look,
                label=f"{name.capitalize()}: realised")  # fmt: skip
        ax.plot(at, own.predicted[k] / top, gid=f"{KEEP}predicted-{s}", **look,
                linestyle=(0, (4, 2)), label=f"{name.capitalize()}: predicted")  # fmt: skip
    cursor = float(at[stakes.best[k]])
    ax.axvline(cursor, color="0.25", linewidth=1.0, gid=f"{KEEP}cursor", label="Threshold chosen")
    ticks = np.arange(_N_TICKS + 1) / _N_TICKS
    ax.set_yticks(ticks, [f"{top * tick:.6g}" for tick in ticks])
    for tick, label in enumerate(ax.get_yticklabels()):
        label.set_gid(f"{KEEP}tick-{tick}")
    ax.set(xlim=(at[0], at[-1]), ylim=(0.0, 1.0), xlabel=x_label)
    ax.set_ylabel("Loss per row (a false alarm costs 1)")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    first = next(iter(stakes.losses.values()))
    description = (
        f"Predicted and realised loss by threshold. {words(stakes.costs[k])}. At {cursor:.3g}, "
        f"{first.predicted[k][stakes.best[k]]:.3f} was predicted and "
        f"{first.realised[k][stakes.best[k]]:.3f} came."
    )
    return to_svg(figure, "panel", description)
