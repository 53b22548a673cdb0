"""Monitors in files: what is written, and whether what is read can have been written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from calibrant import saving
from calibrant.encoding import member
from calibrant.engines.batch_numbers import Runs, as_runs, holds
from calibrant.engines.monitor_settings import Settings, Tables
from calibrant.engines.row_groups import is_group
from calibrant.entries import Entries, check, is_whole, optional, plain
from calibrant.metrics import ReliabilityTable

if TYPE_CHECKING:
    from calibrant.engines.streaming import StreamingReliability

_WHOLE = plain("a whole number", is_whole)
_ENTRIES: Entries = {
    "newest": optional(_WHOLE),
    "own_source": optional(plain("text", lambda value: isinstance(value, str))),
}
_PLACE: Entries = {"period": _WHOLE, "group": optional(plain("the name of a group", is_group))}
_SUMS = ("count", "sum_weight", "sum_prob", "sum_true")
_NAMES = frozenset({"settings", "counted", "tables", *_ENTRIES})


def to_dict(monitor: StreamingReliability) -> dict[str, Any]:
    """The whole state as JSON-able values, in an order that does not depend on the batches'."""
    return {
        "settings": monitor._settings.to_dict(),
        "newest": monitor.newest,
        "own_source": monitor._own_source,
        "counted": {
            source: [[run.start, run.stop] for run in runs]
            for source, runs in sorted(monitor.counted.items())
        },
        "tables": [
            {"period": period, "group": group, **_sums_of(table)}
            for (period, group), table in sorted(monitor._tables.items(), key=repr)
        ],
    }


def _sums_of(table: ReliabilityTable) -> dict[str, Any]:
    content = table.to_dict()
    return {name: content[name] for name in _SUMS}


def check_content(content: dict[str, Any]) -> None:
    """Raise ValueError unless the entries of a monitor are there, and no others."""
    for name in _NAMES:
        member(content, name, "a monitor")
    unknown = sorted(content.keys() - _NAMES)
    if unknown:
        raise ValueError(f"a monitor has the unknown entry {unknown[0]!r}.")
    for name, entry in _ENTRIES.items():
        check(entry, name, content[name])
    if bool(content["counted"]) != (content["newest"] is not None):
        raise ValueError("a monitor that has counted something has a newest period, and no other.")


def counted_of(content: dict[str, Any]) -> dict[str, Runs]:
    """For each source the numbers that were counted."""
    counted = content["counted"]
    if not isinstance(counted, dict):
        raise ValueError("counted must be an object with an entry for each source.")
    return {source: as_runs(pairs, f"counted[{source!r}]") for source, pairs in counted.items()}


def tables_of(content: dict[str, Any], settings: Settings) -> Tables:
    """The tables, each in a place of its own within the window."""
    tables: Tables = {}
    newest = content["newest"]
    empty = settings.empty.to_dict()
    for number, entry in enumerate(content["tables"]):
        name = f"tables[{number}]"
        for key, kind in _PLACE.items():
            check(kind, f"{name}[{key!r}]", member(entry, key, name))
        place = entry["period"], entry["group"]
        if newest is None or not settings.oldest(newest) <= place[0] <= newest:
            raise ValueError(f"{name} is of period {place[0]}, which is not in the window.")
        if (place[1] is None) != (settings.by is None):
            raise ValueError(f"{name} is of group {place[1]!r}, but groups are {settings.by!r}.")
        if place in tables:
            raise ValueError(f"{name} is of the same period and group as a table before it.")
        sums = {key: member(entry, key, name) for key in _SUMS}
        tables[place] = ReliabilityTable.from_dict(empty | sums)
    return tables


def check_same_settings(mine: Settings, theirs: Settings) -> None:
    """Raise ValueError, naming the setting, unless two monitors can be merged."""
    mine.empty.merge(theirs.empty)
    for name in ("window", "period", "by"):
        a, b = getattr(mine, name), getattr(theirs, name)
        if a != b:
            raise ValueError(f"cannot merge monitors with {name}={a!r} and {name}={b!r}.")


def check_is_earlier(path: str | os.PathLike[str], monitor: StreamingReliability) -> None:
    """Raise FileExistsError unless the file is an earlier snapshot of the monitor."""
    try:
        earlier = saving.load(path)
    except ValueError as error:
        raise FileExistsError(f"{path} exists and is no snapshot: {error}") from error
    if not isinstance(earlier, type(monitor)):
        raise FileExistsError(f"{path} exists and is a {type(earlier).__name__}, no monitor.")
    if earlier._settings.to_dict() != monitor._settings.to_dict():
        raise FileExistsError(f"{path} is the snapshot of a monitor with other settings.")
    for source, runs in earlier.counted.items():
        for run in runs:
            if not holds(monitor.counted.get(source, ()), run):
                raise FileExistsError(
                    f"{path} is a snapshot with batches that this monitor has not counted (source "
                    f"{source!r}, numbers in {run}): another process writes to it, or this one was "
                    "not restored from it. Give each process a file of its own."
                )
