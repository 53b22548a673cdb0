"""The reliability table as a value: merging, comparing, saving, showing."""

from __future__ import annotations

import copy
import json
import pickle
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import ReliabilityTable, load, reliability_table


def forecast(seed: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    if k == 2:
        p = rng.beta(0.3, 0.5, n)
        return (rng.random(n) < p).astype(int), p, 10 ** rng.uniform(-9, 9, n)
    return rng.integers(0, k, n), rng.dirichlet(np.full(k, 0.3), n), rng.uniform(0, 2, n)


def through_json(table: ReliabilityTable) -> ReliabilityTable:
    return ReliabilityTable.from_dict(json.loads(json.dumps(table.to_dict(), allow_nan=False)))


# ---------------------------------------------------------------- merging


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(4, 80),
    st.sampled_from([(2, "classwise"), (3, "classwise"), (5, "classwise"), (4, "confidence")]),
    st.booleans(),
    st.booleans(),
    st.integers(2, 4),
    st.randoms(use_true_random=False),
)
def test_merged_pieces_equal_the_whole(
    seed: int,
    n: int,
    shape: tuple[int, str],
    weighted: bool,
    quantile: bool,
    n_pieces: int,
    random: Any,
) -> None:
    k, kind = shape
    y, prob, weight = forecast(seed, n, k)
    strategy = "quantile" if quantile else "uniform"
    labels = range(k)

    def table(rows: Any, **options: Any) -> ReliabilityTable:
        return reliability_table(
            y[rows],
            prob[rows],
            kind=kind,
            labels=labels,
            sample_weight=weight[rows] if weighted else None,
            **options,
        )

    edges = table(slice(None), strategy=strategy, n_bins=6).edges
    whole = table(slice(None), bin_edges=edges)
    owner = np.arange(n) % n_pieces
    random.shuffle(owner)
    pieces = [table(owner == piece, bin_edges=edges) for piece in range(n_pieces)]
    pieces = [through_json(piece) for piece in pieces]
    assert reduce(ReliabilityTable.merge, pieces) == whole
    assert reduce(lambda a, b: b.merge(a), pieces) == whole
    assert reduce(ReliabilityTable.merge, pieces).ece() == whole.ece()


def test_merging_is_associative_where_rounded_sums_are_not() -> None:
    # 1 + 2**-60 + ... rounds away what comes second, in whatever order.
    tables = [reliability_table([1], [p], n_bins=1) for p in (1.0, 2.0**-60, 2.0**-60, 5e-324)]
    a, b, c, d = tables
    left, right = a.merge(b).merge(c).merge(d), d.merge(c.merge(b.merge(a)))
    assert left == right
    assert left != a.merge(b).merge(d).merge(d)
    assert len(left.to_dict()["sum_prob"][0]) == 3


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"kind": "confidence"}, "of kind 'classwise' and 'confidence'"),
        ({"labels": ["c", "b", "a"]}, "classes .*'a', 'b', 'c'.* and .*'c', 'b', 'a'"),
        ({"n_bins": 7}, "10 bins against 7"),
        ({"bin_edges": [*np.linspace(0, 0.9, 10) ** 2, 1.0]}, r"edge 1 is 0\.1 against 0\.01"),
    ],
)
def test_tables_that_do_not_merge(other: dict[str, Any], message: str) -> None:
    data = (["a", "b", "c"], np.full((3, 3), 1 / 3))
    with pytest.raises(ValueError, match=message):
        reliability_table(*data).merge(reliability_table(*data, **other))


def test_the_strategy_of_a_merged_table() -> None:
    table = reliability_table([0, 1, 1], [0.1, 0.5, 0.6], strategy="quantile", n_bins=2)
    more = reliability_table([0, 1], [0.2, 0.9], bin_edges=table.edges)
    assert table.merge(table).strategy == "quantile"
    assert table.merge(more).strategy == more.merge(table).strategy == "given"


# ---------------------------------------------------------------- a value


def test_weights_of_any_size() -> None:
    weight = [1e300, 1e-300, 5e-324, 1e308]
    table = reliability_table([1, 0, 1, 0], [0.5, 0.25, 1.0, 0.75], n_bins=1, sample_weight=weight)
    assert table.weight.tolist() == [1.0000000100000000e308]
    assert table.ece() == pytest.approx(0.75)
    assert through_json(table) == table


def test_weights_that_add_up_to_too_much() -> None:
    with pytest.raises(ValueError, match="sample_weight adds up to more than a float64 can hold"):
        reliability_table([0, 1], [0.5, 0.5], sample_weight=[1.7e308, 1.7e308])


def test_columns_of_empty_bins() -> None:
    table = reliability_table([0, 1], [0.1, 0.9], n_bins=3)
    assert table.count.tolist() == [1, 0, 1]
    assert table.weight.tolist() == [1.0, 0.0, 1.0]
    assert np.isnan([table.mean_prob[1], table.observed[1], table.gap[1]]).all()
    assert table.mce() == pytest.approx(0.1)


def test_tables_do_not_change() -> None:
    table = reliability_table([0, 1], [0.1, 0.9])
    with pytest.raises(AttributeError):
        table.kind = "confidence"  # type: ignore[misc]
    for array in (table.count, table.edges[0], table.classes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3


def test_tables_leave_the_arguments_alone() -> None:
    edges, labels = np.array([0.0, 0.5, 1.0]), np.array(["a", "b"])
    reliability_table(["a", "b"], [0.1, 0.9], labels=labels, bin_edges=edges)
    edges[1], labels[0] = 0.4, "c"


def test_equality() -> None:
    y, p = [0, 1, 1], [0.1, 0.5, 0.9]
    table = reliability_table(y, p)
    assert table == reliability_table(y[::-1], p[::-1])
    assert table != reliability_table(y, [0.1, 0.5, np.nextafter(0.9, 1)])
    assert table != reliability_table(y, p, n_bins=9)
    assert table != "table"


def test_taken_apart_by_class() -> None:
    y, prob, weight = forecast(3, 50, 3)
    table = reliability_table(y, prob, strategy="quantile", sample_weight=weight)
    apart = table.by_class()
    assert list(apart) == [0, 1, 2]
    assert table.ece() == pytest.approx(np.mean([panel.ece() for panel in apart.values()]))
    one = reliability_table(
        y == 1, prob[:, 1], bin_edges=apart[1].edges, sample_weight=weight, pos_label=True
    )
    np.testing.assert_array_equal(apart[1].sum_prob, one.sum_prob)
    np.testing.assert_array_equal(apart[1].observed, one.observed)
    with pytest.raises(ValueError, match="'binary' has no panel for each class"):
        one.by_class()


# ---------------------------------------------------------------- in and out


@pytest.mark.parametrize(
    "labels", [[0, 1, 2], ["a", "b", "c"], [-5, 7, 10**12]], ids=["codes", "text", "integers"]
)
def test_saved_and_loaded(tmp_path: Path, labels: list[Any]) -> None:
    y, prob, weight = forecast(4, 60, 3)
    table = reliability_table(np.array(labels)[y], prob, labels=labels, sample_weight=weight)
    table.save(tmp_path / "table.json")
    loaded = load(tmp_path / "table.json")
    assert loaded == table
    assert loaded.classes.tolist() == labels
    np.testing.assert_array_equal(loaded.gap, table.gap)
    with pytest.raises(FileExistsError):
        table.save(tmp_path / "table.json")
    table.save(tmp_path / "table.json", overwrite=True)


def test_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    reliability_table([0, 1], [0.1, 0.9]).save(path)
    document = json.loads(path.read_text())
    del document["content"]["count"][0]
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="10 bins must have 10 entries"):
        load(path)
    del document["content"]["count"]
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="'count' is missing"):
        load(path)


def test_pickled_and_copied() -> None:
    table = reliability_table([0, 1, 1], [0.1, 0.5, 0.9])
    assert pickle.loads(pickle.dumps(table)) == table
    assert copy.deepcopy(table) == table


def test_frames() -> None:
    y, prob, _ = forecast(5, 30, 3)
    table = reliability_table(np.array(["x", "y", "z"])[y], prob, n_bins=4, labels=["x", "y", "z"])
    frames = {name: table.to_frame(name) for name in ("polars", "pandas", "pyarrow")}
    assert isinstance(frames["polars"], pl.DataFrame)
    assert isinstance(frames["pandas"], pd.DataFrame)
    assert isinstance(frames["pyarrow"], pa.Table)
    assert isinstance(table.to_frame(), pl.DataFrame)
    assert frames["polars"]["class"].to_list() == ["x"] * 4 + ["y"] * 4 + ["z"] * 4
    for frame in frames.values():
        for name in ("lower", "upper", "count", "weight", "mean_prob", "observed", "gap"):
            np.testing.assert_array_equal(frame[name].to_numpy(), getattr(table, name))
    assert "class" not in reliability_table([0, 1], [0.2, 0.7]).to_frame().columns


def test_the_frame_of_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    table = reliability_table([0, 1], [0.2, 0.7])
    monkeypatch.delitem(__import__("sys").modules, "polars")
    assert isinstance(table.to_frame(), pd.DataFrame)
    with pytest.raises(ValueError, match="backend must be one of polars, pandas, pyarrow"):
        table.to_frame("dask")  # type: ignore[arg-type]


def test_no_frame_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("polars", "pandas", "pyarrow"):
        monkeypatch.delitem(__import__("sys").modules, name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="needs one of polars, pandas and pyarrow"):
        reliability_table([0, 1], [0.2, 0.7]).to_frame()


def test_repr() -> None:
    table = reliability_table([0, 1], [0.2, 0.7], n_bins=3, sample_weight=[0.5, 1.25])
    assert repr(table) == "\n".join(
        [
            "ReliabilityTable: binary, 2 rows, 3 uniform bins, ECE 0.2714",
            " lower   upper  count  weight  mean_prob  observed      gap",
            "     0  0.3333      1     0.5     0.2000    0.0000  -0.2000",
            "0.3333  0.6667      0       0          -         -        -",
            "0.6667       1      1    1.25     0.7000    1.0000  +0.3000",
        ]
    )
    classwise = repr(reliability_table(["a", "b", "c"], np.full((3, 3), 1 / 3)))
    assert "classwise, 3 rows, 3 classes, 30 uniform bins" in classwise
    assert classwise.endswith("\n... and 10 more bins")
