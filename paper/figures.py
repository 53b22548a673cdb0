"""Figures 1 to 4 of the paper, from the results of `python -m paper.run`.

python -m paper.figures [--results paper/cache/results.parquet] [--docs docs]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from . import measures
from .methods import AVERAGE, DISTRIBUTION, NONE, THRESHOLD
from .summaries import along

# SUPPORT2 in place of MIMIC-III, which needs credentials.
SETS = {"los_support2": "SUPPORT2 stays", "protein": "UCI Protein"}


class Line(NamedTuple):
    """How a method is drawn: to be told apart without colours too."""

    label: str
    color: str
    style: str
    marker: str


LINES = {
    NONE: Line("None", "#000000", "-", ""),
    AVERAGE: Line("Average", "#56b4e9", "--", "s"),
    THRESHOLD: Line("Threshold", "#b3005e", "-", "o"),
    DISTRIBUTION: Line("Distribution", "#009e73", ":", "^"),
}
TRUE_LOSS = Line("True decision loss", "#000000", "-", "o")
PREDICTED_LOSS = Line("Predicted decision loss", "#d55e00", "--", "s")

_WIDTH = 10.0  # inches
_N_MARKS = 10
_STYLE: Any = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "font.size": 9,
    "grid.alpha": 0.3,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 3.5,
    # Names of clip paths and markers would be random otherwise.
    "svg.hashsalt": "calibrant",
}


def one_maker(results: pl.DataFrame) -> Any:
    """Figure 1: predicted and true loss of one decision maker's rules, a row for each data set."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, 5.6), layout="constrained")
    panels = figure.subplots(len(SETS), 3)
    axis = measures.BY_LEVEL
    losses = {
        TRUE_LOSS: along(results, axis, measures.LOSS),
        PREDICTED_LOSS: along(results, axis, measures.PREDICTED),
    }
    gaps = along(results, axis, measures.GAP)
    for (name, shown), (left, middle, right) in zip(SETS.items(), panels, strict=True):
        for axes, method in ((left, AVERAGE), (right, THRESHOLD)):
            for turn, (line, means) in enumerate(losses.items()):
                _draw(axes, line, _of(means, name, "gaussian", method), turn)
            axes.set(
                title=f"{shown}: {LINES[method].label.lower()}-calibrated",
                xlabel="Acceptance threshold",
                ylabel="Decision loss",
            )
        right.sharey(left)
        for turn, method in enumerate((AVERAGE, THRESHOLD)):
            _draw(middle, LINES[method], _of(gaps, name, "gaussian", method), turn)
        middle.set(title=shown, xlabel="Acceptance threshold", ylabel="Reliability gap")
        middle.set_ylim(bottom=0.0)
    _legend(figure, left, middle)
    return figure


def compared(results: pl.DataFrame, axis: str, family: str, label: str) -> Any:
    """Figures 2 to 4: gap and loss of all methods along an axis, for two data sets."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, 3.2), layout="constrained")
    panels = iter(figure.subplots(1, 2 * len(SETS)))
    for measure, title in (
        (measures.GAP, "Reliability gap"),
        (measures.LOSS, "True decision loss"),
    ):
        means = along(results, axis, measure)
        for name, shown in SETS.items():
            axes = next(panels)
            for turn, (method, line) in enumerate(LINES.items()):
                _draw(axes, line, _of(means, name, family, method), turn)
            axes.set(title=shown, xlabel=label, ylabel=title)
            axes.set_ylim(bottom=0.0)
    _legend(figure, axes)
    return figure


def figures(results: pl.DataFrame) -> dict[str, Any]:
    """The four figures by file name."""
    threshold, ratio = measures.BY_THRESHOLD, measures.BY_RATIO
    return {
        "figure1": one_maker(results),
        "figure2": compared(results, threshold, "gaussian", "Decision threshold"),
        "figure3": compared(results, ratio, "gaussian", "Decision cost ratio"),
        "figure4": compared(results, ratio, "mixture", "Decision cost ratio"),
    }


def _legend(figure: Any, *panels: Any) -> None:
    """One legend under the panels."""
    named = {
        label: handle
        for axes in panels
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=len(named))


def _of(means: pl.DataFrame, name: str, family: str, method: str) -> pl.DataFrame:
    key = (pl.col("data") == name) & (pl.col("family") == family) & (pl.col("method") == method)
    return means.filter(key).sort("index")


def _draw(axes: Any, line: Line, means: pl.DataFrame, turn: int) -> None:
    """A line with the intervals of some of its points, not those of the other lines."""
    if means.is_empty():
        raise ValueError(
            f"the results do not hold what {line.label!r} is drawn from: run python -m paper.run "
            f"for {' and '.join(SETS)}."
        )
    every = max(1, len(means) // _N_MARKS)
    first = turn % every
    axes.errorbar(
        means["at"], means["value"], yerr=means["half"], label=line.label, color=line.color,
        linestyle=line.style, marker=line.marker, markevery=(first, every),
        errorevery=(first, every), elinewidth=0.8, capsize=2.0,
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and draw."""
    parser = argparse.ArgumentParser(
        prog="python -m paper.figures",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--results", type=Path, default=Path("paper/cache/results.parquet"))
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    options = parser.parse_args(arguments)
    try:
        import matplotlib
    except ImportError:
        parser.exit(1, 'drawing needs matplotlib: pip install "calibrant[paper]"\n')
    folder = options.docs / "paper"
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(_STYLE):
        for name, figure in figures(pl.read_parquet(options.results)).items():
            metadata = {"Date": None, "Creator": None}
            figure.savefig(folder / f"{name}.svg", metadata=metadata)


if __name__ == "__main__":
    main()
