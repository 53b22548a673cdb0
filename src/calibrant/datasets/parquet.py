"""Reading the Parquet files of this folder with whichever package is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).parent


def read_columns(file_name: str) -> dict[str, NDArray[Any]]:
    """The columns of a shipped file by name; text as NumPy strings."""
    frame = nw.read_parquet(str(FOLDER / file_name), backend=_backend())
    return {name: _as_array(frame[name]) for name in frame.columns}


def _as_array(column: nw.Series[Any]) -> NDArray[Any]:
    if column.dtype == nw.Date:
        return np.array(column.to_list(), dtype="datetime64[D]")
    if column.dtype == nw.String:
        return np.array(column.to_list(), dtype=np.str_)
    return np.array(column.to_numpy())


def _backend() -> Any:
    for package in ("polars", "pyarrow"):
        if importlib.util.find_spec(package):
            return package
    raise ImportError(
        "the embedded data are Parquet files, which need Polars or PyArrow: "
        'pip install "calibrant[cli]"'
    )
