"""SKCE and MMCE: expected values, the dense matrix they stand for, invariants, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import calibration_test, mmce, skce

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
ESTIMATORS = ("biased", "uq", "ul")
KINDS = ("canonical", "confidence", "classwise")


def close(value: float) -> Any:
    return pytest.approx(value, rel=0, abs=1e-12)


def multiclass(content: dict[str, Any]) -> tuple[Any, Any, list[int]]:
    p = np.array(content["inputs"]["p"])
    return content["inputs"]["y"], p, list(range(1, p.shape[1] + 1))


# ---------------------------------------------------------------- the obvious way


def dense_terms(
    y: np.ndarray, p: np.ndarray, bandwidth: float, kind: str = "canonical"
) -> np.ndarray:
    """The whole matrix of kernel terms, (n, n)."""
    p = p.astype(np.float64)
    if p.ndim == 2 and kind == "confidence":
        y, p = p.argmax(axis=1) == y, p.max(axis=1)
    if p.ndim == 1:
        e = (y - p)[:, np.newaxis]
        p = p[:, np.newaxis]
    else:
        e = np.eye(p.shape[1])[y] - p
    distance = np.sqrt(((p[:, np.newaxis] - p) ** 2).sum(axis=2))
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(-distance / bandwidth) * (e @ e.T)


def dense_skce(h: np.ndarray, estimator: str) -> float:
    n = len(h)
    if estimator == "biased":
        return float(h.sum()) / n**2
    if estimator == "uq":
        return float(h.sum() - np.trace(h)) / (n * (n - 1))
    pairs = np.arange(0, n - 1, 2)
    return float(h[pairs, pairs + 1].mean())


def all_distances(p: np.ndarray) -> np.ndarray:
    p = p.astype(np.float64).reshape(len(p), -1)
    i, j = np.triu_indices(len(p), 1)
    return np.sqrt(((p[i] - p[j]) ** 2).sum(axis=1))


def median_of(y: np.ndarray, p: np.ndarray) -> float:
    """The median distance that the library takes as bandwidth."""
    labels = range(p.shape[1]) if p.ndim == 2 else None
    return calibration_test(y, p, bandwidth="median", n_resamples=1, labels=labels).bandwidth


@st.composite
def binary(draw: st.DrawFn, smallest: int = 1, largest: int = 2000) -> tuple[Any, Any]:
    """Outcomes and probabilities with ties, duplicates, exact 0 and 1, sorted or not."""
    n = draw(st.one_of(st.integers(smallest, 12), st.integers(smallest, largest)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    levels = draw(st.sampled_from([0, 1, 2, 3, 10, 100]))
    p = rng.uniform(size=n) if levels == 0 else rng.integers(0, levels + 1, n) / levels
    p[rng.uniform(size=n) < draw(st.sampled_from([0.0, 0.3]))] = draw(
        st.sampled_from([0.0, -0.0, 1.0, 0.5, 1e-300, 1 - 2**-53])
    )
    y = (rng.uniform(size=n) < draw(st.sampled_from([p, 0.5, 0.01]))).astype(int)
    order = draw(st.sampled_from(["random", "up", "down"]))
    if order != "random":
        p = np.sort(p)[:: 1 if order == "up" else -1].copy()
    return y, p.astype(draw(st.sampled_from([np.float64, np.float32])))


@st.composite
def matrices(draw: st.DrawFn, smallest: int = 2, largest: int = 120) -> tuple[Any, Any]:
    n = draw(st.integers(smallest, largest))
    k = draw(st.integers(3, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    p = rng.dirichlet(np.full(k, draw(st.sampled_from([0.05, 1.0, 20.0]))), size=n)
    p /= p.sum(axis=1, keepdims=True)
    if draw(st.booleans()):
        p = p[rng.integers(0, max(1, n // 3), n)]  # duplicates
    if draw(st.booleans()):
        p[:: draw(st.integers(1, 5))] = np.eye(k)[draw(st.integers(0, k - 1))]
    p = p.astype(draw(st.sampled_from([np.float64, np.float32])))
    return rng.integers(0, k, n), p


bandwidths = st.floats(-6, 6).map(lambda exponent: 10.0**exponent)


# ---------------------------------------------------------------- expected values


@pytest.mark.parametrize("name", BINARY)
def test_binary_reference(reference: Reference, name: str) -> None:
    content = reference(name)
    y, p = content["inputs"]["y"], content["inputs"]["p"]
    for expected in content["kernel"]:
        h = expected["bandwidth"]
        assert mmce(y, p, bandwidth=h) == close(expected["mmce"])
        for estimator in ESTIMATORS:
            found = skce(y, p, estimator=estimator, bandwidth=h)
            assert found == close(expected[f"skce_{estimator}"])


@pytest.mark.parametrize("name", MULTI)
def test_multiclass_reference(reference: Reference, name: str) -> None:
    content = reference(name)
    y, p, labels = multiclass(content)
    for expected in content["kernel"]:
        h = expected["bandwidth"]
        assert mmce(y, p, bandwidth=h, labels=labels) == close(expected["mmce"])
        for kind in KINDS:
            for estimator in ESTIMATORS:
                found = skce(y, p, estimator=estimator, kind=kind, bandwidth=h, labels=labels)
                assert found == close(expected["skce"][kind][estimator])


@pytest.mark.parametrize("name", BINARY + MULTI)
def test_median_bandwidth_reference(reference: Reference, name: str) -> None:
    content = reference(name)
    if content["median_bandwidth"] is None:
        with pytest.raises(ValueError, match="bandwidth='median' is 0"):
            skce(content["inputs"]["y"], content["inputs"]["p"], bandwidth="median")
        return
    y, p, labels = content["inputs"]["y"], content["inputs"]["p"], None
    kinds = {"canonical": content["median_bandwidth"]}
    if name in MULTI:
        y, p, labels = multiclass(content)
        kinds = content["median_bandwidth"]
    for kind, expected in kinds.items():
        test = calibration_test(y, p, kind=kind, bandwidth="median", n_resamples=1, labels=labels)
        assert test.bandwidth == close(expected["all_pairs"])
        for estimator, value in expected.get("skce_at_all_pairs", {}).items():
            found = skce(y, p, estimator=estimator, kind=kind, bandwidth="median", labels=labels)
            assert found == close(value)


def test_examples_of_the_documentation(reference: Reference) -> None:
    examples = [e for e in reference("doc_examples")["examples"] if "skce" in e["topic"]]
    assert len(examples) == 2
    for example in examples:
        p, y = np.array(example["inputs"]["p"]), example["inputs"]["y"]
        labels = [1, 2, 3] if p.ndim == 2 else None
        for estimator in ESTIMATORS:
            found = skce(y, p, estimator=estimator, labels=labels)
            assert found == close(example[f"skce_{estimator}"])
        if "mmce" in example:
            assert mmce(y, p) == close(example["mmce"])


def test_tiny_kernel_matrices(reference: Reference) -> None:
    for case in reference("tiny_tests")["cases"]:
        p = np.array(case["p"])
        y = np.array(case["y"]) - (1 if p.ndim == 2 else 0)
        labels = range(p.shape[1]) if p.ndim == 2 else None
        for test in case["tests"]:
            kind = "canonical" if test["type"] == "binary" else test["type"]
            h = dense_terms(y, p, test["bandwidth"], kind)
            np.testing.assert_allclose(h, test["kernel_terms"], rtol=0, atol=1e-15)
            for estimator, value in test["estimates"].items():
                found = skce(
                    y,
                    p,
                    estimator=estimator,
                    kind=kind,
                    bandwidth=test["bandwidth"],
                    labels=labels,
                )
                assert found == close(value)


# ---------------------------------------------------------------- against the dense matrix


@settings(deadline=None, max_examples=150)
@given(binary(), bandwidths, st.sampled_from(ESTIMATORS))
def test_binary_is_the_dense_sum(data: tuple[Any, Any], bandwidth: float, estimator: str) -> None:
    y, p = data
    if len(p) == 1 and estimator != "biased":
        with pytest.raises(ValueError, match="one row only"):
            skce(y, p, estimator=estimator, bandwidth=bandwidth)
        return
    expected = dense_skce(dense_terms(y, p, bandwidth), estimator)
    found = skce(y, p, estimator=estimator, bandwidth=bandwidth)
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-15)


@settings(deadline=None, max_examples=150)
@given(
    matrices(),
    bandwidths,
    st.sampled_from(ESTIMATORS),
    st.sampled_from(["canonical", "confidence"]),
)
def test_multiclass_is_the_dense_sum(
    data: tuple[Any, Any], bandwidth: float, estimator: str, kind: str
) -> None:
    y, p = data
    expected = dense_skce(dense_terms(y, p, bandwidth, kind), estimator)
    options = {"estimator": estimator, "kind": kind, "bandwidth": bandwidth}
    found = skce(y, p, labels=range(p.shape[1]), **options)
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-15)


def test_many_rows_of_many_classes() -> None:
    """More rows than a piece of work, and more than one strip of columns."""
    rng = np.random.default_rng(0)
    for n, k in ((1501, 3), (70, 40)):
        p, y = rng.dirichlet(np.ones(k), n), rng.integers(0, k, n)
        h = dense_terms(y, p, 0.3)
        for estimator in ESTIMATORS:
            found = skce(y, p, estimator=estimator, bandwidth=0.3, labels=range(k))
            assert found == close(dense_skce(h, estimator))


def test_tiny_residuals_keep_their_digits() -> None:
    """Sure and right predictions: residuals of 1e-9, whose products a difference would lose."""
    rng = np.random.default_rng(0)
    small = rng.uniform(1e-9, 2e-9, (50, 2))
    p = np.column_stack([1 - small.sum(axis=1), small])
    y = np.zeros(50, dtype=int)
    e = np.column_stack([1 - p[:, 0], -small])
    expected = (e @ e.T).sum() / 50**2  # all within 1e-8: the kernel is one
    found = skce(y, p, estimator="biased", labels=range(3))
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("bandwidth", [5e-324, 1e-300, 1e-6, 1e6, 1e300])
def test_extreme_bandwidths(bandwidth: float) -> None:
    rng = np.random.default_rng(1)
    p = np.concatenate([rng.uniform(size=40), np.repeat(rng.uniform(size=5), 4), [0.0, 1.0]])
    y = (rng.uniform(size=len(p)) < p).astype(int)
    for estimator in ESTIMATORS:
        expected = dense_skce(dense_terms(y, p, bandwidth), estimator)
        assert skce(y, p, estimator=estimator, bandwidth=bandwidth) == close(expected)


@settings(deadline=None, max_examples=150)
@given(binary(smallest=2, largest=400))
def test_median_of_numbers_is_that_of_all_pairs(data: tuple[Any, Any]) -> None:
    y, p = data
    i, j = np.triu_indices(len(p), 1)
    wide = p.astype(np.float64)
    expected = np.median(np.abs(wide[i] - wide[j]))
    if expected == 0.0:
        with pytest.raises(ValueError, match="bandwidth='median' is 0"):
            median_of(y, p)
    else:
        assert median_of(y, p) == expected  # bit for bit


@settings(deadline=None, max_examples=60)
@given(matrices())
def test_median_of_vectors_is_that_of_all_pairs(data: tuple[Any, Any]) -> None:
    y, p = data
    expected = np.median(all_distances(p))
    if expected == 0.0:
        with pytest.raises(ValueError, match="bandwidth='median' is 0"):
            median_of(y, p)
    else:
        assert median_of(y, p) == pytest.approx(expected, rel=1e-14)


# ---------------------------------------------------------------- relations


@settings(deadline=None, max_examples=60)
@given(binary(largest=200), bandwidths)
def test_mmce_is_the_root_of_the_biased_error(data: tuple[Any, Any], bandwidth: float) -> None:
    y, p = data
    biased = skce(y, p, estimator="biased", bandwidth=bandwidth)
    assert mmce(y, p, bandwidth=bandwidth) ** 2 == pytest.approx(biased, rel=1e-12)
    assert biased >= 0.0


@settings(deadline=None, max_examples=60)
@given(binary(smallest=2, largest=300))
def test_order_of_rows_does_not_change_a_bit(data: tuple[Any, Any]) -> None:
    y, p = data
    order = np.random.default_rng(0).permutation(len(p))
    assert skce(y, p) == skce(y[order], p[order])


@settings(deadline=None, max_examples=100)
@given(
    st.one_of(binary(smallest=2, largest=60), matrices(largest=40)),
    st.integers(0, 2**32),
    st.sampled_from(KINDS),
    st.sampled_from(["uq", "biased"]),
    st.sampled_from([0.2, "median"]),
)
def test_whole_weights_are_repeated_rows(
    data: tuple[Any, Any], seed: int, kind: str, estimator: str, bandwidth: Any
) -> None:
    y, p = data
    weight = np.random.default_rng(seed).integers(0, 4, len(p))
    weight[0] = 2
    options = {"estimator": estimator, "kind": kind, "bandwidth": bandwidth}
    if p.ndim == 2:
        options["labels"] = range(p.shape[1])
    try:
        expected = skce(np.repeat(y, weight), np.repeat(p, weight, axis=0), **options)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)[:30]):
            skce(y, p, sample_weight=weight, **options)
        return
    found = skce(y, p, sample_weight=weight, **options)
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-15)


def test_the_scale_of_weights_does_not_change_the_biased_error() -> None:
    rng = np.random.default_rng(0)
    p, weight = rng.uniform(size=(2, 50))
    y = (rng.uniform(size=50) < p).astype(int)
    assert mmce(y, p, sample_weight=weight) == close(mmce(y, p, sample_weight=7 * weight))


def test_two_columns_are_the_positive_class() -> None:
    y, p = [0, 1, 1, 0], np.array([0.2, 0.6, 0.9, 0.4])
    for kind in KINDS:
        assert skce(y, np.column_stack([1 - p, p]), kind=kind) == skce(y, p)
    assert skce(["no", "yes", "yes", "no"], p, pos_label="yes") == skce(y, p)


def test_the_first_of_tied_labels_is_the_top_label() -> None:
    p = [[0.4, 0.4, 0.2], [0.2, 0.4, 0.4]]
    first = mmce([0, 1], p, labels=range(3))
    assert first == close(mmce([1, 1], [0.4, 0.4]))
    assert mmce([1, 2], p, labels=range(3)) == close(mmce([0, 0], [0.4, 0.4]))


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bandwidth": 0}, "bandwidth must be a positive number or 'median', got 0"),
        ({"bandwidth": -0.1}, "bandwidth must be a positive number"),
        ({"bandwidth": float("nan")}, "bandwidth must be a positive number"),
        ({"bandwidth": float("inf")}, "bandwidth must be a positive number"),
        ({"bandwidth": "mean"}, "bandwidth must be a positive number or 'median', got 'mean'"),
        ({"bandwidth": True}, "bandwidth must be a positive number"),
        ({"estimator": "u"}, "estimator must be"),
        ({"kind": "strong"}, "kind must be"),
        ({"estimator": "ul", "sample_weight": [1, 1, 1]}, "leave sample_weight out"),
        ({"sample_weight": [0.2, 0.3, 0.5]}, "must sum to more than 1: the sum is 1"),
        ({"sample_weight": [1, 1.5, 2], "bandwidth": "median"}, "must hold whole numbers"),
        ({"sample_weight": [0, 1, 0], "bandwidth": "median"}, "at least two rows"),
    ],
)
def test_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        skce([0, 1, 1], [0.1, 0.4, 0.8], **options)


def test_equal_predictions_have_no_median_distance() -> None:
    with pytest.raises(ValueError, match="half of the pairs"):
        skce([0, 1, 1], [0.3, 0.3, 0.3], bandwidth="median")
