"""The running monitor: what it counts, once, in which window, through merges and crashes."""

from __future__ import annotations

import functools
import itertools
import json
import pickle
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant
from calibrant import StreamingReliability, reliability_table
from calibrant.datasets import load_games

DAY = timedelta(days=1)


def batch(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    return (rng.uniform(size=n) < p).astype(int), p


def whole(seeds, **options):
    """The table of some batches at once."""
    y, p = (np.concatenate(column) for column in zip(*map(batch, seeds), strict=True))
    return reliability_table(y, p, **options)


def fed(seeds, monitor=None, *, source="queue", at=None):
    monitor = StreamingReliability() if monitor is None else monitor
    for seed in seeds:
        when = {} if at is None else {"at": at[seed]}
        monitor.update(*batch(seed), source=source, offset=seed, **when)
    return monitor


# ---------------------------------------------------------------- the same table as all at once


def test_batches_are_the_table_of_all_rows():
    monitor = StreamingReliability()
    for seed in range(20):
        assert monitor.update(*batch(seed)) == "counted"
    assert monitor.table() == whole(range(20))
    assert monitor.table().ece() == whole(range(20)).ece()


@pytest.mark.parametrize("kind", ["classwise", "confidence"])
def test_multiclass_with_weights_and_edges(kind):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], size=300)
    y = rng.choice(["a", "b", "c"], size=300)
    w = rng.integers(0, 3, size=300) / 3
    edges = [0.0, 0.2, 0.7, 1.0]
    options = {"kind": kind, "bin_edges": edges, "labels": ["c", "a", "b"]}
    monitor = StreamingReliability(**options)
    for rows in np.array_split(rng.permutation(300), 7):
        monitor.update(y[rows], p[rows], sample_weight=w[rows])
    assert monitor.table() == reliability_table(y, p, sample_weight=w, **options)


@pytest.mark.parametrize("pos_label", ["no", "yes"])
def test_two_columns_follow_the_labels_whichever_is_positive(pos_label):
    y, p = batch(1)
    y = np.array(["yes", "no"])[y]
    prob = np.column_stack([1 - p, p])
    monitor = StreamingReliability(labels=["yes", "no"], pos_label=pos_label)
    monitor.update(y, prob)
    expected = reliability_table(y, prob, labels=["yes", "no"], pos_label=pos_label)
    assert monitor.table() == expected


def test_frames_and_booleans():
    y, p = batch(2)
    monitor = StreamingReliability()
    monitor.update(pl.Series(y == 1), pl.Series(p))
    monitor.update(pd.Series(y), pd.DataFrame({"0": 1 - p, "1": p}))
    assert monitor.table().count.sum() == 2 * len(y)


# ---------------------------------------------------------------- numbers of batches


def test_a_batch_is_counted_once():
    monitor = fed(range(5))
    before = monitor.to_dict()
    assert monitor.update(*batch(3), source="queue", offset=3) == "repeated"
    assert monitor.update(*batch(99), source="queue", offset=range(1, 4)) == "repeated"
    assert monitor.to_dict() == before
    assert monitor.update(*batch(3), source="another", offset=3) == "counted"
    assert monitor.counted == {"queue": (range(5),), "another": (range(3, 4),)}


def test_ranges_of_rows_that_overlap_are_refused():
    monitor = StreamingReliability()
    monitor.update(*batch(0), source="topic-0", offset=range(0, 40))
    monitor.update(*batch(2), source="topic-0", offset=range(80, 120))
    with pytest.raises(ValueError, match=r"numbers in range\(30, 40\).* were counted before"):
        monitor.update(*batch(1), source="topic-0", offset=range(30, 70))
    assert monitor.update(*batch(1), source="topic-0", offset=range(40, 80)) == "counted"
    assert monitor.counted == {"topic-0": (range(120),)}


def test_any_order_gives_the_same_state():
    order = list(range(30))
    random.Random(0).shuffle(order)
    assert fed(order).to_dict() == fed(range(30)).to_dict()


def test_what_is_remembered_of_gaps_is_bounded():
    monitor = StreamingReliability()
    for k in range(0, 3000, 2):
        monitor.update([], [], source="s", offset=k)
    runs = monitor.counted["s"]
    assert len(runs) == 1001
    assert runs[-1] == range(2998, 2999)
    assert monitor.update([1], [0.5], source="s", offset=1) == "repeated"
    assert monitor.update([1], [0.5], source="s", offset=2997) == "counted"


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5)), max_size=12))
@settings(max_examples=50)
def test_numbers_against_a_set(places):
    monitor, counted = StreamingReliability(), set()
    for start, length in places:
        numbers = set(range(start, start + length))
        try:
            outcome = monitor.update([], [], source="s", offset=range(start, start + length))
        except ValueError:
            assert numbers & counted
            assert not numbers <= counted
            continue
        assert outcome == ("repeated" if numbers <= counted else "counted")
        counted |= numbers
    runs = monitor.counted.get("s", ())
    assert [k for run in runs for k in run] == sorted(counted)
    assert all(a.stop < b.start for a, b in itertools.pairwise(runs))


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ({"offset": 1}, "source must be text"),
        ({"source": 0, "offset": 1}, "source must be text.*got 0"),
        ({"source": "s"}, "offset must be a whole number.*got None"),
        ({"source": "s", "offset": -1}, "offset must be"),
        ({"source": "s", "offset": True}, "offset must be"),
        ({"source": "s", "offset": range(0)}, "offset must be"),
        ({"source": "s", "offset": range(0, 9, 2)}, "in steps of 1"),
    ],
)
def test_bad_numbers(place, message):
    with pytest.raises(ValueError, match=message):
        StreamingReliability().update([1], [0.5], **place)


# ---------------------------------------------------------------- windows


def test_the_window_moves_with_the_newest_period():
    at = {k: k // 2 for k in range(20)}
    monitor = fed(range(20), StreamingReliability(window=3), at=at)
    assert monitor.newest == 9
    assert monitor.table() == whole(range(14, 20))


def test_late_batches():
    monitor = StreamingReliability(window=3)
    monitor.update(*batch(0), at=10, source="s", offset=0)
    assert monitor.update(*batch(1), at=8, source="s", offset=1) == "counted"
    assert monitor.update(*batch(2), at=7, source="s", offset=2) == "late"
    assert monitor.update(*batch(2), at=7, source="s", offset=2) == "repeated"
    assert monitor.table() == whole([0, 1])
    monitor.update(*batch(3), at=11, source="s", offset=3)
    assert monitor.table() == whole([0, 3])


@given(st.permutations(range(8)), st.lists(st.integers(0, 6), min_size=8, max_size=8))
@settings(max_examples=30)
def test_the_order_of_batches_does_not_matter_to_the_window(order, periods):
    monitor = fed(order, StreamingReliability(window=3), at=periods)
    kept = [k for k in range(8) if periods[k] > max(periods) - 3]
    assert monitor.table() == whole(kept)
    assert monitor.counted == {"queue": (range(8),)}


def test_an_empty_batch_moves_the_window_and_counts_nothing():
    monitor = StreamingReliability(window=2, by="model")
    monitor.update(*batch(0), at=1, by="a")
    assert monitor.update([], [], at=2) == "counted"
    assert monitor.table() == whole([0])
    assert monitor.update(np.empty(0), np.empty((0, 2)), at=3, by=[]) == "counted"
    assert monitor.tables() == {}
    with pytest.raises(ValueError, match="there are no rows in the window"):
        monitor.table()
    with pytest.raises(ValueError, match="sample_weight has entries"):
        monitor.update([], [], at=3, sample_weight=[1.0])


def test_the_state_stays_bounded():
    monitor = StreamingReliability(window=5, by="segment")
    sizes = []
    for k in range(200):
        monitor.update(*batch(k), at=k, by=f"segment {k // 10}", source="s", offset=k)
        sizes.append(len(json.dumps(monitor.to_dict())))
    assert max(sizes[100:]) < 1.2 * max(sizes[10:30])
    assert len(monitor.tables()) == 1


def test_times_are_instants():
    monitor = StreamingReliability(window=2, period=DAY)
    berlin = ZoneInfo("Europe/Berlin")
    monitor.update(*batch(0), at=datetime(2024, 3, 31, 1, 59, tzinfo=berlin))  # 00:59 UTC
    day = monitor.newest
    monitor.update(*batch(1), at=datetime(2024, 4, 1, 1, 59, tzinfo=berlin))  # 31 March, 23:59 UTC
    assert monitor.newest == day
    monitor.update(*batch(2), at=datetime(2024, 4, 1, 2, 0, tzinfo=berlin))
    assert monitor.newest == day + 1
    west = timezone(timedelta(hours=-12))
    monitor.update(*batch(3), at=pd.Timestamp("2024-03-31 12:30", tz=west))  # 1 April, 00:30 UTC
    assert monitor.newest == day + 1
    assert monitor.table() == whole(range(4))
    monitor.update(*batch(4), at=datetime(2024, 4, 2, tzinfo=UTC))
    assert monitor.table() == whole([2, 3, 4])
    # The hour that comes twice when the clock is set back.
    hours = StreamingReliability(window=1, period=timedelta(hours=1))
    hours.update([1], [0.5], at=datetime(2024, 10, 27, 2, 30, tzinfo=berlin))
    first = hours.newest
    hours.update([1], [0.5], at=datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=berlin))
    assert hours.newest == first + 1


def test_times_before_1970_fall_into_their_day():
    monitor = StreamingReliability(window=1, period=DAY)
    monitor.update([1], [0.5], at=datetime(1969, 12, 31, 23, tzinfo=UTC))
    assert monitor.newest == -1


@pytest.mark.parametrize(
    ("options", "at", "message"),
    [
        ({}, 3, "at is for monitors with a window"),
        ({"window": 2}, None, "at is missing"),
        ({"window": 2}, 1.5, "at must be a whole number"),
        ({"window": 2}, True, "at must be a whole number"),
        ({"window": 2}, datetime(2024, 1, 1, tzinfo=UTC), "make the monitor with period="),
        ({"window": 2, "period": DAY}, 3, "at must be a datetime.datetime"),
        ({"window": 2, "period": DAY}, datetime(2024, 1, 1), "without a time zone"),
        ({"window": 2, "period": DAY}, pd.NaT, "without a time zone"),
        ({"window": 2, "period": DAY}, np.datetime64("2024-01-01"), "must be a datetime.datetime"),
        (
            {"window": 2, "period": DAY},
            datetime(2999, 1, 1, tzinfo=UTC),
            "after the clock of this machine",
        ),
    ],
)
def test_bad_times(options, at, message):
    monitor = StreamingReliability(**options)
    with pytest.raises(ValueError, match=message):
        monitor.update([1], [0.5], at=at)
    assert monitor.newest is None


def test_a_clock_that_runs_ahead_a_little_is_taken():
    monitor = StreamingReliability(window=2, period=DAY)
    assert monitor.update([1], [0.5], at=datetime.now(UTC) + timedelta(hours=1)) == "counted"


# ---------------------------------------------------------------- groups


def test_groups_are_tables_of_their_rows():
    rng = np.random.default_rng(3)
    segment = rng.choice(["new", "old", "rare"], p=[0.5, 0.45, 0.05], size=400)
    y, p = batch(3, 400)
    monitor = StreamingReliability(by="segment")
    for rows in np.array_split(np.arange(400), 5):
        monitor.update(y[rows], p[rows], by=segment[rows])
    monitor.update(*batch(4), by="late comer")
    tables = monitor.tables()
    assert list(tables) == ["late comer", "new", "old", "rare"]
    for name in ("new", "old", "rare"):
        assert tables[name] == reliability_table(y[segment == name], p[segment == name])
        assert monitor.table(name) == tables[name]
    assert monitor.table().count.sum() == 440
    with pytest.raises(ValueError, match="no rows of group 'nobody'"):
        monitor.table("nobody")


def test_groups_of_weight_zero_are_none():
    monitor = StreamingReliability(by="model")
    monitor.update([0, 1], [0.2, 0.8], by=[1, 2], sample_weight=[0.0, 1.0])
    assert list(monitor.tables()) == [2]


@pytest.mark.parametrize(
    ("options", "by", "message"),
    [
        ({}, "a", "by is for monitors with groups"),
        ({"by": "model"}, None, "by is missing: say which model"),
        ({"by": "model"}, ["a"], "by has 1 entries for 2 rows"),
        ({"by": "model"}, ["a", None], "by\\[1\\] is missing"),
        ({"by": "model"}, [0.5, 1.0], "by\\[0\\] is 0.5"),
        ({"by": "model"}, [1.0, 2.0], "by has dtype float64"),
    ],
)
def test_bad_groups(options, by, message):
    with pytest.raises(ValueError, match=message):
        StreamingReliability(**options).update([0, 1], [0.2, 0.8], by=by)


def test_tables_of_a_monitor_without_groups():
    with pytest.raises(ValueError, match="has no groups"):
        fed([0]).tables()


# ---------------------------------------------------------------- bad batches, bad settings


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([0, 1], [0.2, np.nan], "y_prob\\[1\\] is nan"),
        ([0, 2], [0.2, 0.5], "y_true\\[1\\] is 2, which is not among the labels"),
        (["no", "yes"], [0.2, 0.5], "y_true\\[0\\] is 'no'"),
        ([0, 1], [0.2], "y_true has 2 rows but y_prob has 1"),
        ([], [0.2], "y_true is empty"),
        ([0, 1], [[0.2, 0.3, 0.5]] * 2, "labels has 2 entries"),
    ],
)
def test_a_bad_batch_changes_nothing(y, p, message):
    monitor = fed(range(3), StreamingReliability(window=2), at=[1, 1, 2])
    before = monitor.to_dict()
    with pytest.raises(ValueError, match=message):
        monitor.update(y, p, at=9, source="queue", offset=3)
    assert monitor.to_dict() == before
    assert monitor.update([0, 1], [0.2, 0.5], at=2, source="queue", offset=3) == "counted"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 0}, "n_bins must be"),
        ({"kind": "canonical"}, "kind must be"),
        ({"bin_edges": [0, 0.5]}, "bin_edges must ascend"),
        ({"labels": ["a"]}, "labels has 1 entries"),
        ({"labels": ["a", "a"]}, "names a class twice"),
        ({"pos_label": "yes"}, "pos_label='yes' is not among the labels"),
        ({"labels": "abc"}, "labels"),
        ({"window": 0}, "window must be None or an integer of at least 1"),
        ({"window": 1.5}, "window must be"),
        ({"window": DAY}, "window must be"),
        ({"period": DAY}, "period is for monitors with a window"),
        ({"window": 2, "period": timedelta(0)}, "period must be .*above zero"),
        ({"by": ["model"]}, "by must be None or text"),
    ],
)
def test_bad_settings(options, message):
    with pytest.raises(ValueError, match=message):
        StreamingReliability(**options)


# ---------------------------------------------------------------- merging


def test_merged_workers_are_one_monitor():
    at = {k: k // 4 for k in range(40)}
    parts = [StreamingReliability(window=4, by="model") for _ in range(3)]
    one = StreamingReliability(window=4, by="model")
    for k in range(40):
        for monitor in (parts[k % 3], one):
            monitor.update(
                *batch(k), at=at[k], by=f"m{k % 2}", source=f"part-{k % 3}", offset=k // 3
            )
    before = [part.to_dict() for part in parts]
    merged = functools.reduce(StreamingReliability.merge, parts)
    assert merged.to_dict() == one.to_dict()
    assert [part.to_dict() for part in parts] == before
    again = functools.reduce(StreamingReliability.merge, reversed(parts))
    assert again.to_dict() == one.to_dict()


def test_a_worker_that_lags_behind():
    ahead, behind = (StreamingReliability(window=2) for _ in range(2))
    ahead.update(*batch(0), at=10)
    behind.update(*batch(1), at=3)
    assert ahead.merge(behind).table() == behind.merge(ahead).table() == whole([0])
    fresh = StreamingReliability(window=2)
    assert fresh.merge(behind).table() == behind.merge(fresh).table() == whole([1])


def test_a_source_that_was_handed_over_and_back():
    a, b = fed([0, 1, 4]), fed([2, 3])
    assert a.merge(b).counted == {"queue": (range(5),)}
    assert a.merge(b).table() == whole(range(5))


def test_merging_what_was_counted_twice_is_refused():
    a, b = fed(range(5)), fed(range(4, 8))
    with pytest.raises(ValueError, match=r"both monitors counted numbers in range\(4, 5\)"):
        a.merge(b)
    with pytest.raises(ValueError, match="both monitors counted"):
        a.merge(a)
    unnumbered = StreamingReliability()
    unnumbered.update(*batch(0))
    copy = pickle.loads(pickle.dumps(unnumbered))
    copy.update(*batch(1))
    with pytest.raises(ValueError, match="both monitors counted"):
        unnumbered.merge(copy)
    other = StreamingReliability()
    other.update(*batch(1))
    both = unnumbered.merge(other)
    assert both.table() == whole([0, 1])
    with pytest.raises(ValueError, match="both monitors counted"):
        both.merge(other)
    both.update(*batch(2))
    assert len(both.counted) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 5}, "different bins"),
        ({"labels": ["a", "b"]}, "classes"),
        ({"window": 3}, "with window=None and window=3"),
        ({"by": "model"}, "with by=None and by='model'"),
    ],
)
def test_monitors_that_do_not_fit_are_not_merged(options, message):
    with pytest.raises(ValueError, match=message):
        StreamingReliability().merge(StreamingReliability(**options))


# ---------------------------------------------------------------- snapshots


def test_a_snapshot_is_the_whole_state(tmp_path):
    options = {"labels": ["b", "a"], "pos_label": "b", "window": np.int64(3), "period": DAY}
    monitor = StreamingReliability(4, by="model", **options)
    for k in range(6):
        y, p = batch(k)
        monitor.update(
            np.array(["a", "b"])[y], p, by=[f"m{k % 2}", True, 7, "Ω"][k % 4],
            at=datetime(2024, 1, 1 + k, tzinfo=UTC), sample_weight=p,
        )  # fmt: skip
    monitor.save(tmp_path / "m.json")
    loaded = calibrant.load(tmp_path / "m.json")
    assert loaded.to_dict() == monitor.to_dict()
    assert loaded.tables() == monitor.tables()
    assert repr(loaded) == repr(monitor)
    for one in (monitor, loaded):
        y, p = batch(9)
        one.update(np.array(["a", "b"])[y], p, by="m1", at=datetime(2024, 1, 7, tzinfo=UTC))
    assert loaded.to_dict() == monitor.to_dict()
    loaded.save(tmp_path / "again.json")
    monitor.save(tmp_path / "m.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


def test_only_its_own_snapshots_are_replaced(tmp_path):
    path = tmp_path / "m.json"
    monitor = fed(range(3))
    monitor.save(path)
    fed([3], monitor).save(path)
    # Another process, another source.
    other = fed(range(2), source="another")
    with pytest.raises(FileExistsError, match="batches that this monitor has not counted.*'queue'"):
        other.save(path)
    # The same process, restored from an older snapshot, before it has caught up.
    with pytest.raises(FileExistsError, match=r"numbers in range\(0, 4\)"):
        fed(range(2)).save(path)
    fed(range(5)).save(path)
    with pytest.raises(FileExistsError, match="other settings"):
        fed(range(6), StreamingReliability(n_bins=3)).save(path)
    other.save(path, overwrite=True)
    assert calibrant.load(path).table() == whole(range(2))
    for precious in ("precious", '{"format": "calibrant"'):
        path.write_text(precious)
        with pytest.raises(FileExistsError, match="is no snapshot"):
            monitor.save(path)
        assert path.read_text() == precious
    path.unlink()
    calibrant.reliability_table([0, 1], [0.2, 0.8]).save(path)
    with pytest.raises(FileExistsError, match="is a ReliabilityTable"):
        monitor.save(path)


def content_of(tmp_path):
    monitor = fed(range(4), StreamingReliability(window=2, by=None), at=[1, 1, 2, 2])
    monitor.save(tmp_path / "m.json", overwrite=True)
    return json.loads((tmp_path / "m.json").read_text())


def drop(key):
    return lambda c: c.pop(key)


def put(value, *keys):
    def change(content):
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("counted"), "'counted' is missing"),
        (put(1, "bogus"), "unknown entry 'bogus'"),
        (put("2", "newest"), "newest must be None or a whole number"),
        (put(True, "newest"), "newest must be None or a whole number"),
        (put(None, "newest"), "has a newest period, and no other"),
        (put(5, "newest"), "tables\\[0\\] is of period 1, which is not in the window"),
        (put(1, "newest"), "which is not in the window"),
        (put([], "counted"), "newest period"),
        (put({"queue": [[0, 2], [2, 4]]}, "counted"), "ascending"),
        (put({"queue": [[0, 2.5]]}, "counted"), "ascending"),
        (put({"queue": [[3, 1]]}, "counted"), "ascending"),
        (put({"queue": []}, "counted"), "ascending"),
        (put({"queue": [[-1, 4]]}, "counted"), "ascending"),
        (put(7, "own_source"), "own_source must be None or text"),
        (put(0, "settings", "window"), "window must be"),
        (put(1.5, "settings", "period"), "period must be"),
        (put(["a", "b"], "settings", "labels"), "labels are not those of the table"),
        (put("model", "settings", "by"), "is of group None"),
        (put("m1", "tables", 0, "group"), "is of group 'm1'"),
        (put(1.5, "tables", 0, "group"), "must be None or the name of a group"),
        (put(2, "tables", 0, "period"), "same period and group"),
        (put([1] * 9, "tables", 0, "count"), "must have 10 entries"),
        (put([-1] * 10, "tables", 0, "count"), "count must be"),
        (put([[99.0]] * 10, "tables", 0, "sum_true"), "sum_true"),
        (put([1] * 10, "settings", "empty", "count"), "has rows"),
        (put({}, "tables", 0), "is missing from tables\\[0\\]"),
        (put(3, "tables"), "damaged"),
    ],
)
def test_snapshots_that_were_edited(tmp_path, change, message):
    document = content_of(tmp_path)
    change(document["content"])
    (tmp_path / "m.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=message):
        calibrant.load(tmp_path / "m.json")


SERVICE = """
import sys
from pathlib import Path
from calibrant import StreamingReliability, load
from calibrant.datasets import load_games

path, pause = Path(sys.argv[1]), len(sys.argv) > 2
games = load_games()
month = games.date.astype("datetime64[M]").astype(int)
monitor = StreamingReliability(window=12, by="sport")
if path.exists():
    monitor = load(path)
    print("restored", sum(len(run) for run in monitor.counted["games"]))
for k in range(300):
    rows = slice(50 * k, 50 * k + 50)
    monitor.update(games.y_true[rows], games.y_prob[rows], by=games.sport[rows],
                   at=int(month[rows][0]), source="games", offset=k)
    if k % 7 == 0:
        monitor.save(path)
    if pause:
        print(k, flush=True)
monitor.save(path)
"""


def test_a_killed_service_catches_up_to_the_last_bit(tmp_path, monkeypatch, capsys):
    def run(path):
        monkeypatch.setattr(sys, "argv", ["service", str(path)])
        exec(compile(SERVICE, "service", "exec"), {})

    undisturbed, killed = tmp_path / "undisturbed.json", tmp_path / "killed.json"
    run(undisturbed)
    service = subprocess.Popen(
        [sys.executable, "-c", SERVICE, killed, "pause"], stdout=subprocess.PIPE, text=True
    )
    assert service.stdout is not None
    for line in service.stdout:
        if line.strip() == "131":
            break
    time.sleep(0.003)  # somewhere in the middle of an update or a save
    service.send_signal(signal.SIGKILL)
    service.stdout.close()
    assert service.wait() == -signal.SIGKILL
    run(killed)
    restored = int(capsys.readouterr().out.split()[1])
    assert 127 <= restored < 300
    assert killed.read_bytes() == undisturbed.read_bytes()
    assert calibrant.load(killed).table() == calibrant.load(undisturbed).table()


def test_the_games_of_a_window_are_counted():
    games = load_games()
    month = games.date.astype("datetime64[M]").astype(int)
    monitor = StreamingReliability(window=12, by="sport")
    for k in np.unique(month):
        rows = month == k
        monitor.update(games.y_true[rows], games.y_prob[rows], by=games.sport[rows], at=int(k))
    last = month > month.max() - 12
    for sport, table in monitor.tables().items():
        rows = last & (games.sport == sport)
        assert table == reliability_table(games.y_true[rows], games.y_prob[rows])


def test_an_unwritable_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        fed([0]).save(Path(tmp_path) / "nowhere" / "m.json")
