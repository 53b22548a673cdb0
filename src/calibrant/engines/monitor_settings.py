"""What a monitor was made for, and how it reads a batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.engines.row_groups import Group, rows_of_groups
from calibrant.entries import Entries, check, count, is_whole, optional, plain
from calibrant.inputs import check_predictions
from calibrant.labels import labels_array
from calibrant.metrics import ReliabilityTable, reliability_table
from calibrant.metrics.counting import count_bins
from calibrant.metrics.exact import ExactSums

Place = tuple[int, Group | None]
"""A period and a group. Without a window all is of period 0, without groups of group None."""

Tables = dict[Place, ReliabilityTable]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)

_ENTRIES: Entries = {
    "window": optional(count(1)),
    "period": optional(
        plain(
            "a datetime.timedelta above zero",
            lambda value: isinstance(value, timedelta) and value > timedelta(0),
        )
    ),
    "by": optional(plain("text", lambda value: isinstance(value, str) and value != "")),
}


@dataclass(frozen=True, eq=False)
class Settings:
    """The arguments of a monitor: `empty` is a table of its bins, `labels` in column order."""

    empty: ReliabilityTable
    labels: NDArray[Any]
    window: int | None
    period: timedelta | None
    by: str | None

    def __post_init__(self) -> None:
        for name, entry in _ENTRIES.items():
            check(entry, name, getattr(self, name))
        if self.period is not None and self.window is None:
            raise ValueError("period is for monitors with a window: give window= too.")
        if sorted(self.labels.tolist()) != sorted(self.empty.classes.tolist()):
            raise ValueError("labels are not those of the table.")
        if self.empty.count.any():
            raise ValueError("the empty table has rows.")

    @classmethod
    def of(
        cls, *, labels: Any, pos_label: Any, window: Any, period: Any, by: Any, **binning: Any
    ) -> Self:
        """The settings that these arguments mean; the same errors as of `reliability_table`."""
        labels = labels_array([0, 1] if labels is None else labels, "labels")
        n = len(labels)
        one_row = [0.5] if n < 3 else np.full((1, n), 1.0 / n)
        table = reliability_table(
            labels[:1], one_row, labels=labels, pos_label=pos_label, **binning
        )
        return cls(_without_rows(table), labels, window, period, by)

    # ---------------------------------------------------------------- periods

    def period_of(self, at: Any) -> int:
        """The number of the period that a time is in."""
        if self.window is None:
            if at is None:
                return 0
            raise ValueError(
                "at is for monitors with a window: make this one with window=, or leave at out."
            )
        if at is None:
            raise ValueError("at is missing: the monitor has a window, so say when the batch is.")
        if self.period is not None:
            return _period_of_time(at, self.period)
        if not is_whole(at):
            raise ValueError(
                f"at must be a whole number, that of a period, got {at!r}: for times make the "
                "monitor with period=, the length of a period."
            )
        return int(at)

    def oldest(self, newest: int) -> int:
        """The first period of a window."""
        return newest - (self.window or 1) + 1

    # ---------------------------------------------------------------- batches

    def count(self, y_true: Any, y_prob: Any, by: Any, sample_weight: Any, period: int) -> Tables:
        """The tables of a batch, one for each group with rows."""
        if _is_empty(y_true) and _is_empty(y_prob):
            return self._count_nothing(by, sample_weight)
        data = check_predictions(
            y_true,
            y_prob,
            labels=self.labels,
            pos_label=self._pos_label,
            sample_weight=sample_weight,
        )
        tables = {}
        for group, rows in self._groups(by, len(data.prob)).items():
            weight = None if data.weight is None else data.weight[rows]
            part = replace(data, prob=data.prob[rows], target=data.target[rows], weight=weight)
            counts, sums = count_bins(part, self.empty.kind, self.empty.edges)
            if counts.any():
                tables[period, group] = replace(self.empty, count=counts, _sums=sums)
        return tables

    @property
    def _pos_label(self) -> Any:
        """The positive class, where it is not the second of two."""
        classes = self.empty.classes.tolist()
        turned = self.empty.kind == "binary" and classes != self.labels.tolist()
        return classes[-1] if turned else None

    def _count_nothing(self, by: Any, sample_weight: Any) -> Tables:
        for name, values in {"by": by, "sample_weight": sample_weight}.items():
            if not (values is None or isinstance(values, str | int) or _is_empty(values)):
                raise ValueError(f"{name} has entries, but the batch has no rows.")
        return {}

    def _groups(self, by: Any, n: int) -> dict[Group | None, Any]:
        if self.by is None:
            if by is None:
                return {None: slice(None)}
            raise ValueError("by is for monitors with groups: make this one with by=, their name.")
        if by is None:
            raise ValueError(f"by is missing: say which {self.by} the rows belong to.")
        return dict(rows_of_groups(by, n))

    # ---------------------------------------------------------------- in and out

    def to_dict(self) -> dict[str, Any]:
        """JSON-able values that `from_dict` reads; the period in microseconds."""
        return {
            "empty": self.empty.to_dict(),
            "labels": self.labels.tolist(),
            "window": None if self.window is None else int(self.window),
            "period": None if self.period is None else self.period // _TICK,
            "by": self.by,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """The settings that `to_dict` described."""
        ticks = content["period"]
        check(optional(count(1)), "period", ticks)
        return cls(
            ReliabilityTable.from_dict(content["empty"]),
            labels_array(content["labels"], "labels"),
            content["window"],
            None if ticks is None else ticks * _TICK,
            content["by"],
        )


def _without_rows(table: ReliabilityTable) -> ReliabilityTable:
    nothing = (0,) * len(table.count)
    return replace(
        table, count=np.zeros_like(table.count), _sums=ExactSums(nothing, nothing, nothing)
    )


def _period_of_time(at: Any, period: timedelta) -> int:
    if not isinstance(at, datetime):
        raise ValueError(
            f"at must be a datetime.datetime, as the monitor has a period, got {at!r}."
        )
    if at.tzinfo is None or at.utcoffset() is None:
        raise ValueError(
            f"at is {at}, without a time zone: say which, as in datetime.now(datetime.UTC)."
        )
    now = datetime.now(UTC)
    if at - now > period:
        raise ValueError(
            f"at is {at}, which lies after the clock of this machine, {now}, by more than a "
            "period: correct the time or the clock."
        )
    return int((at - _EPOCH) // period)


def _is_empty(values: Any) -> bool:
    try:
        return len(values) == 0
    except TypeError:
        return False
