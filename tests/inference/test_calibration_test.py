"""The calibration tests: expected p-values, the enumerated null distribution, threads, words."""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibrant import calibration_test, skce

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


def close(value: float) -> Any:
    return pytest.approx(value, rel=0, abs=1e-12)


def inputs(content: dict[str, Any]) -> dict[str, Any]:
    p = np.array(content["p"])
    labels = list(range(1, p.shape[1] + 1)) if p.ndim == 2 else None
    return {"y_true": content["y"], "y_prob": p, "labels": labels}


def calibrated(n: int, k: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), size=n)
    y = (p.cumsum(axis=1) > rng.uniform(size=(n, 1))).argmax(axis=1)
    return y, p[:, 1].copy() if k == 2 else p


# ---------------------------------------------------------------- expected values


def compare(expected: dict[str, Any], data: dict[str, Any]) -> None:
    n_resamples = 4999
    kind = "canonical" if expected["type"] == "binary" else expected["type"]
    options = inputs(data) | {"kind": kind, "bandwidth": expected["bandwidth"]}
    test = calibration_test(method="asymptotic", **options)
    assert test.estimate == close(expected["asymptotic"]["estimate"])
    assert test.statistic == close(expected["asymptotic"]["statistic"])
    assert test.pvalue == close(expected["asymptotic"]["p_value"])
    assert test.kind == expected["type"]
    if "bootstrap" not in expected:
        return
    bootstrap = expected["bootstrap"]["double"]
    test = calibration_test(n_resamples=n_resamples, random_state=0, **options)
    assert test.statistic == test.estimate == close(bootstrap["estimate"])
    p = max(bootstrap["p_value"], 1 / n_resamples)
    band = 5 * np.sqrt(p * (1 - p) * (1 / 20000 + 1 / n_resamples))
    assert abs(test.pvalue - bootstrap["p_value"]) <= band


@pytest.mark.parametrize("name", BINARY + MULTI)
@pytest.mark.filterwarnings("ignore:the rows are sorted")
def test_reference(reference: Reference, name: str) -> None:
    content = reference(name)
    for expected in content["cal_test"]:
        compare(expected, content["inputs"])


def test_examples_of_the_documentation(reference: Reference) -> None:
    examples = [e for e in reference("doc_examples")["examples"] if "cal_test" in e["topic"]]
    assert len(examples) == 2
    for example in examples:
        compare(example["test"], example["inputs"])


def double_centred(h: np.ndarray) -> np.ndarray:
    g = h - h.mean(axis=0) - h.mean(axis=1)[:, np.newaxis] + h.mean()
    np.fill_diagonal(g, 0.0)
    return g


def test_tiny_samples_against_all_sign_vectors(reference: Reference) -> None:
    n_resamples = 20000
    for case in reference("tiny_tests")["cases"]:
        n = len(case["y"])
        # Opposite vectors of signs give the same statistic: half of them is enough.
        signs = np.array([(1, *rest) for rest in itertools.product((-1, 1), repeat=n - 1)])
        for expected in case["tests"]:
            g = double_centred(np.array(expected["kernel_terms"]))
            np.testing.assert_allclose(g, expected["centred_terms"]["double"], rtol=0, atol=1e-14)
            null = ((signs @ g) * signs).sum(axis=1) / (n * (n - 1))
            limit = float((null >= expected["estimates"]["uq"] - 1e-12).mean())
            assert limit == expected["bootstrap_limit"]["double"]["p_limit"]
            kind = "canonical" if expected["type"] == "binary" else expected["type"]
            options = inputs(case) | {"kind": kind, "bandwidth": expected["bandwidth"]}
            test = calibration_test(n_resamples=n_resamples, random_state=1, **options)
            assert test.estimate == close(expected["estimates"]["uq"])
            band = 5 * np.sqrt(limit * (1 - limit) / n_resamples) + 1 / n_resamples
            assert abs(test.pvalue - limit) <= band
            asymptotic = calibration_test(method="asymptotic", **options)
            assert asymptotic.statistic == close(expected["asymptotic"]["statistic"])
            assert asymptotic.pvalue == close(expected["asymptotic"]["p_value"])


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("n", [40, 701])
def test_pvalues_of_larger_samples_against_dense_replicates(n: int, k: int) -> None:
    y, p = calibrated(n, k, seed=n)
    labels = range(k) if k > 2 else None
    e = (y - p)[:, np.newaxis] if k == 2 else np.eye(k)[y] - p
    x = p.reshape(n, -1)
    h = np.exp(-np.sqrt(((x[:, np.newaxis] - x) ** 2).sum(axis=2)) / 0.2) * (e @ e.T)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(20000, n))
    null = ((signs @ double_centred(h)) * signs).sum(axis=1) / (n * (n - 1))
    limit = float((null >= skce(y, p, labels=labels)).mean())
    test = calibration_test(y, p, n_resamples=20000, random_state=0, labels=labels)
    assert abs(test.pvalue - limit) <= 5 * np.sqrt(2 * limit * (1 - limit) / 20000) + 1e-4


def test_power_and_level() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(size=500)
    over = (rng.uniform(size=500) < np.clip(2 * p - 0.5, 0, 1)).astype(int)
    for method in ("bootstrap", "asymptotic"):
        assert calibration_test(1 - over, p, method=method, random_state=0).pvalue < 0.01
    assert calibration_test(over, p, random_state=0).pvalue < 0.01
    rejected = [
        calibration_test(*calibrated(50, seed=seed), n_resamples=199, random_state=seed).pvalue
        for seed in range(300)
    ]
    assert 0.04 <= np.mean(np.array(rejected) <= 0.1) <= 0.16


# ---------------------------------------------------------------- randomness and threads


@pytest.mark.parametrize("k", [2, 3])
def test_same_seed_same_result_whatever_the_threads(k: int) -> None:
    if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two processors and the right to choose among them")
    y, p = calibrated(1700, k)
    everywhere = os.sched_getaffinity(0)
    many = calibration_test(y, p, random_state=3), skce(y, p)
    try:
        os.sched_setaffinity(0, {min(everywhere)})
        one = calibration_test(y, p, random_state=3), skce(y, p)
    finally:
        os.sched_setaffinity(0, everywhere)
    assert one == many


def test_order_of_rows_does_not_matter_to_the_bootstrap() -> None:
    y, p = calibrated(333)
    p = p.round(1)
    order = np.random.default_rng(0).permutation(len(p))
    assert calibration_test(y, p, random_state=0) == calibration_test(
        y[order], p[order], random_state=0, shuffle=True
    )


def test_random_state() -> None:
    y, p = calibrated(100)

    def pvalue(random_state: Any) -> float:
        return calibration_test(y, p, n_resamples=2000, random_state=random_state).pvalue

    assert pvalue(5) == pvalue(5) == pvalue(np.random.default_rng(5))
    rng = np.random.default_rng(5)
    assert len({pvalue(rng) for _ in range(5)}) > 1
    assert pvalue(5) == pytest.approx(pvalue(6), abs=0.08)
    for wrong in ("a", -1, 1.5):
        with pytest.raises(ValueError, match="random_state must be None, a non-negative integer"):
            pvalue(wrong)


def test_float32_and_text_labels() -> None:
    y, p = calibrated(80, 3)
    names = np.array(["a", "b", "c"])[y]
    wide = calibration_test(y, p, random_state=0)
    narrow = calibration_test(names, p.astype(np.float32), random_state=0)
    assert narrow.estimate == pytest.approx(wide.estimate, abs=1e-6)


# ---------------------------------------------------------------- progress and interruption


@pytest.mark.parametrize("k", [2, 3])
def test_progress_and_interruption(k: int) -> None:
    y, p = calibrated(2500, k)
    seen: list[tuple[int, int]] = []
    calibration_test(y, p, random_state=0, progress=lambda *step: seen.append(step))
    total = seen[-1][1]
    assert seen == [(done, total) for done in range(1, total + 1)]
    assert total > 1

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        calibration_test(y, p, random_state=0, progress=interrupt)
    assert threading.active_count() == before


# ---------------------------------------------------------------- degenerate samples


def test_perfect_predictions() -> None:
    y = [0, 1, 1, 0, 1, 0]
    for method in ("bootstrap", "asymptotic"):
        test = calibration_test(y, y, method=method, random_state=0)
        assert (test.statistic, test.pvalue) == (0.0, 1.0)


@pytest.mark.parametrize("bandwidth", [1e-6, 0.2, 1e6])
def test_constant_predictions(bandwidth: float) -> None:
    """All kernel values are one: tied replicates count as reaching the estimate."""
    rng = np.random.default_rng(0)
    y = (rng.uniform(size=60) < 0.3).astype(int)
    good = calibration_test(y, np.full(60, y.mean()), random_state=0, bandwidth=bandwidth)
    bad = calibration_test(y, np.full(60, 0.8), random_state=0, bandwidth=bandwidth)
    assert good.pvalue > 0.5
    assert bad.pvalue == 0.001


def test_tied_replicates_count() -> None:
    """Two rows: the only statistics are +G_12 and -G_12."""
    y, p = [1, 0], [0.2, 0.9]
    test = calibration_test(y, p, n_resamples=4000, random_state=0)
    h12 = -0.8 * 0.9 * np.exp(-0.7 / 0.2)
    assert test.estimate == close(h12)
    g12 = -(0.8**2 - 2 * h12 + 0.9**2) / 4
    assert abs(g12) > abs(h12)
    assert test.pvalue == pytest.approx(0.5, abs=0.05)


def test_asymptotic_needs_spread() -> None:
    with pytest.raises(ValueError, match="there are 3 rows: use method='bootstrap'"):
        calibration_test([1, 1, 1], [0.3, 0.2, 0.1], method="asymptotic", shuffle=True)
    with pytest.raises(ValueError, match="the same term in all pairs"):
        calibration_test([1, 1, 1, 1], [0.3] * 4, method="asymptotic")
    negative = calibration_test([1, 0], [0.6, 0.6], method="asymptotic", shuffle=True)
    assert (negative.statistic, negative.pvalue) == (-np.inf, 1.0)


def test_sorted_rows_are_warned_of() -> None:
    y, p = calibrated(60)
    up = np.argsort(p)
    for order in (up, up[::-1]):
        with pytest.warns(UserWarning, match="sorted by prediction"):
            calibration_test(y[order], p[order], method="asymptotic")
    by_outcome = np.argsort(y, kind="stable")
    with pytest.warns(UserWarning, match="sorted by outcome"):
        calibration_test(y[by_outcome], p[by_outcome], method="asymptotic")
    y3, p3 = calibrated(60, 3)
    order = np.argsort(p3[:, 2])
    with pytest.warns(UserWarning, match="sorted by prediction"):
        calibration_test(y3[order], p3[order], method="asymptotic")
    # No warning (warnings are errors here): random order, or rows that will be shuffled.
    calibration_test(y, p, method="asymptotic")
    calibration_test(y[up], p[up], method="asymptotic", shuffle=True, random_state=0)
    calibration_test(y[up], p[up])


def test_shuffling_depends_on_the_seed_only() -> None:
    y, p = calibrated(100)

    def statistic(seed: int) -> float:
        options = {"method": "asymptotic", "shuffle": True, "random_state": seed}
        return calibration_test(y, p, **options).statistic

    assert statistic(1) == statistic(1) != statistic(2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "exact"}, "method must be 'bootstrap' or 'asymptotic', got 'exact'"),
        ({"kind": "classwise"}, "kind='classwise' has no test"),
        ({"kind": "strong"}, "kind must be"),
        ({"n_resamples": 0}, "n_resamples must be an integer of at least 1, got 0"),
        ({"n_resamples": 9.5}, "n_resamples must be an integer"),
        ({"n_resamples": True}, "n_resamples must be an integer"),
        ({"bandwidth": 0}, "bandwidth must be a positive number"),
    ],
)
def test_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        calibration_test([0, 1, 0, 1], [0.1, 0.4, 0.8, 0.7], **options)


@pytest.mark.parametrize("method", ["bootstrap", "asymptotic"])
def test_one_row_is_too_few(method: str) -> None:
    with pytest.raises(ValueError, match="one row only"):
        calibration_test([1], [0.4], method=method)


# ---------------------------------------------------------------- in words


def test_the_result_in_words() -> None:
    y, p = calibrated(300)
    test = calibration_test(y, p, random_state=0)
    assert "no proof of calibration" in test.interpretation
    assert test.interpretation.startswith("No evidence of miscalibration at n = 300")
    assert repr(test) == str(test)
    assert f"p-value = {test.pvalue:.4g}" in repr(test)
    content = json.loads(json.dumps(test.to_dict()))
    assert content["pvalue"] == test.pvalue
    assert content["kind"] == "binary"
    assert content["n_resamples"] == 999
    asymptotic = calibration_test(y, 1 - p, method="asymptotic")
    assert "z = " in repr(asymptotic)
    assert asymptotic.n_resamples is None
    assert asymptotic.interpretation == "Very strong evidence of miscalibration at n = 300."
    bad = calibration_test(y, 1 - p, n_resamples=99, random_state=0)
    assert bad.interpretation.endswith("no p-value of 99 resamples can be smaller.")


def test_the_result_cannot_be_changed() -> None:
    test = calibration_test([0, 1, 1], [0.1, 0.4, 0.8], random_state=0)
    with pytest.raises(AttributeError):
        test.pvalue = 0.5  # type: ignore[misc]
