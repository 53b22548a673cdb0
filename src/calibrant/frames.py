"""Results as data frames and as aligned text, and columns read back from data frames."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import narwhals as nw

from calibrant.containers import to_numpy

Backend = Literal["polars", "pandas", "pyarrow"]

_BACKENDS: tuple[Backend, ...] = get_args(Backend)


def from_columns(columns: Mapping[str, Any], backend: Backend | None) -> Any:
    """A native data frame of the library asked for, else of one at hand."""
    if backend is None:
        backend = _backend_at_hand()
    elif backend not in _BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(_BACKENDS)}, got {backend!r}.")
    return nw.from_dict(dict(columns), backend=backend).to_native()


def read_columns(frame: Any, names: Sequence[str]) -> dict[str, Any]:
    """The named columns of a data frame as arrays."""
    held = nw.from_native(frame, eager_only=True, pass_through=True)
    if not isinstance(held, nw.DataFrame):
        raise ValueError(
            f"frame is of type {type(frame).__name__}: it must be a pandas, Polars or PyArrow "
            "data frame."
        )
    missing = [name for name in names if name not in held.columns]
    if missing:
        raise ValueError(
            f"frame has no column {missing[0]!r}: it has {', '.join(map(str, held.columns))}."
        )
    return {name: to_numpy(held[name].to_native(), name) for name in names}


def is_call_on_frame(first: Any, y_prob: Any, *, y: Any, prob: Any, by: Any) -> bool:
    """Whether (frame, y=, prob=, by=) was meant, not (y_true, y_prob)."""
    if y_prob is None and prob is None and y is None:
        held = nw.from_native(first, pass_through=True)
        if not isinstance(held, nw.DataFrame | nw.LazyFrame):
            raise TypeError("y_prob is missing: call with (y_true, y_prob), or (frame, y=, prob=).")
        return True
    if y_prob is None:
        return True
    if y is not None or prob is not None or by is not None:
        raise ValueError(
            "y_prob does not go with y=, prob= or by=, which name the columns of a frame: call "
            "with (y_true, y_prob), or (frame, y=, prob=)."
        )
    return False


def aligned(columns: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Lines of right-aligned cells under their headings."""
    widths = [max(map(len, (name, *cells))) for name, cells in columns]
    rows = zip(*((name, *cells) for name, cells in columns), strict=True)
    return ["  ".join(map(str.rjust, row, widths)) for row in rows]


def _backend_at_hand() -> Backend:
    """What the caller has imported already, else what is installed."""
    for name in _BACKENDS:
        if name in sys.modules:
            return name
    for name in _BACKENDS:
        if importlib.util.find_spec(name) is not None:
            return name
    raise ImportError("a data frame needs one of polars, pandas and pyarrow: install one of them.")
