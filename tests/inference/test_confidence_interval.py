"""Bootstrap intervals against reference values, the metrics themselves, and slow resampling."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, ks_2samp

from calibrant import ace, ece, mce
from calibrant.inference import confidence_interval
from calibrant.inference.resamples import Resamples
from calibrant.metrics.kernel import mmce, skce

METRICS: dict[str, Callable[..., float]] = {
    "ece": ece, "mce": mce, "ace": ace, "mmce": mmce, "skce": skce,
}  # fmt: skip

REFERENCE = [
    "binary_b200", "binary_b50_ties", "binary_b63_sensitive", "binary_b120_zero_one",
    "binary_b201_odd", "binary_b150_calibrated",
    "multi_m3_300", "multi_m4_400_distorted", "multi_m3_150_zeros",
]  # fmt: skip

CASES: list[tuple[str, dict[str, Any]]] = [
    ("ece", {}),
    ("ece", {"n_bins": 7, "norm": "l2"}),
    ("ece", {"norm": "l2", "debiased": True, "kind": "confidence"}),
    ("ece", {"strategy": "quantile", "norm": "l2", "debiased": True}),
    ("ece", {"strategy": "quantile", "kind": "confidence", "n_bins": 40}),
    ("mce", {"n_bins": 15}),
    ("mce", {"strategy": "quantile"}),
    ("ace", {}),
    ("ace", {"strategy": "quantile", "n_bins": 3}),
    ("mmce", {"bandwidth": 0.05}),
    ("skce", {}),
    ("skce", {"estimator": "biased", "bandwidth": 1e4}),
    ("skce", {"kind": "confidence"}),
    ("skce", {"kind": "classwise"}),
    ("skce", {"kind": "classwise", "estimator": "biased", "bandwidth": 1e-3}),
]


def sample(n: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rounded probabilities, many of them tied, in ascending order of the first column."""
    rng = np.random.default_rng(seed)
    if n_classes == 2:
        prob = np.sort(rng.uniform(size=n).round(2))
        return (rng.uniform(size=n) < prob**1.3).astype(int), prob
    prob = rng.multinomial(20, rng.dirichlet(np.ones(n_classes), n)) / 20
    return np.array([rng.choice(n_classes, p=row) for row in prob]), prob


def slow_distribution(
    metric: Callable[..., float], y: Any, prob: Any, n_resamples: int, weight: Any = None
) -> np.ndarray:
    """Copies of the drawn rows."""
    rng = np.random.default_rng(7)
    values = []
    for _ in range(n_resamples):
        rows = rng.integers(len(y), size=len(y))
        own = {} if weight is None else {"sample_weight": weight[rows]}
        values.append(metric(y[rows], prob[rows], **own))
    return np.array(values)


# -------------------------------------------------------------------- reference values


@pytest.mark.parametrize("name", [*REFERENCE, "doc_examples"])
def test_reference_estimates_and_quantiles(reference: Any, name: str) -> None:
    content = reference(name)
    if name == "doc_examples":
        content = next(one for one in content["examples"] if one["topic"] == "cal_ci")
    y, prob = np.array(content["inputs"]["y"]), np.array(content["inputs"]["p"])
    labels = np.arange(1, prob.shape[1] + 1) if prob.ndim == 2 else None
    for entry in content["ci" if name == "doc_examples" else "cal_ci"]:
        options = {
            ours: entry[theirs]
            for theirs, ours in [("bins", "n_bins"), ("type", "kind"), ("estimator", "estimator"),
                                 ("bandwidth", "bandwidth")]
            if theirs in entry
        }  # fmt: skip
        found = confidence_interval(
            y, prob, metric=entry["metric"], confidence_level=entry["conf_level"],
            n_resamples=2500, random_state=11, labels=labels, **options,
        )  # fmt: skip
        assert found.estimate == pytest.approx(entry["estimate"], abs=1e-12)
        tail = (1 - entry["conf_level"]) / 2
        ends = np.quantile(found.bootstrap_distribution, [tail, 1 - tail])
        assert found.low == min(ends[0], found.estimate)
        assert found.high == max(ends[1], found.estimate)
        for end, side in zip(ends, ("lower", "upper"), strict=True):
            least, most = entry[f"bracket_quantile_{side}_n2000"]
            assert least - 1e-12 <= end <= most + 1e-12, (entry["metric"], options, side)


# -------------------------------------------------------------------- resamples


@pytest.mark.parametrize("weighted", ["no", "whole", "fractional"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("metric", "options"), CASES)
def test_replicates_are_the_metric_with_multiplicities_as_weights(
    metric: str, options: dict[str, Any], n_classes: int, weighted: str
) -> None:
    y, prob = sample(83, n_classes)
    rng = np.random.default_rng(1)
    weight = {"no": None, "whole": rng.integers(1, 4, 83), "fractional": rng.uniform(1, 2, 83)}
    if n_classes == 3 and (metric == "mmce" or "confidence" in options.values()):
        # One column is drawn in its own order.
        order = np.argsort(prob.max(axis=1), kind="stable")
        y, prob = y[order], prob[order]
    own = weight[weighted]
    found = confidence_interval(
        y, prob, metric=metric, n_resamples=40, random_state=3, sample_weight=own, **options
    )
    draws = Resamples(83, 40, np.random.default_rng(3), None).multiplicities(slice(40))
    for m, value in zip(draws.T, found.bootstrap_distribution, strict=True):
        total = m if own is None else m * own
        expected = METRICS[metric](y, prob, sample_weight=total, **options)
        assert value == pytest.approx(expected, abs=1e-12)


def test_a_median_bandwidth_is_that_of_the_data() -> None:
    y, prob = sample(60, 2)
    i, j = np.triu_indices(60, 1)
    h = float(np.median(np.abs(prob[i] - prob[j])))
    by_name, by_number = (
        confidence_interval(y, prob, metric="skce", bandwidth=b, random_state=0)
        for b in ("median", h)
    )
    assert (by_name.low, by_name.high) == (by_number.low, by_number.high)


def test_linear_estimator_of_random_pairs() -> None:
    y, prob = sample(61, 3)
    for kind in ("canonical", "confidence", "classwise"):
        found = confidence_interval(
            y, prob, metric="skce", estimator="ul", kind=kind, n_resamples=5, random_state=3
        )
        draws = Resamples(61, 5, np.random.default_rng(3), None)
        for b, value in enumerate(found.bootstrap_distribution):
            rows = draws.pairs(b).T.ravel()
            assert rows.shape == (60,)
            expected = skce(y[rows], prob[rows], estimator="ul", kind=kind, labels=[0, 1, 2])
            assert value == pytest.approx(expected, abs=1e-14)


def test_draws_are_multinomial() -> None:
    n, b = 10_000, 1500
    m = Resamples(n, b, np.random.default_rng(0), None).multiplicities(slice(b))
    assert m.shape == (n, b)
    assert (m.sum(axis=0, dtype=int) == n).all()
    # All rows alike, whatever their place.
    totals = m.sum(axis=1, dtype=int)
    assert 1e-4 < chi2.sf(((totals - b) ** 2 / b).sum() / (1 - 1 / n), n - 1) < 1 - 1e-4
    # Multiplicities of a row vary as binomial counts do,
    for times, share in enumerate([0.36786, 0.36790, 0.18395, 0.06131, 0.01532]):
        assert (m == times).mean() == pytest.approx(share, abs=4e-4)
    # and sums over many rows too, within and across blocks.
    for rows in (slice(0, 3000), slice(5000, 9000), slice(8192, None), slice(0, None, 2)):
        share = len(range(n)[rows]) / n
        variance = m[rows].sum(axis=0, dtype=int).var(ddof=1)
        assert variance / (n * share * (1 - share)) == pytest.approx(1, abs=5 * np.sqrt(2 / b))


@pytest.mark.parametrize(
    ("metric", "options"),
    [("ece", {}), ("ace", {"strategy": "quantile"}), ("skce", {}), ("mmce", {})],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_same_distribution_as_copies_of_rows(
    metric: str, options: dict[str, Any], weighted: bool
) -> None:
    y, prob = sample(150, 2)
    weight = np.random.default_rng(5).uniform(1, 3, 150) if weighted else None
    found = confidence_interval(
        y, prob, metric=metric, n_resamples=1500, random_state=0, sample_weight=weight, **options
    )
    slow = slow_distribution(partial(METRICS[metric], **options), y, prob, 1500, weight)
    assert ks_2samp(found.bootstrap_distribution, slow).pvalue > 1e-4


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("metric", "options"), [*CASES, ("skce", {"estimator": "ul"})])
def test_seed_decides_and_not_the_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, metric: str, options: dict[str, Any], n_classes: int
) -> None:
    y, prob = sample(500, n_classes)
    found = []
    for n_threads in (1, 2, 3):
        monkeypatch.setattr("calibrant.parallel.n_processors", lambda n=n_threads: n)
        for seed in (5, np.random.default_rng(5)):
            result = confidence_interval(
                y, prob, metric=metric, n_resamples=70, random_state=seed, **options
            )
            found.append(result.bootstrap_distribution)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
    other = confidence_interval(y, prob, metric=metric, n_resamples=70, random_state=6, **options)
    assert (other.bootstrap_distribution != found[0]).any()


def test_several_blocks_of_rows() -> None:
    y, prob = sample(20_000, 2)
    rng = np.random.default_rng(0)
    for metric in ("ece", "mmce"):
        found = confidence_interval(y, prob, metric=metric, n_resamples=33, random_state=0)
        draws = Resamples(20_000, 33, np.random.default_rng(0), None).multiplicities(slice(33))
        for b in rng.integers(33, size=3):
            expected = METRICS[metric](y, prob, sample_weight=draws[:, b])
            assert found.bootstrap_distribution[b] == pytest.approx(expected, abs=1e-12)


# -------------------------------------------------------------------- what goes in


def test_rows_of_weight_zero_are_not_there() -> None:
    y, prob = sample(90, 3)
    weight = np.random.default_rng(0).integers(0, 3, 90)
    there = weight > 0
    for metric, options in CASES:
        found = confidence_interval(
            y, prob, metric=metric, n_resamples=20, random_state=0, sample_weight=weight, **options
        )
        same = confidence_interval(
            y[there], prob[there], metric=metric, n_resamples=20, random_state=0,
            sample_weight=weight[there], labels=[0, 1, 2], **options,
        )  # fmt: skip
        assert found.n == there.sum()
        assert found.estimate == pytest.approx(same.estimate, abs=1e-14)
        np.testing.assert_array_equal(found.bootstrap_distribution, same.bootstrap_distribution)


def test_classes_are_found_before_resampling() -> None:
    prob = np.full((30, 3), 1 / 3)
    y = np.array(["a", "b", *["c"] * 28])
    found = confidence_interval(y, prob, n_resamples=200, random_state=0)
    assert np.isfinite(found.bootstrap_distribution).all()
    assert found.estimate == ece(y, prob)


def test_two_columns_labels_and_float32() -> None:
    y, prob = sample(100, 2)
    prob = prob.astype(np.float32)
    names = np.array(["no", "yes"])[y]
    for metric, options in CASES:
        run = partial(confidence_interval, metric=metric, random_state=0, n_resamples=20, **options)
        expected = run(y, prob)
        assert run(names, prob, pos_label="yes") == expected
        assert run(names, prob, labels=["no", "yes"]) == expected
        columns = np.column_stack([1 - prob, prob])
        assert run(names, columns) == expected
        np.testing.assert_allclose(
            run(y, prob.astype(float)).bootstrap_distribution,
            expected.bootstrap_distribution, rtol=1e-12, atol=1e-12,
        )  # fmt: skip


def test_callable_metric() -> None:
    y, prob = sample(80, 3)
    names = np.array(["a", "b", "c"])[y]
    seen, done = [], []

    def brier(y_true: Any, y_prob: Any) -> float:
        seen.append((y_true.dtype, y_prob.shape, threading.current_thread()))
        return float(((y_prob - (y_true[:, None] == ["a", "b", "c"])) ** 2).sum(axis=1).mean())

    found = confidence_interval(
        names, prob.tolist(), metric=brier, n_resamples=300, random_state=0,
        progress=lambda *args: done.append(args),
    )  # fmt: skip
    assert found.metric == "brier"
    assert found.estimate == brier(names, prob)
    assert set(seen) == {(names.dtype, (80, 3), threading.main_thread())}
    assert done == [(i, 300) for i in range(1, 301)]
    slow = slow_distribution(brier, names, prob, 300)
    assert ks_2samp(found.bootstrap_distribution, slow).pvalue > 1e-4
    again = confidence_interval(names, prob, metric=brier, n_resamples=300, random_state=0)
    assert (found.low, found.high) == (again.low, again.high)
    named = confidence_interval(names, prob, metric=partial(ece, n_bins=4), n_resamples=5)
    assert named.metric == "partial"


def test_one_row() -> None:
    for metric in ("ece", "mce", "ace", "mmce"):
        found = confidence_interval([1], [0.75], metric=metric, n_resamples=3)
        assert found.low == found.estimate == found.high == 0.25
    with pytest.raises(ValueError, match="pairs"):
        confidence_interval([1], [0.75], metric="skce")


# -------------------------------------------------------------------- what comes out


@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(
        st.tuples(
            st.booleans(),
            st.sampled_from([0.0, 1e-300, 0.1, 0.3, 0.5, 0.9999, 1.0]),
            st.floats(0, 1),
        ),
        min_size=2,
        max_size=30,
    ),
    case=st.sampled_from([*CASES, ("skce", {"estimator": "ul"})]),
    level=st.sampled_from([0.01, 0.5, 0.95, 0.999]),
    seed=st.integers(0, 1000),
)
def test_interval_holds_the_estimate(
    rows: list[tuple[bool, float, float]], case: tuple[str, dict[str, Any]], level: float, seed: int
) -> None:
    metric, options = case
    y = [row[0] for row in rows]
    prob = [row[1 + seed % 2] for row in rows]
    found = confidence_interval(
        y, prob, metric=metric, n_resamples=30, confidence_level=level, random_state=seed, **options
    )
    assert found.low <= found.estimate <= found.high
    assert found.estimate == METRICS[metric](y, prob, **options)
    if metric != "skce" and not options.get("debiased"):
        assert found.low >= 0
        assert found.high <= 1


def test_wider_with_confidence_and_narrower_with_rows() -> None:
    y, prob = sample(400, 2)
    widths = [
        (lambda found: found.high - found.low)(
            confidence_interval(y[::step], prob[::step], confidence_level=level, random_state=0)
        )
        for step, level in [(1, 0.5), (1, 0.9), (1, 0.99), (8, 0.99)]
    ]
    assert widths == sorted(widths)


def test_signed_intervals_may_reach_below_zero() -> None:
    rng = np.random.default_rng(4)
    prob = rng.uniform(size=200)
    y = rng.uniform(size=200) < prob
    debiased = confidence_interval(y, prob, norm="l2", debiased=True, random_state=0)
    kernel = confidence_interval(y, prob, metric="skce", random_state=0)
    assert debiased.low < 0
    assert kernel.low < 0
    assert "not ruled out" in kernel.interpretation
    assert "not yet evidence" in confidence_interval(y, prob, random_state=0).interpretation


def test_result_in_words_and_as_dict() -> None:
    y, prob = sample(300, 2)
    found = confidence_interval(y, prob, n_bins=np.int64(5), confidence_level=0.9, random_state=0)
    text = repr(found)
    assert "999 resamples" in text
    assert "n_bins=5, kind=classwise, strategy=uniform, norm=l1, debiased=False" in text
    assert f"n = 300, estimate = {found.estimate:.4g}" in text
    assert f"90 % interval: {found.low:.4g} to {found.high:.4g}" in text
    assert "90 % of the resamples put the expected calibration error between" in text
    content = json.loads(json.dumps(found.to_dict()))
    assert content["low"] == found.low
    assert content["metric_options"]["n_bins"] == 5
    assert content["interpretation"] == found.interpretation
    assert found.bootstrap_distribution.shape == (999,)
    with pytest.raises(AttributeError):
        found.low = 0.0  # type: ignore[misc]


# -------------------------------------------------------------------- progress, interruption


@pytest.mark.parametrize(
    ("metric", "options"),
    [("ece", {}), ("ece", {"strategy": "quantile"}), ("skce", {}), ("skce", {"estimator": "ul"})],
)
def test_progress_and_interruption(metric: str, options: dict[str, Any]) -> None:
    y, prob = sample(2000, 3)
    run = partial(
        confidence_interval, y, prob, metric=metric, n_resamples=100, random_state=0, **options
    )
    done: list[tuple[int, int]] = []
    run(progress=lambda *args: done.append(args))
    total = done[0][1]
    assert total > 1
    assert done == [(i, total) for i in range(1, total + 1)]

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        run(progress=stop)
    assert threading.active_count() == before


# -------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metric": "eec"}, ValueError, "'ece', 'mce', 'ace', 'mmce', 'skce' or a function"),
        ({"metric": None}, ValueError, "metric must be one of"),
        ({"metric": ["ece"]}, ValueError, "metric must be one of"),
        ({"confidence_level": 0}, ValueError, "confidence_level must be"),
        ({"confidence_level": 1.0}, ValueError, "confidence_level must be"),
        ({"confidence_level": 95}, ValueError, "confidence_level must be"),
        ({"confidence_level": "0.9"}, ValueError, "confidence_level must be"),
        ({"confidence_level": float("nan")}, ValueError, "confidence_level must be"),
        ({"n_resamples": 0}, ValueError, "n_resamples must be"),
        ({"n_resamples": 10.0}, ValueError, "n_resamples must be"),
        ({"n_resamples": True}, ValueError, "n_resamples must be"),
        ({"random_state": "x"}, ValueError, "random_state must be"),
        ({"random_state": -1}, ValueError, "random_state must be"),
        ({"bandwidth": 0.1}, TypeError, "bandwidth"),
        ({"metric": "mmce", "n_bins": 5}, TypeError, "n_bins"),
        ({"metric": "mmce", "bandwidth": 0}, ValueError, "bandwidth must be"),
        ({"metric": "skce", "estimator": "x"}, ValueError, "estimator must be"),
        ({"n_bins": 0}, ValueError, "n_bins must be"),
        ({"debiased": True}, ValueError, "norm='l2'"),
        ({"bin_edges": [0, 1]}, TypeError, "bin_edges"),
        ({"metric": ece, "n_bins": 3}, ValueError, "n_bins does not reach a callable"),
        ({"metric": ece, "sample_weight": [1] * 4}, ValueError, "sample_weight does not reach"),
        ({"metric": ece, "labels": [0, 1]}, ValueError, "labels does not reach"),
        ({"metric": lambda y, p: np.nan}, ValueError, "metric of the data is nan"),
        ({"metric": lambda y, p: 0.5 if y.sum() == 2 else np.inf}, ValueError, "not finite in"),
        ({"metric": "skce", "sample_weight": [0.2] * 4}, ValueError, "more than 1"),
        (
            {"metric": "skce", "sample_weight": [0.4, 0.4, 0.4, 0.1], "random_state": 0},
            ValueError,
            "not finite",
        ),
        (
            {"metric": "skce", "estimator": "ul", "sample_weight": [1, 2, 1, 2]},
            ValueError,
            "sample_weight",
        ),
    ],
)
def test_errors(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        confidence_interval([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], **options)


def test_errors_about_the_data() -> None:
    with pytest.raises(ValueError, match="y_prob"):
        confidence_interval([0, 1], [0.2, 1.7])
    with pytest.raises(ValueError, match="y_prob"):
        confidence_interval([0, 1], [0.2, 1.7], metric=ece)
    with pytest.raises(ValueError, match="rows"):
        confidence_interval([0, 1, 1], [0.2, 0.7], metric=ece)
