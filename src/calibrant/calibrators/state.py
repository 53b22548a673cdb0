"""Fitted attributes and parameters <-> JSON-able values, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.saving import Saveable, saveable_type

_ARRAY_KINDS = "biufU"


def encode(value: Any, name: str) -> Any:
    """A JSON-able value that `decode` turns back into an equal one.

    Raises
    ------
    ValueError
        If the value is of a kind that JSON cannot hold; `name` is what it is called.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and np.isfinite(value):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in _ARRAY_KINDS:
        return {"dtype": value.dtype.str.lstrip("<>=|"), "array": value.tolist()}
    if isinstance(value, list | tuple):
        return [encode(item, name) for item in value]
    if isinstance(value, Saveable):
        return {"type": type(value).__name__, "content": value.to_dict()}
    raise ValueError(f"{name}={value!r} cannot be saved as JSON.")


def decode(value: Any) -> Any:
    """The value that `encode` was given."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, dict):
        if "array" in value:
            dtype = np.dtype(str(value["dtype"]))
            if dtype.kind not in _ARRAY_KINDS:
                raise ValueError(f"arrays of dtype {dtype} are not read.")
            return np.array(value["array"], dtype=dtype)
        return saveable_type(value["type"]).from_dict(value["content"])
    return value
