"""A reliability table as text and as a data frame."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

if TYPE_CHECKING:
    from calibrant.metrics.table import ReliabilityTable

Backend = Literal["polars", "pandas", "pyarrow"]

_BACKENDS: tuple[Backend, ...] = get_args(Backend)
_MAX_LINES = 20


def as_frame(table: ReliabilityTable, backend: Backend | None) -> Any:
    """A native data frame with a row for each bin."""
    import narwhals

    if backend is None:
        backend = _backend_at_hand()
    elif backend not in _BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(_BACKENDS)}, got {backend!r}.")
    columns: dict[str, Any] = {}
    if table.kind == "classwise":
        columns["class"] = table.classes[table.panel]
    for name in ("lower", "upper", "count", "weight", "mean_prob", "observed", "gap"):
        columns[name] = getattr(table, name)
    return narwhals.from_dict(columns, backend=backend).to_native()


def _backend_at_hand() -> Backend:
    """What the caller has imported already, else what is installed."""
    for name in _BACKENDS:
        if name in sys.modules:
            return name
    for name in _BACKENDS:
        if importlib.util.find_spec(name) is not None:
            return name
    raise ImportError("a data frame needs one of polars, pandas and pyarrow: install one of them.")


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
    widths = [max(map(len, (name, *cells))) for name, cells in columns]
    rows = zip(*((name, *cells) for name, cells in columns), strict=True)
    lines = [heading, *("  ".join(map(str.rjust, row, widths)) for row in rows)]
    if len(table.count) > _MAX_LINES:
        lines.append(f"... and {len(table.count) - _MAX_LINES} more bins")
    return "\n".join(lines)


def _number(n: int, one: str, several: str | None = None) -> str:
    return f"{n} {one if n == 1 else several or one + 's'}"
