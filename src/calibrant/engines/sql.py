"""Formulas as SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calibrant.calibrators.base import Calibrator
from calibrant.engines.expressions import (
    LARGEST_EXPONENT,
    Binary,
    Clip,
    Column,
    Function,
    Member,
    Node,
    Number,
    Softmax,
    Steps,
    Total,
    Within,
)
from calibrant.engines.maps import calibrated


@dataclass(frozen=True, slots=True)
class _Dialect:
    double: str
    """The type of doubles."""
    number: str
    """How a double is written, given its shortest decimal form with an exponent."""
    quote: str
    """What stands on both sides of a name."""
    escaped: str
    """How that is written within a name."""


_DIALECTS = {
    "duckdb": _Dialect("DOUBLE", "{}", '"', '""'),
    "postgres": _Dialect("DOUBLE PRECISION", "DOUBLE PRECISION '{}'", '"', '""'),
    "spark": _Dialect("DOUBLE", "{}D", "`", "``"),
    "bigquery": _Dialect("FLOAT64", "{}", "`", "\\`"),
}


def sql_expressions(
    calibrator: Calibrator, columns: str | Sequence[str], dialect: str
) -> str | list[str]:
    """What `predict_proba` gives, as an expression for each column."""
    if dialect not in _DIALECTS:
        raise ValueError(
            f"dialect must be one of {', '.join(map(repr, _DIALECTS))}, got {dialect!r}."
        )
    writer = _Writer(_DIALECTS[dialect])
    texts = [writer.text(node) for node in calibrated(calibrator, columns)]
    return texts[0] if isinstance(columns, str) else texts


class _Writer:
    def __init__(self, dialect: _Dialect) -> None:
        self._dialect = dialect

    def text(self, node: Node) -> str:
        """The node as an operand of any function, or in parentheses."""
        match node:
            case Number():
                return self._number(node.value)
            case Column():
                return f"CAST({self._name(node.name)} AS {self._dialect.double})"
            case Binary():
                return f"({self.text(node.left)} {node.sign} {self.text(node.right)})"
            case Total():
                return f"({' + '.join(map(self.text, node.terms))})"
            case Function():
                return f"{node.name.upper()}({self.text(node.argument)})"
            case Clip():
                return self._clip(self.text(node.argument), node.low, node.high)
            case Within():
                return self._within(node)
            case Steps():
                return self._steps(node, 0, len(node.values) - 1)
            case Member():
                return self.text(node.shared.members[node.k])
            case Softmax():
                return self._softmax(node)
        raise TypeError(f"{type(node).__name__} is no node.")

    def _number(self, value: float) -> str:
        shortest = repr(value)
        written = self._dialect.number.format(shortest if "e" in shortest else f"{shortest}e0")
        return f"({written})" if value < 0 else written

    def _name(self, name: str) -> str:
        quote, escaped = self._dialect.quote, self._dialect.escaped
        if escaped.startswith("\\"):
            name = name.replace("\\", "\\\\")
        return f"{quote}{name.replace(quote, escaped)}{quote}"

    def _clip(self, text: str, low: float, high: float) -> str:
        if low > -float("inf"):
            text = f"GREATEST({text}, {self._number(low)})"
        if high < float("inf"):
            text = f"LEAST({text}, {self._number(high)})"
        return text

    def _within(self, node: Within) -> str:
        tests = " AND ".join(
            f"{self.text(tested)} BETWEEN {self._number(low)} AND {self._number(high)}"
            for tested, low, high in node.tested
        )
        otherwise = "" if node.outside is None else f" ELSE {self.text(node.outside)}"
        return f"CASE WHEN {tests} THEN {self.text(node.inside)}{otherwise} END"

    def _steps(self, node: Steps, first: int, last: int) -> str:
        """The piece among first..last, as a balanced tree of choices."""
        if first == last:
            return self.text(node.piece(first))
        middle = (first + last + 1) // 2
        return (
            f"CASE WHEN {self.text(node.argument)} < {self._number(float(node.cuts[middle - 1]))} "
            f"THEN {self._steps(node, first, middle - 1)} "
            f"ELSE {self._steps(node, middle, last)} END"
        )

    def _softmax(self, node: Softmax) -> str:
        # From differences to the class's own logit: as stable as less the largest one, which would
        # have to be written out in every term.
        own = self.text(node.logits[node.k])
        terms = [self._number(1.0)]
        for k in range(len(node.logits)):
            if k != node.k:
                ahead = f"({self.text(node.logits[k])} - {own}) * {self._number(node.factor)}"
                terms.append(f"EXP({self._clip(ahead, -LARGEST_EXPONENT, LARGEST_EXPONENT)})")
        return f"({self._number(1.0)} / ({' + '.join(terms)}))"
