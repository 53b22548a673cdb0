"""What the command line prints, for people: 80 columns, colour only where there is a terminal."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from calibrant import CalibrationTest, ReliabilityTable
from calibrant.cli.engines import EngineData
from calibrant.cli.errors import listed, visible
from calibrant.cli.evaluation import Evaluation
from calibrant.cli.predictions import Data
from calibrant.selection import CalibratorComparison
from calibrant.selection.showing import details


class _Console(Console):
    """A console that draws in ASCII where the stream is not Unicode."""

    @property
    def encoding(self) -> str:
        # rich takes standard streams for UTF-8.
        return (getattr(self.file, "encoding", None) or "utf-8").lower()

    def render_str(self, text: str, **options: Any) -> Text:
        # All that is printed comes by here, cells of tables too.
        return super().render_str(visible(text), **options)


# Results go to stdout; what accompanies them, like progress, to stderr.
out = _Console(highlight=False, soft_wrap=False, markup=False)
err = _Console(stderr=True, highlight=False, markup=False)

_MOST_BINS = 25
_BAR = 20  # cells of the bar, fewer where the terminal is too narrow
_BETWEEN = 3  # characters from one column of a table to the next
_EDGES = 2  # characters on both sides of a table


def heading(text: str) -> None:
    out.print()
    out.print(text, style="bold")


def evaluation(found: Evaluation, source: str, mapping: str) -> None:
    rates = sorted(found.rates.items(), key=lambda pair: -pair[1])
    if len(rates) == 2:
        happened = f"which happened in {100 * found.rates[found.classes[1]]:.3g} % of them"
    else:
        commonest = ", ".join(f"{label!r} {100 * rate:.3g} %" for label, rate in rates[:3])
        happened = f"most often happened {commonest}"
    out.print(f"{source}: {found.n:,} rows; {mapping}, {happened}.")
    heading(found.verdict.text)
    measures(found)
    reliability(found.table)
    if found.worst:
        out.print()
        errors = ", ".join(f"{label!r} {error:.4f}" for label, error in found.worst)
        out.print(f"Largest ECE of a class against the rest: {errors}.")
    if found.test is not None:
        out.print()
        test_line(found.test)


def left_out(engine: str, parts: Sequence[str]) -> None:
    """What was not computed, since it needs all rows in memory."""
    out.print()
    out.print(f"Left out by --engine {engine}: {', '.join(parts)}.", style="yellow")


def taken(options: str) -> None:
    """Which columns were taken that no option names, as the options that name them."""
    if options:
        err.print(f"Taken: {options} (name these to take other columns)", soft_wrap=True)


def predictions(data: Data | EngineData) -> None:
    """What was read."""
    n_rows = data.n_rows if isinstance(data, EngineData) else len(data.y)
    out.print(f"{data.source}: {n_rows:,} rows; {data.mapping()}")


def written(n_rows: int, source: str, output: Path, columns: Sequence[str]) -> None:
    """What became of a file."""
    out.print(f"Wrote {n_rows:,} rows of {source} to {output}, with {listed(columns, 6)}.")


def measures(found: Evaluation) -> None:
    intervals = any(measure.low is not None for measure in found.measures)
    table = bare_table()
    table.add_column("metric")
    table.add_column("estimate", justify="right")
    if intervals:
        table.add_column("95 % interval", justify="right")
    for measure in found.measures:
        row = [measure.title, f"{measure.estimate:.5f}"]
        if intervals:
            known = measure.low is not None
            row.append(f"{measure.low:.5f} to {measure.high:.5f}" if known else "")
        table.add_row(*row)
    out.print(table)


def reliability(table: ReliabilityTable) -> None:
    """The bins that hold rows; the bar is the observed frequency, the mark the mean prediction.

    Where the terminal has no room for the bar, it is left out.
    """
    what = "top label" if table.kind == "confidence" else "predictions"
    names = [what, "rows", "predicted", "observed", "gap"]
    filled = np.flatnonzero(table.count)
    rows = [
        [
            f"{table.lower[b]:.3g} to {table.upper[b]:.3g}",
            f"{table.count[b]:,}",
            f"{table.mean_prob[b]:.3f}",
            f"{table.observed[b]:.3f}",
            f"{table.gap[b]:+.3f}",
        ]
        for b in filled[:_MOST_BINS]
    ]
    full, empty = "#." if out.options.ascii_only else "█·"
    title = f"{full} obs. | pred."
    taken = sum(max(map(len, cells)) + _BETWEEN for cells in zip(names, *rows, strict=True))
    n_cells = min(_BAR, out.width - taken - _EDGES)
    with_bar = n_cells >= len(title)
    shown = bare_table()
    for name in names:
        shown.add_column(name, justify="left" if name == what else "right")
    if with_bar:
        shown.add_column(title, no_wrap=True)
    for b, row in zip(filled, rows, strict=False):
        observed, predicted = float(table.observed[b]), float(table.mean_prob[b])
        bar = _bar(observed, predicted, n_cells, full, empty)
        shown.add_row(*row, *([bar] if with_bar else []))
    out.print(shown)
    if len(filled) > _MOST_BINS:
        out.print(f"... and {len(filled) - _MOST_BINS} more bins")


def _bar(observed: float, predicted: float, n_cells: int, full: str, empty: str) -> str:
    cells = [full] * round(observed * n_cells)
    cells += [empty] * (n_cells - len(cells))
    cells[min(int(predicted * n_cells), n_cells - 1)] = "|"
    return "".join(cells)


def test_line(test: CalibrationTest) -> None:
    out.print(f"Kernel test: p = {test.pvalue:.3g}. {test.interpretation}")


def before_and_after(before: Evaluation, after: Evaluation) -> None:
    """What calibration did to the same rows."""
    heading(f"Before: {before.verdict.text}")
    out.print(f"After:  {after.verdict.text}", style="bold")
    table = bare_table()
    table.add_column("metric")
    table.add_column("before", justify="right")
    table.add_column("after", justify="right")
    for old, new in zip(before.measures, after.measures, strict=True):
        table.add_row(old.title, f"{old.estimate:.5f}", f"{new.estimate:.5f}")
    if before.test is not None and after.test is not None:
        table.add_row("kernel test, p", f"{before.test.pvalue:.3g}", f"{after.test.pvalue:.3g}")
    out.print(table)


def comparison(found: CalibratorComparison) -> None:
    """What is recommended, and a table for each metric."""
    heading(found.interpretation)
    for line in details(found):
        out.print(line, soft_wrap=True)
    out.print()


def normalized(n_divided: int | None, n_rows: int) -> None:
    """How many rows were divided by their sums, where that was asked for."""
    if n_divided is not None:
        err.print(f"--normalize: {n_divided:,} of {n_rows:,} rows were divided by their sums.")


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print what the library warns of as notes on stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        err.print(f"Note: {message}", style="yellow")


def notes(name: str, notes: Sequence[str]) -> None:
    for note in notes:
        out.print(f"{name}: {note}", style="yellow")


def bare_table() -> Table:
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar on stderr while the block runs, if somebody watches; else nothing at all."""
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )
    with bars:
        task = bars.add_task("", total=None)

        def update(title: str, done: int, total: int) -> None:
            bars.update(task, description=title, completed=done, total=total)

        yield update
