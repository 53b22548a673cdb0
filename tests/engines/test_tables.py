"""Reliability tables of frames equal those of arrays, in every engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from calibrant import ReliabilityTable, ace, ece, mce, reliability_table

Maker = Callable[[pl.DataFrame], Any]

CLASSES = ["ant", "bee", "cat"]
P3 = [f"p {name}" for name in CLASSES]


def binary_rows(n: int = 700, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    # Multiples of 0.05 lie on edges, or next to them where an edge is no such double.
    prob = np.where(rng.random(n) < 0.5, rng.integers(0, 21, n) * 0.05, rng.random(n)).clip(0, 1)
    group = rng.choice(np.array(["north", 'so"uth', None], dtype=object), n)
    return pl.DataFrame(
        {
            "y": (rng.random(n) < prob).astype(int),
            'my "p"': prob,
            "weight": rng.integers(0, 4, n).astype(float),
            "where is": pl.Series(group.tolist(), dtype=pl.String),
            "half": rng.integers(0, 2, n),
        }
    )


def multiclass_rows(n: int = 500, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    # Coarse probabilities, so that the largest is often tied.
    parts = rng.multinomial(8, [0.3, 0.3, 0.4], n) / 8
    codes = [rng.choice(3, p=row) for row in parts]
    columns = {name: parts[:, k] for k, name in enumerate(P3)}
    return pl.DataFrame({"label": [CLASSES[k] for k in codes], **columns, "w": rng.random(n)})


def assert_same(found: ReliabilityTable, expected: ReliabilityTable) -> None:
    assert (found.kind, found.strategy) == (expected.kind, expected.strategy)
    assert found.classes.tolist() == expected.classes.tolist()
    for mine, theirs in zip(found.edges, expected.edges, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(found.count, expected.count)
    for name in ("weight", "sum_prob", "sum_true"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-13, atol=1e-13
        )


@pytest.mark.parametrize("weight", [None, "weight"])
def test_binary_table(backend: Maker, weight: str | None) -> None:
    rows = binary_rows()
    found = reliability_table(backend(rows), y="y", prob='my "p"', sample_weight=weight)
    values = None if weight is None else rows[weight].to_numpy()
    expected = reliability_table(
        rows["y"].to_numpy(), rows['my "p"'].to_numpy(), sample_weight=values
    )
    assert_same(found, expected)
    merged = found.merge(expected)
    np.testing.assert_array_equal(merged.count, 2 * expected.count)


def test_groups_with_null(backend: Maker) -> None:
    rows = binary_rows()
    found = ece(backend(rows), y="y", prob='my "p"', by=["where is", "half"], n_bins=7)
    keys = [(g, h) for g in ("north", 'so"uth', None) for h in (0, 1)]
    assert list(found) == keys
    for (g, h), value in found.items():
        part = rows.filter(pl.col("where is").eq_missing(pl.lit(g)) & (pl.col("half") == h))
        assert value == pytest.approx(ece(part["y"], part['my "p"'], n_bins=7), abs=1e-12)


@pytest.mark.parametrize("name", ["cell", "rows", "prob", "true", "y", "by 0"])
def test_no_name_of_a_column_is_taken(local_backend: Maker, name: str) -> None:
    rows = binary_rows(60).rename({"half": name if name != "y" else "half"})
    found = ece(local_backend(rows), y="y", prob='my "p"', by=name)
    assert set(found) == {0, 1}


@pytest.mark.parametrize("kind", ["classwise", "confidence"])
def test_multiclass(backend: Maker, kind: str) -> None:
    rows = multiclass_rows()
    found = reliability_table(
        backend(rows), y="label", prob=P3, labels=CLASSES, kind=kind, sample_weight="w"
    )
    expected = reliability_table(
        rows["label"], rows.select(P3), labels=CLASSES, kind=kind, sample_weight=rows["w"]
    )
    assert_same(found, expected)


def test_quantile_bins(backend: Maker) -> None:
    rows = binary_rows(300)
    found = reliability_table(
        backend(rows), y="y", prob='my "p"', strategy="quantile", n_bins=5, sample_weight="weight"
    )
    expected = reliability_table(
        rows["y"], rows['my "p"'], strategy="quantile", n_bins=5, sample_weight=rows["weight"]
    )
    assert_same(found, expected)


def test_given_edges_for_each_panel(local_backend: Maker) -> None:
    rows = multiclass_rows()
    edges = [[0, 0.25, 1], [0, 0.125, 0.5, 0.875, 1], [0, 1]]
    found = reliability_table(local_backend(rows), y="label", prob=P3, bin_edges=edges)
    expected = reliability_table(rows["label"], rows.select(P3), labels=CLASSES, bin_edges=edges)
    assert_same(found, expected)


def test_quantile_bins_of_groups_and_classes(local_backend: Maker) -> None:
    rows = multiclass_rows().with_columns(g=pl.Series([1, 2] * 250))
    found = reliability_table(
        local_backend(rows), y="label", prob=P3, strategy="quantile", n_bins=3, by="g"
    )
    for group, table in found.items():
        part = rows.filter(g=group)
        assert_same(
            table,
            reliability_table(
                part["label"], part.select(P3), labels=CLASSES, strategy="quantile", n_bins=3
            ),
        )


@pytest.mark.parametrize("seed", range(4))
def test_quantiles_of_many_close_values_are_refined(seed: int) -> None:
    # Almost all values fall in one of the first cells, and one value has most of the rows.
    rng = np.random.default_rng(seed)
    prob = np.concatenate([np.full(300_000, 1e-5), 1e-4 * rng.random(500_000) ** 4, [0.5, 1.0]])
    rows = pl.DataFrame({"y": rng.integers(0, 2, len(prob)), "p": prob}).lazy()
    found = reliability_table(rows, y="y", prob="p", strategy="quantile", n_bins=20)
    expected = reliability_table(np.zeros(len(prob), int), prob, strategy="quantile", n_bins=20)
    np.testing.assert_array_equal(found.edges[0], expected.edges[0])
    np.testing.assert_array_equal(found.count, expected.count)


def test_edges_are_those_of_arrays() -> None:
    """Values at the edges and next to them fall in the same bins, for many numbers of bins."""
    for n_bins in (1, 2, 3, 7, 10, 49, 100):
        edges = np.linspace(0, 1, n_bins + 1)
        prob = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 1)]).clip(0, 1)
        rows = pl.LazyFrame({"y": np.zeros(len(prob), int), "p": prob})
        found = reliability_table(rows, y="y", prob="p", n_bins=n_bins)
        expected = reliability_table(np.zeros(len(prob), int), prob, n_bins=n_bins)
        np.testing.assert_array_equal(found.count, expected.count)


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        (pl.Series([0, 1, 1, 0], dtype=pl.Int8), {}),
        (pl.Series([0, 1, 1, 0], dtype=pl.UInt64), {"pos_label": 1}),
        (pl.Series([0.0, 1.0, 1.0, 0.0]), {}),
        (pl.Series([False, True, True, False]), {}),
        (pl.Series([-3, 5, 5, -3]), {"pos_label": 5}),
        (pl.Series([-3, 5, 5, -3]), {"labels": [5, -3]}),
        (pl.Series(["a b", "c'd", "c'd", "a b"]), {"pos_label": "c'd"}),
        (pl.Series(["a", "b", "b", "a"], dtype=pl.Categorical), {"pos_label": "b"}),
        (pl.Series(["a", "b", "b", "a"], dtype=pl.Enum(["b", "a"])), {"labels": ["a", "b"]}),
    ],
    ids=lambda value: str(value.dtype) if isinstance(value, pl.Series) else str(value),
)
def test_labels_of_any_type(
    local_backend: Maker, labels: pl.Series, options: dict[str, Any]
) -> None:
    prob = pl.Series([0.1, 0.9, 0.6, 0.3])
    found = reliability_table(
        local_backend(pl.DataFrame({"y": labels, "p": prob})), y="y", prob="p", n_bins=2, **options
    )
    values = labels.cast(pl.String) if labels.dtype in (pl.Categorical, pl.Enum) else labels
    assert_same(found, reliability_table(values.to_numpy(), prob, n_bins=2, **options))


@pytest.mark.parametrize("local_backend", ["polars lazy", "pyarrow", "duckdb"], indirect=True)
def test_decimal_labels_and_probabilities(local_backend: Maker) -> None:
    rows = pl.DataFrame({"y": [0, 1, 1], "p": ["0.1", "0.25", "0.9"]}).with_columns(
        pl.col("y").cast(pl.Decimal(5, 0)), pl.col("p").str.to_decimal(scale=2)
    )
    found = reliability_table(local_backend(rows), y="y", prob="p", n_bins=2)
    assert_same(found, reliability_table([0, 1, 1], [0.1, 0.25, 0.9], n_bins=2))


def test_single_precision(local_backend: Maker) -> None:
    rows = (
        multiclass_rows()
        .with_columns(pl.col(P3).cast(pl.Float32) / 3)
        .with_columns((1 - pl.col(P3[0]) - pl.col(P3[1])).alias(P3[2]))
    )
    found = reliability_table(local_backend(rows), y="label", prob=P3, labels=CLASSES)
    expected = reliability_table(rows["label"], rows.select(P3), labels=CLASSES)
    assert_same(found, expected)


def test_two_columns_are_binary(local_backend: Maker) -> None:
    rows = binary_rows().with_columns(no=1 - pl.col('my "p"'))
    found = ece(local_backend(rows), y="y", prob=["no", 'my "p"'])
    assert found == pytest.approx(ece(rows["y"], rows['my "p"']), abs=1e-12)
    other = ece(local_backend(rows), y="y", prob=['my "p"', "no"], labels=[1, 0])
    swapped = ece(rows["y"], rows.select('my "p"', "no").to_numpy(), labels=[1, 0])
    assert other == pytest.approx(swapped, abs=1e-12)


def test_measures_read_from_the_table(local_backend: Maker) -> None:
    rows = binary_rows()
    frame = local_backend(rows)
    for measure in (mce, ace):
        found = measure(frame, y="y", prob='my "p"', n_bins=4)
        assert found == pytest.approx(measure(rows["y"], rows['my "p"'], n_bins=4), abs=1e-12)
    found = ece(frame, y="y", prob='my "p"', norm="l2", debiased=True)
    expected = ece(rows["y"], rows['my "p"'], norm="l2", debiased=True)
    assert found == pytest.approx(expected, abs=1e-12)


# ---------------------------------------------------------------- what is refused


def broken(column: str, value: Any) -> pl.DataFrame:
    """Good rows, three of which have a bad value."""
    rows = binary_rows(40)
    dtype = rows[column].dtype
    bad = pl.Series([value] * 3 + rows[column].to_list()[3:], dtype=dtype, strict=False)
    return rows.with_columns(bad.alias(column))


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ('my "p"', None, r"""frame\['my "p"'\] is no probability in 3 rows"""),
        ('my "p"', float("nan"), "is no probability in 3 rows"),
        ('my "p"', float("inf"), "is no probability in 3 rows, such as inf"),
        ('my "p"', 1.5, "is no probability in 3 rows, such as 1.5"),
        ('my "p"', -0.25, "is no probability in 3 rows, such as -0.25"),
        ("y", None, r"frame\['y'\] is not among the labels \[0, 1\] in 3 rows"),
        ("y", 2, "is not among the labels .* in 3 rows, such as 2"),
        ("weight", None, "is no weight in 3 rows"),
        ("weight", float("nan"), "is no weight in 3 rows"),
        ("weight", float("inf"), "is no weight in 3 rows, such as inf"),
        ("weight", -1.0, "is no weight in 3 rows, such as -1.0"),
    ],
)
def test_bad_rows(local_backend: Maker, column: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ece(local_backend(broken(column, value)), y="y", prob='my "p"', sample_weight="weight")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ('my "p"', float("nan"), "is no probability in 3 rows"),
        ("y", 2, "is not among the labels .* in 3 rows, such as 2"),
        ("weight", None, "is no weight in 3 rows"),
    ],
)
def test_bad_rows_in_spark(spark: Any, column: str, value: Any, message: str) -> None:
    frame = spark.createDataFrame(broken(column, value).to_arrow())
    with pytest.raises(ValueError, match=message):
        ece(frame, y="y", prob='my "p"', sample_weight="weight")


def test_names_that_spark_reads_as_syntax(spark: Any) -> None:
    frame = spark.createDataFrame(binary_rows(10).rename({"half": "a.b"}).to_arrow())
    with pytest.raises(ValueError, match="'a.b', and Spark reads .* rename it"):
        ece(frame, y="y", prob='my "p"', by="a.b")


def test_rows_that_do_not_sum_to_one(local_backend: Maker) -> None:
    rows = multiclass_rows(20).with_columns(pl.col(P3[0]) * pl.lit(0.5))
    with pytest.raises(ValueError, match="do not sum to one within 1e-06 in"):
        ece(local_backend(rows), y="label", prob=P3, labels=CLASSES)


def test_missing_column(local_backend: Maker) -> None:
    with pytest.raises(ValueError, match="frame has no column 'q': it has y, "):
        ece(local_backend(binary_rows(10)), y="y", prob="q")


def test_no_rows(backend: Maker) -> None:
    with pytest.raises(ValueError, match="empty: at least one row"):
        ece(backend(binary_rows(10).clear()), y="y", prob='my "p"')


def test_text_needs_pos_label(local_backend: Maker) -> None:
    rows = pl.DataFrame({"y": ["a", "b"], "p": [0.1, 0.2]})
    with pytest.raises(ValueError, match="pass pos_label="):
        ece(local_backend(rows), y="y", prob="p")
    with pytest.raises(ValueError, match="do not fit the column 'y'"):
        ece(local_backend(rows), y="y", prob="p", labels=[0, 1])
    with pytest.raises(ValueError, match="not numbers"):
        ece(local_backend(rows), y="p", prob="y")


def test_zero_weights_of_a_group(local_backend: Maker) -> None:
    rows = binary_rows(40).with_columns(weight=pl.col("half").cast(pl.Float64))
    with pytest.raises(ValueError, match="zero in every row of the group 0"):
        ece(local_backend(rows), y="y", prob='my "p"', by="half", sample_weight="weight")


def test_arguments_of_frames() -> None:
    rows = binary_rows(10)
    with pytest.raises(ValueError, match="a frame needs y= and prob="):
        ece(rows)
    with pytest.raises(TypeError, match="y_prob is missing"):
        ece([0, 1])
    with pytest.raises(ValueError, match="y_prob does not go with"):
        ece(rows["y"], rows['my "p"'], by="half")
    with pytest.raises(ValueError, match="frame is of type list"):
        ece([0, 1], y="y", prob="p")
    with pytest.raises(ValueError, match="name of a column"):
        ece(rows, y="y", prob='my "p"', sample_weight=np.ones(10))
    with pytest.raises(ValueError, match="whole numbers: pass bin_edges"):
        ece(
            rows.with_columns(weight=pl.lit(0.5)),
            y="y", prob='my "p"', sample_weight="weight", strategy="quantile",
        )  # fmt: skip
