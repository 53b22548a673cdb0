"""Ranges of numbers cut into cells, by expressions that engines evaluate."""

from __future__ import annotations

import narwhals as nw

_NARROW = 1e-290
_WIDER = 2.0**600


def cell_of(value: nw.Expr, low: float, high: float, n_cells: int) -> nw.Expr:
    """The cell of each value from `low` (in cell 0) to `high` (in the last or the one after it).

    Equal values are in one cell: nothing is divided, which some engines do in another way for
    several values at a time than for those that are left over.
    """
    width, factor = high - low, 1.0
    if width < _NARROW:  # a quotient by it would overflow; powers of two change no digit
        width, factor = width * _WIDER, _WIDER
    return ((value - low) * factor * (n_cells / width)).floor()
