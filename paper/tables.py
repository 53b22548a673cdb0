"""The tables of docs/paper.md and docs/paper/tables.md, made from the results."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from . import measures
from .methods import (
    AVERAGE,
    DISTRIBUTION,
    FEW_LAYERS,
    LARGE_CELLS,
    MANY_LAYERS,
    NONE,
    RAISED,
    THRESHOLD,
    THRESHOLDWISE,
)
from .sets import FAMILIES
from .summaries import Mean, Summary, along

COMPARED = {NONE: "N", AVERAGE: "A", THRESHOLD: "T", DISTRIBUTION: "D"}
MEASURES = (
    measures.GAP,
    measures.AT_FREQUENT,
    measures.BETWEEN_FREQUENT,
    measures.LOSS,
    measures.CRPS,
    measures.AVERAGE_ERROR,
    measures.THRESHOLD_ERROR,
    measures.LARGEST_ERROR,
    measures.DISTRIBUTION_ERROR,
    measures.LAYERS,
    measures.FITTED_ERROR,
    measures.CELL_ROWS,
    measures.OUTSIDE_CELLS,
)
# Method, other, measures: the comparisons that the paper's claims rest on.
CLAIMS = (
    (AVERAGE, NONE, (measures.GAP, measures.LOSS, measures.CRPS)),
    (DISTRIBUTION, NONE, (measures.GAP, measures.LOSS, measures.CRPS)),
    (RAISED, DISTRIBUTION, (measures.GAP, measures.LOSS)),
    (RAISED, NONE, (measures.GAP, measures.LOSS)),
    (LARGE_CELLS, NONE, (measures.GAP, measures.LOSS)),
    (THRESHOLD, NONE, (measures.GAP, measures.LOSS, measures.CRPS)),
    (THRESHOLD, AVERAGE, (measures.GAP, measures.LOSS)),
    (THRESHOLD, DISTRIBUTION, (measures.GAP, measures.LOSS)),
    (THRESHOLD, LARGE_CELLS, (measures.GAP, measures.LOSS)),
    (MANY_LAYERS, FEW_LAYERS, (measures.GAP, measures.LOSS)),
    (THRESHOLDWISE, NONE, (measures.GAP, measures.LOSS, measures.CRPS)),
    (THRESHOLDWISE, FEW_LAYERS, (measures.GAP, measures.LOSS, measures.CRPS)),
    (THRESHOLDWISE, MANY_LAYERS, (measures.GAP, measures.LOSS, measures.CRPS)),
    (THRESHOLDWISE, THRESHOLD, (measures.GAP, measures.LOSS, measures.CRPS)),
)
# Algorithm 1 as printed, and what is better.
BEYOND = (NONE, FEW_LAYERS, MANY_LAYERS, THRESHOLD, THRESHOLDWISE)

_BOOKKEEPING = (measures.LAYERS, measures.FITTED_ERROR, measures.CELL_ROWS, measures.OUTSIDE_CELLS)


def write(results: pl.DataFrame, docs: Path) -> None:
    """Rewrite the tables in the folder of the documentation."""
    seeds = results["seed"].unique().sort()
    (docs / "paper").mkdir(parents=True, exist_ok=True)
    heading = (
        "# Tables of the paper's experiments\n\n"
        f"Test rows, means over seeds {', '.join(map(str, seeds))}, ± half the width of the 95 % "
        "interval by Student's t over seeds. The smallest mean is bold. Written by "
        "`python -m paper.run`; [what the tables say](../paper.md).\n"
    )
    parts = [
        f"## {measure[0].upper()}{measure[1:]}\n\n{by_method(results, measure)}\n"
        for measure in MEASURES
    ]
    (docs / "paper" / "tables.md").write_text("\n".join([heading, *parts]), encoding="utf-8")
    page = docs / "paper.md"
    if page.exists():
        text = page.read_text(encoding="utf-8")
        blocks = {
            "order": orders(results),
            "claims": claims(results),
            "thresholds": best_thresholds(results),
            "families": between_families(results),
            "beyond": beyond(results),
        }
        for name, table in blocks.items():
            text = _replaced(text, name, table)
        page.write_text(text, encoding="utf-8")


def by_method(results: pl.DataFrame, measure: str) -> str:
    """Means of all methods, a row for each data set and family."""
    summary = Summary(results, measure)
    methods = summary.methods()
    rows = []
    for case in summary.cases():
        means = [summary.mean(*case, method) for method in methods]
        if measure in _BOOKKEEPING:
            cells = [_cell(mean, spec=".3g") for mean in means]
        else:
            best = min(mean.value for mean in means if mean is not None)
            cells = [_cell(mean, best) for mean in means]
        rows.append([*case, *cells])
    return markdown(["data", "family", *methods], rows)


def orders(results: pl.DataFrame) -> str:
    """The methods from the smallest to the largest gap and loss."""
    rows = []
    for measure in (measures.GAP, measures.LOSS):
        summary = Summary(results, measure)
        for name, family in summary.cases():
            means = {m: summary.mean(name, family, m) for m in COMPARED}
            known = {method: mean.value for method, mean in means.items() if mean is not None}
            ranked = sorted(known, key=lambda method: known[method])
            shown = f"{COMPARED[ranked[0]]} {known[ranked[0]]:.4f}"
            for before, method in itertools.pairwise(ranked):
                difference = summary.difference(name, family, method, before)
                clear = difference is not None and difference.sign > 0
                shown += f" {'<' if clear else '≈'} {COMPARED[method]} {known[method]:.4f}"
            rows.append([measure, name, family, shown])
    return markdown(["measure", "data", "family", "from best to worst"], rows)


def claims(results: pl.DataFrame) -> str:
    """For each comparison: mean difference, and on how many data sets it is clear."""
    rows = []
    for method, other, compared in CLAIMS:
        for measure in compared:
            summary = Summary(results, measure)
            for family in FAMILIES:
                found = [
                    difference
                    for name, known in summary.cases()
                    if known == family
                    and (difference := summary.difference(name, family, method, other))
                ]
                if found:
                    rows.append([method, other, measure, family, *_counts(found)])
    heads = ["method", "against", "measure", "family", "mean difference", "lower on",
             "clearly lower on", "clearly higher on"]  # fmt: skip
    return markdown(heads, rows)


def best_thresholds(results: pl.DataFrame) -> str:
    """At how many thresholds and cost ratios each method has the smallest mean gap."""
    rows = []
    for axis in (measures.BY_THRESHOLD, measures.BY_RATIO):
        means = along(results, axis, measures.GAP)
        means = means.filter(pl.col("method").is_in(list(COMPARED)))
        wide = means.pivot("method", index=["data", "family", "index"], values="value")
        for name, family in Summary(results, measures.GAP).cases():
            part = wide.filter((pl.col("data") == name) & (pl.col("family") == family))
            values = part.select(*COMPARED)
            best = values.select(pl.min_horizontal(*COMPARED)).to_series()
            worse = (values[AVERAGE] > values[NONE]).sum()
            wins = [str((values[method] == best).sum()) for method in COMPARED]
            rows.append([axis, name, family, *wins, str(worse)])
    return markdown(["places", "data", "family", *COMPARED, "average above none"], rows)


def between_families(results: pl.DataFrame) -> str:
    """The uncalibrated forecasters, and what threshold recalibration makes of them."""
    rows = []
    for measure in (measures.GAP, measures.LOSS, measures.CRPS):
        summary = Summary(results, measure)
        for name in dict.fromkeys(name for name, _ in summary.cases()):
            means = [
                summary.mean(name, family, m) for m in (NONE, THRESHOLD) for family in FAMILIES
            ]
            rows.append([measure, name, *(_cell(mean) for mean in means)])
    heads = [f"{method}, {family}" for method in (NONE, THRESHOLD) for family in FAMILIES]
    return markdown(["measure", "data", *heads], rows)


def beyond(results: pl.DataFrame) -> str:
    """The gap of Algorithm 1 and of its successors, and in units of the better number of layers."""
    summary = Summary(results, measures.GAP)
    rows, totals = [], dict.fromkeys(BEYOND, 0.0)
    cases = summary.cases()
    for case in cases:
        means = {method: summary.mean(*case, method) for method in BEYOND}
        if any(mean is None for mean in means.values()):
            continue
        known = {method: mean for method, mean in means.items() if mean is not None}
        for method, mean in known.items():
            totals[method] += mean.value
        best = min(mean.value for mean in known.values())
        printed = min(known[method].value for method in (FEW_LAYERS, MANY_LAYERS))
        ratio = known[THRESHOLDWISE].value / printed
        rows.append([*case, *(_cell(mean, best) for mean in known.values()), f"{ratio:.2f}"])
    if rows:
        printed = min(totals[method] for method in (FEW_LAYERS, MANY_LAYERS))
        ratio = totals[THRESHOLDWISE] / printed
        means_of_all = [f"{total / len(rows):.4f}" for total in totals.values()]
        rows.append(["all", "", *means_of_all, f"{ratio:.2f}"])
    heads = ["data", "family", *BEYOND, "thresholdwise to the better of 10 and 40 layers"]
    return markdown(heads, rows)


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(mean: Mean | None, best: float | None = None, spec: str = ".4f") -> str:
    if mean is None:
        return ""
    return f"**{mean:{spec}}**" if mean.value == best else f"{mean:{spec}}"


def _counts(differences: Sequence[Mean]) -> list[str]:
    n = len(differences)
    mean = sum(difference.value for difference in differences) / n
    lower = sum(difference.value < 0.0 for difference in differences)
    clear = [sum(difference.sign == sign for difference in differences) for sign in (-1, 1)]
    return [f"{mean:+.4f}", *(f"{count} of {n}" for count in (lower, *clear))]


def _replaced(text: str, name: str, table: str) -> str:
    """The text with a table between the marks of that name."""
    start, end = f"<!-- {name} -->", f"<!-- end {name} -->"
    before, found, rest = text.partition(start)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise ValueError(f"docs/paper.md has no place for the table {name!r}: {start} ... {end}.")
    return f"{before}{start}\n\n{table}\n\n{end}{after}"
