"""Whatever holds the user's data (arrays, frames, series, tensors, lists) -> NumPy arrays."""

from __future__ import annotations

import sys
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray


def column_names(values: Any) -> tuple[str, ...] | None:
    """The column names of a data frame, None for anything else."""
    held = _narwhals(values)
    return tuple(map(str, held.columns)) if isinstance(held, nw.DataFrame) else None


def to_numpy(values: Any, name: str) -> NDArray[Any]:
    """The values as an array of any dtype; `name` is what error messages call them."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array: fill the masked entries or drop them first.")
    if isinstance(values, np.ndarray):
        return values
    held = _narwhals(values)
    if isinstance(held, nw.LazyFrame):
        raise ValueError(f"{name} is a lazy frame: collect it first.")
    if isinstance(held, nw.Series):
        return _series_to_numpy(held, name)
    if isinstance(held, nw.DataFrame):
        return _frame_to_numpy(held, name)
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} cannot be read as an array: {error}") from error


def _narwhals(values: Any) -> Any:
    """A narwhals frame or series where the values are one; else the values as they are."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(values, pyarrow.Array):
        values = pyarrow.chunked_array([values])
    return nw.from_native(values, allow_series=True, pass_through=True)


def _frame_to_numpy(frame: nw.DataFrame[Any], name: str) -> NDArray[Any]:
    if not frame.columns:
        raise ValueError(f"{name} is a data frame without columns.")
    columns = []
    for series in frame.iter_columns():
        column = _series_to_numpy(series, f"{name}[{series.name!r}]")
        if column.dtype.kind not in "biufc":
            raise ValueError(f"{name}[{series.name!r}] does not hold numbers: leave it out.")
        columns.append(column)
    return np.column_stack(columns)


def _series_to_numpy(series: nw.Series[Any], name: str) -> NDArray[Any]:
    missing = series.is_null().to_numpy()
    if missing.any():
        count = int(missing.sum())
        more = f" ({count} such entries in all)" if count > 1 else ""
        raise ValueError(
            f"{name}[{int(missing.argmax())}] is missing{more}: drop the row or fill the value in."
        )
    array = series.to_numpy()
    if array.dtype.kind == "O" and len(array) and isinstance(array[0], bool | int | float):
        # Nullable columns without nulls may arrive as Python objects.
        return np.array(array.tolist())
    return array
