"""A reliability table as text and as a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant import frames

if TYPE_CHECKING:
    from calibrant.metrics.table import ReliabilityTable

_MAX_LINES = 20


def as_frame(table: ReliabilityTable, backend: frames.Backend | None) -> Any:
    """A native data frame with a row for each bin."""
    columns: dict[str, Any] = {}
    if table.kind == "classwise":
        columns["class"] = table.classes[table.panel]
    for name in ("lower", "upper", "count", "weight", "mean_prob", "observed", "gap"):
        columns[name] = getattr(table, name)
    return frames.from_columns(columns, backend)


def as_text(table: ReliabilityTable) -> str:
    """A heading and one aligned line for each of the first bins."""
    n_rows = int(table.count[table.panel == 0].sum())
    sizes = [_number(n_rows, "row")]
    if table.kind == "classwise":
        sizes.append(_number(len(table.edges), "class", "classes"))
    sizes.append(_number(len(table.count), f"{table.strategy} bin"))
    heading = f"ReliabilityTable: {table.kind}, {', '.join(sizes)}, ECE {table.ece():.4g}"
    shown = {
        "lower": (table.lower, ".4g"),
        "upper": (table.upper, ".4g"),
        "count": (table.count, "d"),
        "weight": (table.weight, ".6g"),
        "mean_prob": (table.mean_prob, ".4f"),
        "observed": (table.observed, ".4f"),
        "gap": (table.gap, "+.4f"),
    }
    if (table.weight == table.count).all():
        del shown["weight"]
    columns = [
        (name, ["-" if np.isnan(v) else format(v, form) for v in values[:_MAX_LINES]])
        for name, (values, form) in shown.items()
    ]
    if table.kind == "classwise":
        columns.insert(0, ("class", [str(k) for k in table.classes[table.panel[:_MAX_LINES]]]))
    lines = [heading, *frames.aligned(columns)]
    if len(table.count) > _MAX_LINES:
        lines.append(f"... and {len(table.count) - _MAX_LINES} more bins")
    return "\n".join(lines)


def _number(n: int, one: str, several: str | None = None) -> str:
    return f"{n} {one if n == 1 else several or one + 's'}"
