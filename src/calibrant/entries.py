"""What parameters and fitted attributes look like: declared once, for `fit` and for saved files."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Sizes = dict[str, int]
"""The lengths that letters in the shapes of arrays stand for, as far as they are known."""


class Entry(NamedTuple):
    """A kind of value, in words, and what is wrong with a value that is not of this kind."""

    words: str
    fault: Callable[[Any, Sizes], str | None]


Entries = Mapping[str, Entry]


def check(entry: Entry, name: str, value: Any, sizes: Sizes | None = None) -> None:
    """Raise ValueError unless the value is of the kind; learn the lengths of its axes."""
    fault = entry.fault(value, {} if sizes is None else sizes)
    if fault is not None:
        raise ValueError(f"{name} must be {entry.words}, {fault}.")


def plain(words: str, fits: Callable[[Any], bool]) -> Entry:
    """Values that a function knows."""
    return Entry(words, lambda value, _: None if fits(value) else f"got {reprlib.repr(value)}")


def is_number(value: Any) -> bool:
    """Whether it is a finite real number, and no truth value."""
    real = isinstance(value, int | float | np.integer | np.floating)
    return real and not isinstance(value, bool) and bool(abs(value) <= sys.float_info.max)


def is_whole(value: Any) -> bool:
    """Whether it is an integer, and no truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def number(low: float = -np.inf, high: float = np.inf) -> Entry:
    """Numbers from `low` to `high`."""
    words = "a finite number"
    if np.isfinite(high):
        words = f"a number in [{low:g}, {high:g}]"
    elif np.isfinite(low):
        words += f" of at least {low:g}"
    return plain(words, lambda value: is_number(value) and low <= value <= high)


def count(low: int = 0, high: float = np.inf) -> Entry:
    """Integers from `low` to `high`."""
    words = f"an integer of at least {low}" + (f" and at most {high:g}" * bool(np.isfinite(high)))
    return plain(words, lambda value: is_whole(value) and low <= value <= high)


def one_of(*options: str | None) -> Entry:
    """Some words, or None."""
    words = " or ".join(map(repr, options))
    known = (str, type(None)) if None in options else (str,)
    return plain(words, lambda value: isinstance(value, known) and value in options)


def optional(entry: Entry) -> Entry:
    """None too."""

    def fault(value: Any, sizes: Sizes) -> str | None:
        return None if value is None else entry.fault(value, sizes)

    return Entry(f"None or {entry.words}", fault)


FLAG = plain("true or false", lambda value: isinstance(value, bool))
NUMBER = number()
COUNT = count()
SHARE = number(0, 1)


def array(
    *shape: str,
    low: float = -np.inf,
    high: float = np.inf,
    order: Literal["ascending", "not descending"] | None = None,
    integers: bool = False,
) -> Entry:
    """Arrays of finite doubles, or perhaps `integers`, from `low` to `high`, in that order.

    `shape` has a letter for each axis, perhaps plus a number ("J+1"): axes of the same letter match
    each other.
    """
    words = f"an array of shape ({', '.join(shape)}{',' * (len(shape) == 1)}), numbers"
    if np.isfinite(low) or np.isfinite(high):
        words += f" in [{low:g}, {high:g}]"
    if order is not None:
        words += f", {order}"

    def fault(value: Any, sizes: Sizes) -> str | None:
        if not isinstance(value, np.ndarray) or not (
            value.dtype == np.float64 or (integers and value.dtype.kind in "iu")
        ):
            return f"got {_shown(value)}"
        if value.ndim != len(shape) or not all(map(_learn(sizes), shape, value.shape)):
            known = ", ".join(f"{letter} = {size}" for letter, size in sizes.items())
            return f"where {known}, but has shape {value.shape}"
        bad = ~(np.isfinite(value) & (low <= value) & (value <= high))
        if order == "ascending":
            bad[1:] |= value[1:] <= value[:-1]
        elif order == "not descending":
            bad[1:] |= value[1:] < value[:-1]
        if bad.any():
            place = tuple(map(int, np.unravel_index(int(bad.argmax()), bad.shape)))
            return f"but entry {list(place)} is {value[place].item()!r}"
        return None

    return Entry(words, fault)


def _learn(sizes: Sizes) -> Callable[[str, int], bool]:
    """Whether an axis has the length that its letter stands for; the first one tells."""

    def matches(axis: str, length: int) -> bool:
        letter, _, more = axis.partition("+")
        n = length - int(more or 0)
        return n > 0 and sizes.setdefault(letter, n) == n

    return matches


def _labels_fault(value: Any, sizes: Sizes) -> str | None:
    if not isinstance(value, np.ndarray) or value.ndim != 1 or len(value) < 2:
        return f"got {_shown(value)}"
    if len(set(value.tolist())) < len(value) or not _is_finite(value):
        return f"got {reprlib.repr(value.tolist())}"
    sizes["K"] = len(value)
    return None


LABELS = Entry("an array of at least two distinct labels", _labels_fault)


def _is_finite(value: NDArray[Any]) -> bool:
    return value.dtype.kind != "f" or bool(np.isfinite(value).all())


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of dtype {value.dtype} and shape {value.shape}"
    return reprlib.repr(value)
