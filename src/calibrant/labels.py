"""Class labels of any kind -> column codes, or one clear error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.containers import to_numpy

_NARROW = 256
"""Whole-number labels within so narrow a range are found by counting, without a sort."""


def as_classes(
    y: Any,
    n_columns: int,
    *,
    labels: Any = None,
    names: tuple[str, ...] | None = None,
    name: str = "y",
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Column codes of the labels, and the labels in the order of the columns.

    The order is `labels` if given, else the data frame's column names `names` when every label is
    among them, else the sorted labels, which then must be as many as the columns. Two columns of
    0/1 or boolean labels may lack one of the two.
    """
    array = labels_array(y, name)
    classes = _classes(array, n_columns, labels, names, name)
    return _codes(array, classes, name), classes


def binary_target(
    y: NDArray[Any],
    labels: Any,
    pos_label: Any,
    names: tuple[str, ...] | None,
    *,
    vector: bool,
) -> tuple[NDArray[np.uint8], NDArray[Any], int]:
    """1 where the positive class happened, the classes (negative, positive), its column.

    Two columns follow the same rules as more. A vector of probabilities does not say which class
    it predicts: labels other than 0/1 and booleans need `pos_label` or `labels`.
    """
    if vector and labels is None:
        classes = _vector_classes(y, pos_label)
    else:
        classes = _classes(y, 2, labels, names, "y_true")
    column = 1
    if pos_label is not None:
        matches = np.flatnonzero(classes == pos_label)
        if len(matches) == 0:
            raise ValueError(f"pos_label={pos_label!r} is not among the labels {shown(classes)}.")
        column = int(matches[0])
    positive = y == classes[column]
    if labels is not None:
        _check_known(y, classes, positive | (y == classes[1 - column]), "y_true")
    return positive.view(np.uint8), classes[[1 - column, column]], column


def check_lengths(**arrays: NDArray[Any]) -> None:
    """Raise ValueError unless all arrays have as many rows as the first."""
    (first, reference), *others = arrays.items()
    for name, array in others:
        if len(array) != len(reference):
            raise ValueError(
                f"{first} has {len(reference)} rows but {name} has {len(array)}: they must "
                "describe the same cases, row by row."
            )


def labels_array(y: Any, name: str, probabilities: str | None = None) -> NDArray[Any]:
    """The labels as a one-dimensional array of one type.

    `probabilities` is the name of the argument that they could have been swapped with.
    """
    order = f"; the order of arguments is ({name}, {probabilities})" if probabilities else ""
    array = to_numpy(y, name)
    if array.ndim != 1:
        raise ValueError(
            f"{name} has shape {array.shape}: it must be one-dimensional, with a label for each "
            f"row{order}."
        )
    if len(array) == 0:
        raise ValueError(f"{name} is empty: at least one row is needed.")
    if array.dtype.kind == "O":
        array = _of_one_type(array, name)
    if array.dtype.kind not in "biufU":
        raise ValueError(
            f"{name} has dtype {array.dtype}: labels are whole numbers, text or booleans."
        )
    if array.dtype.kind == "f":
        whole = np.isfinite(array) & (np.floor(array) == array)
        if not whole.all():
            row = int((~whole).argmax())
            why = "labels are whole numbers, text or booleans; correct it or drop the row"
            if probabilities and 0 < array[row] < 1:
                why = f"{name} and {probabilities} look swapped{order}"
            raise ValueError(f"{name}[{row}] is {float(array[row])!r}, which is no label: {why}.")
    return array


def _of_one_type(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Python objects as an array of their common type."""
    values = array.tolist()
    for row, value in enumerate(values):
        if value is None or value != value:
            raise ValueError(f"{name}[{row}] is missing: drop the row or fill the label in.")
        if type(value) is not type(values[0]):
            raise ValueError(
                f"{name} mixes types: {name}[0] is {values[0]!r} and {name}[{row}] is {value!r}; "
                "make all labels text, or all whole numbers."
            )
    typed = np.array(values)
    if typed.ndim != 1 or typed.dtype.kind == "O":
        raise ValueError(
            f"{name} holds objects such as {values[0]!r}: labels are whole numbers, text or "
            "booleans."
        )
    return typed


def _classes(
    y: NDArray[Any], n_columns: int, labels: Any, names: tuple[str, ...] | None, name: str
) -> NDArray[Any]:
    if labels is not None:
        return _given(labels, n_columns)
    classes = _distinct(y)
    if names is not None and len(names) == n_columns:
        classes = _in_column_order(classes, names)
    if n_columns == 2 and _is_zero_one(classes):
        return np.array([0, 1]).astype(y.dtype)
    if len(classes) != n_columns:
        raise ValueError(
            f"{name} has {len(classes)} distinct label{'' if len(classes) == 1 else 's'} "
            f"{shown(classes)}, but there are {n_columns} columns, one for each class: pass "
            "labels= that name the class of each column."
        )
    return classes


def _given(labels: Any, n_columns: int) -> NDArray[Any]:
    classes = labels_array(labels, "labels")
    if len(np.unique(classes)) != len(classes):
        raise ValueError(f"labels names a class twice: {shown(classes)}.")
    if len(classes) != n_columns:
        raise ValueError(
            f"labels has {len(classes)} entries {shown(classes)}, but there are {n_columns} "
            "classes: name each of them once, in the order of the columns."
        )
    return classes


def _vector_classes(y: NDArray[Any], pos_label: Any) -> NDArray[Any]:
    """The two classes behind a vector of probabilities of one of them."""
    present = _distinct(y)
    if _is_zero_one(present) and pos_label in (None, 0, 1):
        return np.array([0, 1]).astype(y.dtype)
    if len(present) > 2:
        raise ValueError(
            f"y_true has {len(present)} distinct labels {shown(present)}, but a one-dimensional "
            "y_prob is for two classes: pass a matrix with a column for each class."
        )
    if pos_label is None:
        raise ValueError(
            f"y_true has the labels {shown(present)}, and y_prob does not say which of them it "
            "predicts: pass pos_label=."
        )
    if len(present) < 2:
        raise ValueError(
            f"y_true has the single label {shown(present)}: pass labels= with both classes, the "
            "predicted one last."
        )
    return present


def _is_zero_one(classes: NDArray[Any]) -> bool:
    return classes.dtype.kind in "biuf" and bool(np.isin(classes, (0, 1)).all())


def _distinct(y: NDArray[Any]) -> NDArray[Any]:
    """The sorted distinct labels."""
    if y.dtype.kind in "biu":
        low, high = int(y.min()), int(y.max())
        if high - low < _NARROW:
            between = (v for v in range(low + 1, high) if bool((y == v).any()))
            present = sorted({low, *between, high})
            return np.array(present, dtype=y.dtype)
    return np.unique(y)


def _in_column_order(classes: NDArray[Any], names: tuple[str, ...]) -> NDArray[Any]:
    """The classes in the order of the columns, where the column names are the labels."""
    if classes.dtype.kind == "U":
        return np.array(names) if set(classes.tolist()) <= set(names) else classes
    place = {str(label): label for label in classes.tolist()}
    if set(place) != set(names):
        return classes
    return np.array([place[column] for column in names], dtype=classes.dtype)


def _codes(y: NDArray[Any], classes: NDArray[Any], name: str) -> NDArray[np.intp]:
    """The position of each label in `classes`."""
    if len(classes) == 2 and y.dtype.kind in "biuf":
        second = y == classes[1]
        _check_known(y, classes, second | (y == classes[0]), name)
        codes: NDArray[np.intp] = second.astype(np.intp)
        return codes
    order = np.argsort(classes)
    place = np.searchsorted(classes, y, sorter=order).clip(max=len(classes) - 1)
    codes = order[place]
    _check_known(y, classes, classes[codes] == y, name)
    return codes


def _check_known(
    y: NDArray[Any], classes: NDArray[Any], known: NDArray[np.bool_], name: str
) -> None:
    if not known.all():
        row = int((~known).argmax())
        raise ValueError(
            f"{name}[{row}] is {y[row].item()!r}, which is not among the labels {shown(classes)}: "
            "correct it, or pass labels= that name every class."
        )


def shown(classes: NDArray[Any]) -> str:
    """The classes in an error, the middle of many left out."""
    values = classes.tolist()
    if len(values) > 6:
        return "[" + ", ".join(map(repr, values[:5])) + f", ..., {values[-1]!r}]"
    return repr(values)
