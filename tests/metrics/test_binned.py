"""ECE, MCE, ACE and the reliability table: expected values, invariants, agreement with others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from calibrant import ace, ece, mce, reliability_table
from calibrant.binning import bin_edges

Reference = Callable[[str], dict[str, Any]]

BINARY = [
    "binary_b200",
    "binary_b50_ties",
    "binary_b63_sensitive",
    "binary_b120_zero_one",
    "binary_b1000_rare",
    "binary_b2000",
    "binary_b201_odd",
    "binary_b150_calibrated",
    "edge_constant",
    "edge_two",
    "edge_edges10",
    "edge_edges15",
    "edge_edges20",
    "edge_separated",
    "edge_reversed",
]
MULTI = [
    "multi_m3_300",
    "multi_m5_1000",
    "multi_m10_2000",
    "multi_m4_400_distorted",
    "multi_m3_60_ties",
    "multi_m3_150_zeros",
    "multi_m3_90_rare1",
    "multi_m3_90_rare2",
]
STRATEGY = {"equal_width": "uniform", "quantile8": "quantile"}

close = pytest.approx
TOLERANCE = {"rel": 0, "abs": 1e-12}


def labels_of(content: dict[str, Any]) -> list[int]:
    return list(range(1, len(content["inputs"]["p"][0]) + 1))


# ---------------------------------------------------------------- expected values


@pytest.mark.parametrize("name", BINARY)
def test_binary_reference(reference: Reference, name: str) -> None:
    content = reference(name)
    p, y = content["inputs"]["p"], content["inputs"]["y"]
    for expected in content["metrics"]:
        for metric in (ece, mce, ace):
            value = metric(y, p, n_bins=expected["bins"])
            assert value == close(expected[metric.__name__], **TOLERANCE)
    for expected in content.get("ece_options", []):
        if expected["rule"] in STRATEGY:
            options = {"n_bins": expected["bins"], "strategy": STRATEGY[expected["rule"]]}
            assert ece(y, p, **options) == close(expected["l1"], **TOLERANCE)
            assert mce(y, p, **options) == close(expected["max"], **TOLERANCE)
            assert ace(y, p, **options) == close(expected["mean"], **TOLERANCE)
            assert_squared(expected, y, p, **options)


@pytest.mark.parametrize("name", MULTI)
@pytest.mark.parametrize("kind", ["classwise", "confidence"])
def test_multiclass_reference(reference: Reference, name: str, kind: str) -> None:
    content = reference(name)
    p, y = content["inputs"]["p"], content["inputs"]["y"]
    common = {"kind": kind, "labels": labels_of(content)}
    for expected in content["metrics"]:
        for metric in (ece, mce, ace):
            value = metric(y, p, n_bins=expected["bins"], **common)
            assert value == close(expected[kind][metric.__name__], **TOLERANCE)
        if kind == "classwise":
            table = reliability_table(y, p, n_bins=expected["bins"], **common)
            per_class = [panel.ece() for panel in table.by_class().values()]
            assert per_class == close(expected[kind]["per_class_ece"], **TOLERANCE)
    for expected in content["ece_options"]:
        if expected["rule"] in STRATEGY:
            strategy = STRATEGY[expected["rule"]]
            options = {"n_bins": expected["bins"], "strategy": strategy, **common}
            assert ece(y, p, **options) == close(expected[kind]["l1"], **TOLERANCE)
            assert_squared(expected[kind], y, p, **options)


def assert_squared(expected: dict[str, Any], y: Any, p: Any, **options: Any) -> None:
    squared = ece(y, p, norm="l2", **options)
    assert squared == close(expected["l2_squared"], **TOLERANCE)
    debiased = ece(y, p, norm="l2", debiased=True, **options)
    assert debiased == close(expected["debiased_squared"], **TOLERANCE)


@pytest.mark.parametrize("name", BINARY)
def test_bin_statistics_reference(reference: Reference, name: str) -> None:
    content = reference(name)
    for expected in content["bin_stats"]:
        table = reliability_table(
            content["inputs"]["y"], content["inputs"]["p"], n_bins=expected["bins"]
        )
        assert table.count.tolist() == expected["n"]
        assert table.lower.tolist() == expected["lower"]
        assert table.upper.tolist() == expected["upper"]
        for column, name_there in [("mean_prob", "confidence"), ("observed", "accuracy")]:
            there = np.array(expected[name_there], dtype=float)
            np.testing.assert_allclose(getattr(table, column), there, rtol=0, atol=1e-12)
        gap = np.array(expected["gap"], dtype=float)
        np.testing.assert_allclose(np.abs(table.gap), gap, rtol=0, atol=1e-12)


def test_documentation_examples(reference: Reference) -> None:
    seen = 0
    for example in reference("doc_examples")["examples"]:
        for metric in (ece, mce, ace):
            if "bins" in example["inputs"] and metric.__name__ in example:
                inputs = example["inputs"]
                value = metric(inputs["y"], inputs["p"], n_bins=inputs["bins"])
                assert value == close(example[metric.__name__], **TOLERANCE)
                seen += 1
    assert seen >= 3


def test_bins_hold_their_lower_edge_and_the_last_one_also_its_upper() -> None:
    table = reliability_table([0, 1, 1, 0, 1], [0.0, 0.25, 0.5, 0.75, 1.0], n_bins=4)
    assert table.count.tolist() == [1, 1, 1, 2]


def test_the_first_of_tied_top_labels_wins() -> None:
    prob = [[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [1 / 3, 1 / 3, 1 / 3]]
    table = reliability_table(["a", "c", "a"], prob, labels=["a", "b", "c"], kind="confidence")
    assert table.sum_true.sum() == 2


# ---------------------------------------------------------------- a slow, obvious twin


def slow_bins(
    y: np.ndarray, p: np.ndarray, weight: np.ndarray, edges: np.ndarray
) -> list[tuple[float, float, float]]:
    """Weight, mean prediction and observed frequency of each bin that is not empty."""
    bins = []
    for b in range(len(edges) - 1):
        last = b == len(edges) - 2
        inside = (p >= edges[b]) & ((p < edges[b + 1]) | (last & (p == edges[b + 1])))
        w = weight[inside]
        if w.sum() > 0:
            bins.append((w.sum(), w @ p[inside] / w.sum(), w @ y[inside] / w.sum()))
    return bins


def slow_metrics(
    y: np.ndarray, p: np.ndarray, weight: np.ndarray, edges: np.ndarray
) -> dict[str, float]:
    w, prob, true = np.array(slow_bins(y, p, weight, edges)).T
    gap, share = np.abs(true - prob), w / w.sum()
    unbiased = np.array(
        [
            g**2 - t * (1 - t) / (k - 1) if k > 1 else 0.0
            for k, t, g in zip(w, true, gap, strict=True)
        ]
    )
    return {
        "ece": share @ gap,
        "mce": gap.max(),
        "ace": gap.mean(),
        "l2": share @ gap**2,
        "debiased": share @ unbiased,
    }


# Values that lie on edges, next to them and at the ends, and ties.
awkward = st.sampled_from(
    [0.0, -0.0, 1.0, 0.1, 0.3, 0.7, np.nextafter(0.3, 0), np.nextafter(0.3, 1), 5e-324, 1e-300, 0.5]
)
probabilities = st.lists(awkward | st.floats(0, 1), min_size=1, max_size=60)
modest = settings(deadline=None, max_examples=60)


@st.composite
def weighted_forecasts(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    p = np.array(draw(probabilities))
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=len(p), max_size=len(p))))
    weight = np.array(draw(st.lists(st.integers(0, 4), min_size=len(p), max_size=len(p))))
    weight[0] += not weight.any()
    return y, p, weight


@st.composite
def class_forecasts(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    n, k = draw(st.integers(1, 40)), draw(st.integers(3, 6))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    # Rounding makes ties, zeros and ones.
    prob = np.round(rng.dirichlet(np.full(k, 0.5), n), draw(st.integers(0, 8)))
    prob[prob.sum(axis=1) == 0, 0] = 1.0
    prob /= prob.sum(axis=1, keepdims=True)
    return rng.integers(0, k, n), prob


@modest
@given(weighted_forecasts(), st.integers(1, 30), st.sampled_from(["uniform", "quantile"]))
def test_binary_metrics_equal_the_twin(data: Any, n_bins: int, strategy: str) -> None:
    y, p, weight = data
    expected = slow_metrics(y, p, weight, bin_edges(p, n_bins, strategy, weight.astype(float)))
    options: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy, "sample_weight": weight}
    for metric in (ece, mce, ace):
        assert metric(y, p, **options) == close(expected[metric.__name__], abs=1e-13)
    assert ece(y, p, norm="l2", **options) == close(expected["l2"], abs=1e-13)
    debiased = ece(y, p, norm="l2", debiased=True, **options)
    assert debiased == close(expected["debiased"], abs=1e-13)


@modest
@given(class_forecasts(), st.integers(1, 20), st.sampled_from(["uniform", "quantile"]))
def test_multiclass_metrics_equal_the_twin(data: Any, n_bins: int, strategy: str) -> None:
    y, prob = data
    k, one = prob.shape[1], np.ones(len(y))
    options: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy, "labels": range(k)}
    columns = [
        slow_metrics(y == c, prob[:, c], one, bin_edges(prob[:, c], n_bins, strategy))
        for c in range(k)
    ]
    top = prob.argmax(axis=1)
    confidence = prob.max(axis=1)
    edges = bin_edges(confidence, n_bins, strategy)
    expected = slow_metrics(top == y, confidence, one, edges)
    for metric, combine in [(ece, np.mean), (mce, np.max), (ace, np.mean)]:
        classwise = combine([column[metric.__name__] for column in columns])
        assert metric(y, prob, **options) == close(classwise, abs=1e-13)
        value = metric(y, prob, kind="confidence", **options)
        assert value == close(expected[metric.__name__], abs=1e-13)


@modest
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40, unique=True), probabilities)
def test_a_bin_is_found_for_every_double(inner: list[float], p: list[float]) -> None:
    edges = np.unique([0.0, *inner, 1.0])
    beside = np.concatenate([np.nextafter(edges, 0), edges, np.nextafter(edges, 1)])
    values = np.clip(np.concatenate([beside, p]), 0, 1)
    for prob in (values, np.clip(values.astype(np.float32), 0, 1)):
        table = reliability_table(np.zeros(len(prob)), prob, bin_edges=edges)
        bins = np.searchsorted(edges, prob.astype(np.float64), side="right") - 1
        bins = np.clip(bins, 0, len(edges) - 2)
        assert table.count.tolist() == np.bincount(bins, minlength=len(edges) - 1).tolist()


# ---------------------------------------------------------------- invariants


@modest
@given(weighted_forecasts(), st.randoms(use_true_random=False))
def test_row_order_changes_nothing(data: Any, random: Any) -> None:
    y, p, weight = data
    weight = weight * 0.1
    order = np.array(random.sample(range(len(p)), len(p)))
    for strategy in ("uniform", "quantile"):
        whole = reliability_table(y, p, sample_weight=weight, bin_edges=bin_edges(p, 7, strategy))
        assert whole == reliability_table(
            y[order], p[order], sample_weight=weight[order], bin_edges=whole.edges
        )


@modest
@given(weighted_forecasts(), st.sampled_from(["uniform", "quantile"]))
def test_an_integer_weight_means_repeated_rows(data: Any, strategy: str) -> None:
    y, p, weight = data
    weighted = reliability_table(y, p, sample_weight=weight, strategy=strategy)
    repeated = reliability_table(np.repeat(y, weight), np.repeat(p, weight), strategy=strategy)
    np.testing.assert_array_equal(weighted.lower, repeated.lower)
    np.testing.assert_array_equal(weighted.weight, repeated.count)
    np.testing.assert_array_equal(weighted.sum_true, repeated.sum_true)
    np.testing.assert_allclose(weighted.sum_prob, repeated.sum_prob, rtol=1e-15)
    for options in ({}, {"norm": "l2"}, {"norm": "l2", "debiased": True}):
        assert weighted.ece(**options) == close(repeated.ece(**options), abs=1e-14)


def test_rows_of_weight_zero_are_not_there() -> None:
    y, p = [0, 1, 1, 0], [0.1, 0.6, 0.9, 0.9]
    weighted = reliability_table(y, p, sample_weight=[1, 1, 1, 0], strategy="quantile")
    assert weighted == reliability_table(y[:3], p[:3], strategy="quantile")


@modest
@given(class_forecasts(), st.randoms(use_true_random=False))
def test_renaming_and_reordering_classes_changes_nothing(data: Any, random: Any) -> None:
    y, prob = data
    k = prob.shape[1]
    order = random.sample(range(k), k)
    names = np.array([f"class {c}" for c in range(k)])
    for metric in (ece, mce, ace):
        for strategy in ("uniform", "quantile"):
            plain = metric(y, prob, labels=range(k), strategy=strategy)
            renamed = metric(names[y], prob[:, order], labels=names[order], strategy=strategy)
            assert renamed == close(plain, abs=1e-14)
    named = metric(names[y], prob, labels=names, kind="confidence")
    assert named == metric(y, prob, labels=range(k), kind="confidence")


@modest
@given(weighted_forecasts(), st.sampled_from(["classwise", "confidence"]))
def test_two_columns_mean_the_same_as_one(data: Any, kind: str) -> None:
    y, p, weight = data
    two = np.column_stack([1 - p, p])
    table = reliability_table(y, p, sample_weight=weight)
    assert table == reliability_table(y, two, sample_weight=weight, kind=kind)
    assert table.kind == "binary"


@modest
@given(weighted_forecasts())
def test_float32_means_the_same_as_the_same_values_in_float64(data: Any) -> None:
    y, p, _ = data
    single = p.astype(np.float32)
    table = reliability_table(y, single, strategy="quantile")
    assert table == reliability_table(y, single.astype(np.float64), strategy="quantile")


@pytest.mark.parametrize("kind", ["classwise", "confidence"])
def test_threads_change_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    prob = rng.dirichlet(np.ones(3), 300_000)
    y, weight = rng.integers(0, 3, len(prob)), rng.random(len(prob))
    options = {"kind": kind, "sample_weight": weight}
    tables = []
    for n_processors in (1, 2, 3):
        monkeypatch.setattr(
            "os.sched_getaffinity", lambda _, n=n_processors: range(n), raising=False
        )
        tables.append(reliability_table(y, prob, **options))
    assert tables[0] == tables[1] == tables[2]


def test_positive_label() -> None:
    y, p = ["yes", "no", "yes"], [0.8, 0.3, 0.6]
    assert ece(y, p, pos_label="yes") == ece([1, 0, 1], p)
    assert ece(y, [0.2, 0.7, 0.4], pos_label="no") == close(ece([1, 0, 1], p), abs=1e-15)


# ---------------------------------------------------------------- others


def test_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(5000)
    y = rng.random(5000) < p**1.3
    table = reliability_table(y, p, n_bins=15)
    true, prob = calibration_curve(y, p, n_bins=15)
    np.testing.assert_allclose(table.observed, true, rtol=1e-13)
    np.testing.assert_allclose(table.mean_prob, prob, rtol=1e-13)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "canonical"}, "kind must be 'classwise' or 'confidence', got 'canonical'"),
        ({"strategy": "width"}, "strategy must be 'uniform' or 'quantile', got 'width'"),
        ({"norm": "max"}, "norm must be 'l1' or 'l2', got 'max'"),
        ({"debiased": True}, "pass norm='l2'"),
        ({"n_bins": 0}, "n_bins must be an integer of at least 1, got 0"),
        ({"n_bins": 2.5}, "n_bins must be an integer"),
    ],
)
def test_options_that_do_not_exist(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ece([0, 1], [0.2, 0.7], **options)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([0.0, 0.5], "ascend strictly from 0 to 1"),
        ([0.1, 0.5, 1.0], "ascend strictly from 0 to 1"),
        ([0.0, 0.5, 0.5, 1.0], "ascend strictly from 0 to 1"),
        ([0.0, np.nan, 1.0], "ascend strictly from 0 to 1"),
        ([[0.0, 1.0], [0.0, 1.0]], "2 arrays for 1 panels"),
        (["low", "high"], "cannot be read"),
        ([], "cannot be read"),
        (10, "cannot be read"),
    ],
)
def test_edges_that_are_none(edges: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reliability_table([0, 1], [0.2, 0.7], bin_edges=edges)
