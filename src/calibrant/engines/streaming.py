"""A reliability table that a service keeps: fed in batches, merged, and safe in crashes."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from functools import reduce
from typing import Any, Literal, Self
from uuid import uuid4

from calibrant import saving
from calibrant.engines import monitor_snapshots as snapshots
from calibrant.engines.batch_numbers import Runs, as_numbers, holds, overlap, union
from calibrant.engines.monitor_settings import Settings, Tables
from calibrant.engines.row_groups import Group
from calibrant.metrics import ReliabilityTable

Outcome = Literal["counted", "repeated", "late"]


@saving.saveable
class StreamingReliability:
    """A running reliability table of a service, fed in batches.

    What it holds depends only on which batches were counted, not on their order, nor on the
    worker that counted them: the tables of merged monitors, and of a monitor that was restored
    from a snapshot and fed again, equal to the last bit the table of all rows at once.

    Parameters
    ----------
    n_bins : int, default=10
        Bins of equal width of each panel.
    kind : {"classwise", "confidence"}, default="classwise"
        For more than two classes, as in `reliability_table`.
    bin_edges : array-like, or sequence of one for each panel, optional
        The edges themselves, in place of `n_bins`: ``bin_edges=reference.edges`` makes tables that
        can be compared with a reference.
    labels : sequence of labels, optional
        The classes in the order of the columns. Default: two classes, 0 and 1 or booleans.
    pos_label : label, optional
        The positive class of two.
    window : int, optional
        How many periods are kept, the newest one included. Default: all rows are kept in one table
        for ever.
    period : datetime.timedelta, optional
        Length of a period, for times; periods follow each other from 1970-01-01 00:00 UTC, so
        that days begin at midnight UTC. Default: `at` is the number of the period itself.
    by : str, optional
        What the rows are grouped by, such as "model" or "segment". Default: there are no groups.

    Attributes
    ----------
    counted : dict of str to tuple of range
        For each source the numbers that were counted.
    newest : int or None
        Number of the newest period seen.

    Raises
    ------
    ValueError
        If an argument is not of the described kind.

    Notes
    -----
    **Numbers.** Each batch has a place in a source: `source` is the name of a partition, a file, a
    queue; `offset` the number of the batch in it, or a ``range`` of the numbers of its rows (of
    offsets, for Kafka). The numbers of a source should follow each other without gaps. A batch
    whose numbers were counted before is left out, and `update` returns "repeated": after a
    crash, load the last snapshot and feed everything again from the snapshot or from any earlier
    point. A batch of which only some numbers were counted is an error. Batches may come in any
    order. What is remembered are runs of numbers, one for each source where there are no gaps;
    at most 1,000 gaps a source, beyond which a batch that would fill the lowest of them counts as
    repeated. A batch without source and offset gets the next number of a source of the
    monitor's own: merging then still notices what was counted twice, but a batch that is fed
    again is not recognised.

    **Periods.** The window is the newest period seen and the ``window - 1`` before it. A batch
    of a newer period moves it on, and what falls out is forgotten. A batch of an older period
    within the window is counted in its own period, whenever it comes. One from before the window
    is not counted, its numbers are noted, and `update` returns "late". An empty batch counts
    no rows but moves the window. Times must have a time zone, are compared as instants, and are
    refused if they lie more than a period after the clock of this machine, since one such time
    would empty the window.

    **Errors.** An update that raises has changed nothing, and its numbers are free: correct the
    batch and feed it again, or leave it out.

    **Size.** One table for each period and group that has rows, whatever the number of rows; a
    group without rows in the window is forgotten.

    Updating takes O(n K) time, as `reliability_table`, plus O(K n_bins) for each group in the
    batch. A monitor is not to be updated from two threads at once: give each its own and merge.

    Examples
    --------
    >>> from calibrant import StreamingReliability
    >>> monitor = StreamingReliability(n_bins=2, window=7)
    >>> monitor.update([0, 1], [0.1, 0.9], at=1, source="queue", offset=0)
    'counted'
    >>> monitor.update([0, 0, 1], [0.2, 0.6, 0.8], at=2, source="queue", offset=1)
    'counted'
    >>> monitor.update([0, 0, 1], [0.2, 0.6, 0.8], at=2, source="queue", offset=1)
    'repeated'
    >>> monitor
    StreamingReliability: 5 rows, periods -4 to 2 (window of 7)
    >>> round(monitor.table().ece(), 12)
    0.12
    >>> monitor.update([1], [0.7], at=8, source="queue", offset=2)
    'counted'
    >>> monitor.table().count  # of periods 2 to 8
    array([1, 3])
    """

    def __init__(
        self,
        n_bins: int = 10,
        *,
        kind: str = "classwise",
        bin_edges: Any = None,
        labels: Any = None,
        pos_label: Any = None,
        window: int | None = None,
        period: timedelta | None = None,
        by: str | None = None,
    ) -> None:
        self._settings = Settings.of(
            n_bins=n_bins,
            kind=kind,
            bin_edges=bin_edges,
            labels=labels,
            pos_label=pos_label,
            window=window,
            period=period,
            by=by,
        )
        self.counted: dict[str, Runs] = {}
        self.newest: int | None = None
        self._own_source: str | None = None
        self._tables: Tables = {}

    @property
    def window(self) -> int | None:
        return self._settings.window

    @property
    def period(self) -> timedelta | None:
        return self._settings.period

    @property
    def by(self) -> str | None:
        return self._settings.by

    # ---------------------------------------------------------------- feeding

    def update(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        by: Any = None,
        sample_weight: Any = None,
        at: int | datetime | None = None,
        source: str | None = None,
        offset: int | range | None = None,
    ) -> Outcome:
        """Count a batch, once.

        Parameters
        ----------
        y_true, y_prob, sample_weight
            As in `reliability_table`; they may be empty, which counts nothing.
        by : str or int, or array-like of shape (n,)
            The group of all rows, or of each row; due if and only if the monitor has groups.
        at : int or datetime.datetime
            When the batch belongs: the number of a period or, if the monitor has a `period`, a
            time with a time zone; due if and only if the monitor has a `window`.
        source : str, optional
            Where the batch comes from.
        offset : int or range, optional
            Number of the batch in the source, or numbers of its rows.

        Returns
        -------
        {"counted", "repeated", "late"}
            Whether the batch was counted, had been counted before, or is from before the window.

        Raises
        ------
        ValueError
            If an argument is not of the described kind, or some but not all numbers of the batch
            were counted before. Then nothing has changed.
        """
        own = source is None and offset is None
        source, numbers = self._next_of_own() if own else as_numbers(source, offset)
        runs = self.counted.get(source, ())
        if holds(runs, numbers):
            return "repeated"
        if shared := overlap(runs, numbers):
            raise ValueError(
                f"offset is {numbers}, but numbers in {shared} of source {source!r} were counted "
                "before: feed the others alone."
            )
        period = self._settings.period_of(at)
        tables = self._settings.count(y_true, y_prob, by, sample_weight, period)
        late = self.newest is not None and period < self._settings.oldest(self.newest)
        if not late:
            self._add(tables, period)
        self.counted[source] = union([*runs, numbers])
        if own:
            self._own_source = source
        return "late" if late else "counted"

    def merge(self, other: StreamingReliability) -> StreamingReliability:
        """The monitor that would have been fed the batches of both.

        Parameters
        ----------
        other : StreamingReliability
            A monitor with the same settings that counted other batches.

        Returns
        -------
        StreamingReliability
            A new monitor. Its window ends with the newest period of the two; older periods of
            the one that lags behind are left out.

        Raises
        ------
        ValueError
            If the settings differ, or both counted the same numbers of a source.
        """
        snapshots.check_same_settings(self._settings, other._settings)
        for source in self.counted.keys() & other.counted.keys():
            for run in other.counted[source]:
                if shared := overlap(self.counted[source], run):
                    raise ValueError(
                        f"both monitors counted numbers in {shared} of source {source!r}: merge "
                        "monitors of different batches."
                    )
        both = self._with(self._settings)
        both.counted = {
            source: union([*self.counted.get(source, ()), *other.counted.get(source, ())])
            for source in self.counted | other.counted
        }
        for part in (self, other):
            if part.newest is not None:
                both._add(part._tables, part.newest)
        return both

    # ---------------------------------------------------------------- reading

    def table(self, group: Group | None = None) -> ReliabilityTable:
        """The table of the rows in the window.

        Parameters
        ----------
        group : str or int, optional
            Of this group alone. Default: of all rows.

        Returns
        -------
        ReliabilityTable
            With all metrics: ``monitor.table().ece()``.

        Raises
        ------
        ValueError
            If there are no such rows.
        """
        chosen = [t for (_, g), t in self._tables.items() if group is None or g == group]
        if not chosen:
            rows = "rows" if group is None else f"rows of group {group!r}"
            raise ValueError(f"there are no {rows} in the window: feed some with update first.")
        return reduce(ReliabilityTable.merge, chosen)

    def tables(self) -> dict[Group, ReliabilityTable]:
        """For each group with rows in the window its table.

        Raises
        ------
        ValueError
            If the monitor has no groups.
        """
        if self.by is None:
            raise ValueError("the monitor has no groups: use table(), or make it with by=.")
        groups = dict.fromkeys(group for _, group in self._tables if group is not None)
        return {group: self.table(group) for group in sorted(groups, key=str)}

    # ---------------------------------------------------------------- saving

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a snapshot to a JSON file that `calibrant.load` reads.

        A process that is killed meanwhile leaves the snapshot before it, complete (and perhaps a
        file beside it whose name ends in .tmp).

        Parameters
        ----------
        path : path-like
            Where to write. An earlier snapshot of this monitor is replaced: one with the same
            settings that holds no batch which this one has not counted.
        overwrite : bool, default=False
            Whether any other file may be replaced.

        Raises
        ------
        FileExistsError
            If another file is there and `overwrite` is false: perhaps another process writes its
            snapshots to it, or this one was restored from an older snapshot.
        """
        if not overwrite and os.path.exists(path):
            snapshots.check_is_earlier(path, self)
        saving.save(self, path, overwrite=True)

    def to_dict(self) -> dict[str, Any]:
        """The whole state as JSON-able values."""
        return snapshots.to_dict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """The monitor that `to_dict` described.

        Raises
        ------
        ValueError
            If the parts do not belong together.
        """
        snapshots.check_content(content)
        monitor = cls._with(Settings.from_dict(content["settings"]))
        monitor.counted = snapshots.counted_of(content)
        monitor.newest = content["newest"]
        monitor._own_source = content["own_source"]
        monitor._tables = snapshots.tables_of(content, monitor._settings)
        return monitor

    def __repr__(self) -> str:
        n_rows = sum(int(t.count[t.panel == 0].sum()) for t in self._tables.values())
        text = f"StreamingReliability: {n_rows:,} rows"
        if self.by is not None:
            text += f", by {self.by}: {len({group for _, group in self._tables})} groups"
        if self.window is not None:
            span = "no period yet"
            if self.newest is not None:
                span = f"periods {self._settings.oldest(self.newest)} to {self.newest}"
            text += f", {span} (window of {self.window})"
        return text

    # ---------------------------------------------------------------- parts

    @classmethod
    def _with(cls, settings: Settings) -> Self:
        monitor = cls.__new__(cls)
        monitor._settings = settings
        monitor.counted, monitor.newest = {}, None
        monitor._own_source, monitor._tables = None, {}
        return monitor

    def _next_of_own(self) -> tuple[str, range]:
        """A place in the monitor's own source, which has no name before it is needed.

        So copies that were made before that, as in forked workers, have sources of their own.
        """
        source = self._own_source or f"monitor-{uuid4().hex}"
        start = self.counted[source][-1].stop if source in self.counted else 0
        return source, range(start, start + 1)

    def _add(self, tables: Tables, newest: int) -> None:
        """Count tables of other rows, and move the window on to `newest` if that is newer."""
        self.newest = newest if self.newest is None else max(self.newest, newest)
        oldest = self._settings.oldest(self.newest)
        joined = {
            place: self._tables[place].merge(table) if place in self._tables else table
            for place, table in tables.items()
        }
        both = self._tables | joined
        self._tables = {place: table for place, table in both.items() if place[0] >= oldest}
