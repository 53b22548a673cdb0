"""What the displays share: matplotlib on first use, axes, and series told apart without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


Floats = NDArray[np.float64]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#888888")
"""Okabe and Ito (2008), Color Universal Design: told apart with every kind of colour vision.

Grey in the place of their black, which a dark style would swallow."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINE_STYLES: tuple[Any, ...] = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)), ":")
GREY = "0.5"
_LEGEND = "_calibrant_legend"
_REFERENCES = ("Perfect calibration", "Treat all", "Treat none", "Identity", "Uniform")


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError('displays need matplotlib: pip install "calibrant[plot]"') from error
    return pyplot


def check_axes(ax: Any) -> Axes:
    """The axes themselves."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise ValueError(f"ax must be a matplotlib Axes, got {type(ax).__name__}.")
    return ax


def axes_or_new(ax: Any, width: float = 5.6, height: float = 4.4) -> Axes:
    """The caller's axes, or those of a new figure of so many inches."""
    if ax is not None:
        return check_axes(ax)
    new: Axes = pyplot().subplots(figsize=(width, height), layout="constrained")[1]
    return new


def axes_list(ax: Any) -> list[Axes]:
    """The axes of one, a sequence or an array of them."""
    return [check_axes(one) for one in np.ravel(np.array(ax, dtype=object))]


def check_n_axes(axes: list[Axes], n: int) -> None:
    """Raise ValueError unless there are as many axes as panels."""
    if len(axes) != n:
        raise ValueError(f"ax holds {len(axes)} axes for {n} panels: pass {n}, or leave ax out.")


def check_option(value: Any, name: str, options: tuple[Any, ...]) -> None:
    """Raise ValueError unless the value is one of the options."""
    if not any(type(value) is type(option) and value == option for option in options):
        *most, last = map(repr, options)
        raise ValueError(f"{name} must be {', '.join(most)} or {last}, got {value!r}.")


def check_flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def predictions_of(estimator: Any, X: Any) -> tuple[Any, Any, str]:
    """What a classifier or calibrator predicts, its classes, and what it is called."""
    kind = instance_of(estimator)
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(f"estimator {kind} has no predict_proba: use from_predictions.")
    prob = estimator.predict_proba(X)
    if not hasattr(estimator, "classes_"):
        raise ValueError(f"estimator {kind} has no classes_: use from_predictions.")
    return prob, estimator.classes_, kind


def check_type(value: Any, name: str, kind: type) -> None:
    """Raise ValueError unless a display was made with an instance of the class."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, got {type(value).__name__}.")


def instance_of(estimator: Any) -> str:
    """What it is called; ValueError for a class."""
    if isinstance(estimator, type):
        raise ValueError(f"estimator is the class {estimator.__name__}: pass a fitted instance.")
    return type(estimator).__name__


def n_series(ax: Axes) -> int:
    """How many named lines the axes have, reference lines left out."""
    labels = [str(line.get_label()) for line in ax.get_lines()]
    return sum(not label.startswith("_") and label not in _REFERENCES for label in labels)


def style(k: int, given: dict[str, Any], **ours: Any) -> dict[str, Any]:
    """Colour, line style and marker of the k-th series, under what the caller gave."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    default = {
        "color": COLOURS[k % len(COLOURS)],
        "linestyle": LINE_STYLES[k % len(LINE_STYLES)],
        "marker": MARKERS[k % len(MARKERS)],
        "markersize": 5.5,
        "linewidth": 1.6,
    }
    return {**default, **ours, **normalize_kwargs(given, Line2D)}


def mark_some(k: int, n_points: int) -> tuple[int, int]:
    """Which points of a long line to mark, so that the marks of several lines lie apart."""
    step = max(1, n_points // 9)
    return (2 * k * step // 7) % step, step


def reference_line(ax: Axes, x: Any, y: Any, label: str, **given: Any) -> Line2D:
    """A thin grey line to compare with, drawn once on the same axes."""
    assert label in _REFERENCES
    for line in ax.get_lines():
        if line.get_label() == label:
            return line
    look = {"color": GREY, "linewidth": 1.0, "linestyle": (0, (1, 1.5)), "zorder": 1.5}
    (line,) = ax.plot(x, y, label=label, **{**look, **given})
    return line


def once(ax: Axes, label: str) -> str:
    """The label, or "_" (not in the legend) where the axes have it already."""
    return "_" if label in ax.get_legend_handles_labels()[1] else label


def add_legend(ax: Axes, **options: Any) -> None:
    """A legend of everything on the axes that has a label, what is only for comparison last."""
    ax.legend(**_entries(ax), **{"loc": "best", **options})


def add_figure_legend(ax: Axes) -> None:
    """The legend of one axes under all axes of its figure, in the place of the one before."""
    before = ax.figure.__dict__.pop(_LEGEND, None)
    if before is not None:
        before.remove()
    legend = ax.figure.legend(**_entries(ax), loc="outside lower center", ncols=2)
    ax.figure.__dict__[_LEGEND] = legend


def has_figure_legend(ax: Axes) -> bool:
    return _LEGEND in ax.figure.__dict__


def _entries(ax: Axes) -> dict[str, Any]:
    handles, labels = ax.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda k: labels[k] in _REFERENCES)
    return {
        "handles": [handles[k] for k in order],
        "labels": [labels[k] for k in order],
        "fontsize": "small",
        "framealpha": 0.85,
    }


def title(ax: Axes, heading: str, subtitle: str | None = None) -> None:
    """A title at the left, with what was measured under it."""
    text = heading if subtitle is None else f"{heading}\n{subtitle}"
    ax.set_title(text, loc="left", fontsize="medium", linespacing=1.4)


def percent(level: float) -> str:
    return f"{100 * level:.4g} %"
