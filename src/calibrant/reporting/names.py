"""How titles, labels and groups are shown, in pictures and in the page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = "missing"
"""What the group of rows without one is called."""

_LONGEST = 24
# Control characters, those that turn the direction of text, and what XML and UTF-8 do not have.
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)  # fmt: skip


def printable(text: str) -> str:
    """The text with characters that cannot be seen or written as `repr` has them."""
    return _UNSEEN.sub(lambda found: repr(found[0])[1:-1], text)


def shown(label: Any) -> str:
    """A label by itself."""
    if label is None:
        return MISSING
    return f"{label:.17g}" if isinstance(label, float) else printable(str(label))


def quoted(label: Any) -> str:
    """A label in a sentence: text in quotes."""
    return f"\N{LEFT DOUBLE QUOTATION MARK}{shown(label)}\N{RIGHT DOUBLE QUOTATION MARK}" if (
        isinstance(label, str)
    ) else shown(label)  # fmt: skip


def named(labels: Sequence[Any], most: int = 8) -> str:
    """Some labels in words."""
    more = f", … ({len(labels)} in all)" if len(labels) > most else ""
    return ", ".join(map(quoted, labels[:most])) + more


def short_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Text of at most so many characters, all of them to be seen, still all different."""
    if labels.dtype.kind != "U":
        return labels
    texts = [printable(text) for text in labels.tolist()]
    times = Counter(texts)
    return np.array(
        [
            text
            if len(text) <= _LONGEST and times[text] == 1
            else f"{text[: _LONGEST - 8]}… ({k + 1})"
            for k, text in enumerate(texts)
        ]
    )
