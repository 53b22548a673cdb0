"""Fitted attributes and parameters <-> JSON-able values, exactly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from calibrant.saving import Saveable, saveable_type, type_name

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
        return {"type": type_name(value), "content": value.to_dict()}
    raise ValueError(f"{name}={value!r} cannot be saved as JSON.")


def decode(value: Any, name: str = "content") -> Any:
    """The value that `encode` was given.

    Raises
    ------
    ValueError
        If `encode` cannot have made it; `name` is what it is called.
    """
    if isinstance(value, list):
        return [decode(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    try:
        if "array" in value:
            return _array(value["array"], member(value, "dtype"))
        return saveable_type(member(value, "type")).from_dict(member(value, "content"))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def decode_members(content: Any, names: Iterable[str], what: str) -> dict[str, Any]:
    """The values of a JSON object that has members of these names and no others."""
    if not isinstance(content, dict):
        raise ValueError(f"{what} must be an object with named entries, got {content!r:.80}.")
    values = {name: decode(member(content, name, what), name) for name in names}
    unknown = [name for name in content if name not in values]
    if unknown:
        raise ValueError(f"{what} has the unknown entry {unknown[0]!r}.")
    return values


def member(content: Any, name: str, what: str = "content") -> Any:
    """An entry of a JSON object, which `what` describes in the error if there is none."""
    if not isinstance(content, dict):
        raise ValueError(f"{what} must be an object with named entries, got {content!r:.80}.")
    if name not in content:
        raise ValueError(f"the entry {name!r} is missing from {what}.")
    return content[name]


def _array(entries: Any, dtype: Any) -> np.ndarray[Any, Any]:
    try:
        kind = np.dtype(str(dtype))
        if kind.kind not in _ARRAY_KINDS:
            raise ValueError(f"arrays of dtype {kind} are not read.")
        array = np.array(entries, dtype=kind)
    except (TypeError, OverflowError) as error:
        raise ValueError(str(error)) from error
    # NumPy would cut text and fractions short and read numbers from text.
    if array.tolist() != entries:
        raise ValueError(f"the entries of the array are not all of dtype {kind}.")
    return array
