"""What `calibrant evaluate` says of rows that an engine holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calibrant import ReliabilityTable, brier_score, log_loss, reliability_table
from calibrant.cli.engines import EngineData
from calibrant.cli.evaluation import Evaluation, Measure, Progress, largest_errors, wanted
from calibrant.metrics import verdict

LEFT_OUT = ["95 % intervals", "kernel test"]
"""What is asked for by --resamples, and needs the rows in memory."""


def evaluate(
    data: EngineData,
    *,
    bins: int,
    strategy: str,
    progress: Progress = lambda title, done, total: None,
) -> Evaluation:
    """Measure the predictions without intervals and the test, which need the rows in memory."""
    title = f"{data.n_rows:,} rows in {data.engine}"
    kinds = ("classwise",) if data.binary else ("classwise", "confidence")
    n_steps = len(kinds) + 2
    progress(title, 0, n_steps)
    tables: dict[str, ReliabilityTable] = {}
    for kind in kinds:
        found = reliability_table(
            data.frame, kind=kind, n_bins=bins, strategy=strategy, **data.names
        )
        tables[kind] = replace(found, classes=np.array(data.labels))
        progress(title, len(tables), n_steps)
    brier = brier_score(data.frame, **data.names)
    progress(title, n_steps - 1, n_steps)
    loss = log_loss(data.frame, **data.names)
    progress(title, n_steps, n_steps)
    measures = [
        Measure(key, words, _metric(tables, **options))
        for key, words, options in wanted(data.binary)
    ]
    table = tables[kinds[-1]]
    return Evaluation(
        n=data.n_rows,
        classes=data.labels,
        rates=_rates(tables["classwise"], data),
        measures=(
            *measures,
            Measure("brier", "Brier score", brier),
            Measure("log_loss", "log loss", loss),
        ),
        verdict=verdict(table),
        table=table,
        worst=() if data.binary else largest_errors(tables["classwise"]),
        test=None,
    )


def _metric(
    tables: dict[str, ReliabilityTable], *, metric: str, kind: str = "classwise", **options: Any
) -> float:
    value: float = getattr(tables[kind], metric)(**options)
    return value


def _rates(table: ReliabilityTable, data: EngineData) -> dict[Any, float]:
    """The share of each class in the rows, by weight."""
    if data.binary:
        rate = float(table.sum_true.sum() / table.weight.sum())
        return dict(zip(data.labels, (1.0 - rate, rate), strict=True))
    panels = table.by_class()
    return {
        label: float(panel.sum_true.sum() / panel.weight.sum()) for label, panel in panels.items()
    }
