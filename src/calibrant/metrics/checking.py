"""Whether a table that was read from a file can be one that was saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrant.entries import LABELS, Entries, array, check, one_of

if TYPE_CHECKING:
    from calibrant.metrics.table import ReliabilityTable

_EDGES = array("B", low=0, high=1, order="ascending")
_ENTRIES: Entries = {
    "kind": one_of("binary", "classwise", "confidence"),
    "strategy": one_of("uniform", "quantile", "given"),
    "classes": LABELS,
    "count": array("J", low=0, integers=True),
}


def check_table(table: ReliabilityTable) -> None:
    """Raise ValueError, naming the entry, unless the table's parts belong together."""
    for name, entry in _ENTRIES.items():
        check(entry, name, getattr(table, name))
    n_panels = len(table.classes) if table.kind == "classwise" else 1
    if len(table.edges) != n_panels:
        raise ValueError(
            f"edges holds {len(table.edges)} panels: a {table.kind} table of "
            f"{len(table.classes)} classes has {n_panels}."
        )
    for number, edges in enumerate(table.edges):
        name = f"edges[{number}]"
        check(_EDGES, name, edges)
        if len(edges) < 2 or edges[0] != 0.0 or edges[-1] != 1.0:
            raise ValueError(f"{name} must go from 0 to 1, but is {edges.tolist()}.")
    sums = {
        "sum_weight": table.weight,
        "sum_prob": table.sum_prob,
        "sum_true": table.sum_true,
    }
    for name, values in sums.items():
        bad = ~((values >= 0.0) & (values <= table.weight * (1.0 + 1e-9)))
        if bad.any():
            place = int(np.argmax(bad))
            raise ValueError(
                f"{name}[{place}] is {float(values[place])!r}: it must be from 0 to the weight of "
                "the bin."
            )
