"""Do the tests and intervals keep what they promise? Simulations with a known truth.

Writes docs/validity.md. Run with `python benchmarks/validity.py` (minutes; `--quick` for a rough
look). Everything is seeded: the same version of calibrant writes the same tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit, logit, softmax

from calibrant import calibration_test, confidence_interval, ece

Floats = NDArray[np.float64]

LEVELS = (0.01, 0.05, 0.10)
SIZES = (30, 100, 1000)
CLASSES = (2, 3, 10)
TEMPERATURES = (1.0, 1.1, 1.25, 1.5, 2.0)
N_RESAMPLES = 199
"""Multiples of each level: with B + 1 = 200 the p-values hit 1, 5 and 10 % exactly."""

PAGE = Path(__file__).parents[1] / "docs" / "validity.md"


@dataclass(frozen=True)
class Model:
    """Predictions and outcomes of K classes; at temperature 1 the predictions are calibrated."""

    n_classes: int
    temperature: float = 1.0

    def draw(self, n: int, rng: np.random.Generator) -> tuple[NDArray[Any], Floats]:
        """n outcomes, and predictions too extreme by the temperature."""
        logits = rng.normal(scale=1.5, size=(n, self.n_classes))
        truth = softmax(logits, axis=1)
        uniform = rng.uniform(size=(n, 1))
        y = (truth.cumsum(axis=1)[:, :-1] < uniform).sum(axis=1)
        prob = softmax(logits * self.temperature, axis=1)
        return y, prob[:, 1] if self.n_classes == 2 else prob


def rates(
    model: Model, n: int, kind: str, method: str, n_simulations: int, seed: int
) -> list[float]:
    """How often the test rejects at each level."""
    rng = np.random.default_rng(seed)
    pvalues = np.empty(n_simulations)
    for i in range(n_simulations):
        y, prob = model.draw(n, rng)
        pvalues[i] = calibration_test(
            y,
            prob,
            kind=kind,
            method=method,
            n_resamples=N_RESAMPLES,
            random_state=rng,
            labels=range(model.n_classes),
        ).pvalue
    return [float(np.mean(pvalues <= level + 1e-12)) for level in LEVELS]


def cases() -> Iterator[tuple[int, int, str]]:
    """Sizes, classes and kinds; two classes have one kind only."""
    for n, n_classes in product(SIZES, CLASSES):
        for kind in ("canonical", "confidence"):
            if n_classes > 2 or kind == "canonical":
                yield n, n_classes, kind


def size_table(n_simulations: int) -> list[str]:
    lines = [
        "| n | K | kind | method | 1 % | 5 % | 10 % |",
        "| --: | --: | --- | --- | --: | --: | --: |",
    ]
    for (n, n_classes, kind), method in product(cases(), ("bootstrap", "asymptotic")):
        seed = hash_seed(n, n_classes, kind, method)
        found = rates(Model(n_classes), n, kind, method, n_simulations, seed)
        cells = []
        for level, rate in zip(LEVELS, found, strict=True):
            error = np.sqrt(level * (1 - level) / n_simulations)
            flag = " **!**" if abs(rate - level) > 3 * error else ""
            cells.append(f"{100 * rate:.1f}{flag}")
        lines.append(f"| {n} | {n_classes} | {kind} | {method} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def power_table(n_simulations: int) -> list[str]:
    temperatures = [t for t in TEMPERATURES if t > 1]
    head = " | ".join(f"T = {t:g}" for t in temperatures)
    lines = [
        f"| n | K | kind | method | {head} |",
        "| --: | --: | --- | --- |" + " --: |" * len(temperatures),
    ]
    for (n, n_classes, kind), method in product(cases(), ("bootstrap", "asymptotic")):
        found = [
            rates(Model(n_classes, t), n, kind, method, n_simulations,
                  hash_seed(n, n_classes, kind, method, t))[1]
            for t in temperatures
        ]  # fmt: skip
        lines.append(
            f"| {n} | {n_classes} | {kind} | {method} | "
            + " | ".join(f"{100 * rate:.0f}" for rate in found)
            + " |"
        )
        print(lines[-1], flush=True)
    return lines


# ---------------------------------------------------------------- a binary model with a known truth


@dataclass(frozen=True)
class Binary:
    """Predictions Beta(2, 3); outcomes of probability inv_logit(slope * logit(p))."""

    slope: float

    def draw(self, n: int, rng: np.random.Generator) -> tuple[NDArray[Any], Floats]:
        prob = rng.beta(2, 3, n)
        return (rng.uniform(size=n) < self.truth(prob)).astype(np.uint8), prob

    def truth(self, prob: Floats) -> Floats:
        return np.asarray(expit(self.slope * logit(prob)))

    def population(self) -> dict[str, float]:
        """The metrics of an infinite sample, from a fine grid of equally likely predictions."""
        m = 4000
        prob = stats.beta(2, 3).ppf((np.arange(m) + 0.5) / m)
        gap = self.truth(prob) - prob
        bins = np.minimum((prob * 10).astype(int), 9)
        mass = np.bincount(bins, minlength=10) / m
        sums = np.bincount(bins, gap, minlength=10) / m
        filled = mass > 0
        gaps = np.abs(sums[filled] / mass[filled])
        kernel = np.exp(-np.abs(prob[:, None] - prob) / 0.2)
        skce = float(gap @ kernel @ gap) / m**2
        return {
            "ece": float(np.abs(sums).sum()),
            "ece (l2)": float(mass[filled] @ gaps**2),
            "ece (l2, debiased)": float(mass[filled] @ gaps**2),
            "mce": float(gaps.max()),
            "ace": float(gaps.mean()),
            "skce": skce,
            "mmce": float(np.sqrt(max(skce, 0.0))),
        }


METRICS: dict[str, dict[str, Any]] = {
    "ece": {"metric": "ece"},
    "ece (l2)": {"metric": "ece", "norm": "l2"},
    "ece (l2, debiased)": {"metric": "ece", "norm": "l2", "debiased": True},
    "mce": {"metric": "mce"},
    "ace": {"metric": "ace"},
    "skce": {"metric": "skce"},
    "mmce": {"metric": "mmce"},
}

BINARY_MODELS = {"calibrated": Binary(1.0), "slope 0.8": Binary(0.8), "slope 0.5": Binary(0.5)}


def bias_table(n_simulations: int) -> list[str]:
    lines = [
        "| model | n | true ECE | mean ECE | true squared | mean squared | mean debiased (s.e.) |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    for (name, model), n in product(BINARY_MODELS.items(), SIZES):
        rng = np.random.default_rng(hash_seed("bias", name, n))
        values = np.empty((n_simulations, 3))
        for i in range(n_simulations):
            y, prob = model.draw(n, rng)
            values[i] = [
                ece(y, prob),
                ece(y, prob, norm="l2"),
                ece(y, prob, norm="l2", debiased=True),
            ]
        truth = model.population()
        mean = values.mean(axis=0)
        error = values[:, 2].std(ddof=1) / np.sqrt(n_simulations)
        lines.append(
            f"| {name} | {n} | {truth['ece']:.4f} | {mean[0]:.4f} | {truth['ece (l2)']:.5f} | "
            f"{mean[1]:.5f} | {mean[2]:.5f} ({error:.5f}) |"
        )
        print(lines[-1], flush=True)
    return lines


def coverage_table(n_simulations: int) -> list[str]:
    lines = [
        "| model | n | " + " | ".join(METRICS) + " |",
        "| --- | --: |" + " --: |" * len(METRICS),
    ]
    for (name, model), n in product(BINARY_MODELS.items(), SIZES):
        truth = model.population()
        rng = np.random.default_rng(hash_seed("coverage", name, n))
        hits = dict.fromkeys(METRICS, 0)
        for _ in range(n_simulations):
            y, prob = model.draw(n, rng)
            for metric, options in METRICS.items():
                interval = confidence_interval(
                    y, prob, n_resamples=N_RESAMPLES, random_state=rng, **options
                )
                hits[metric] += interval.low <= truth[metric] <= interval.high
        cells = " | ".join(f"{100 * hit / n_simulations:.0f}" for hit in hits.values())
        lines.append(f"| {name} | {n} | {cells} |")
        print(lines[-1], flush=True)
    return lines


def hash_seed(*parts: object) -> int:
    """A seed that belongs to a case, whatever the order in which cases run."""
    digest = np.frombuffer(repr(parts).encode().ljust(64, b"."), dtype=np.uint8)
    return int(np.random.SeedSequence(digest.tolist()).generate_state(1)[0])


TEXT = """# Validity of tests and intervals

Made by `python benchmarks/validity.py`: {n_simulations} simulated data sets for each row,
{n_resamples} resamples for each test and interval, seeded.

## Rejection rates of calibrated forecasts (percent)

Logits are normal with standard deviation 1.5, outcomes are drawn from their softmax. The standard
error of a rate is {errors} percentage points at 1, 5 and 10 %; **!** marks rates more
than three standard errors from the level.

{sizes}

## Power at the 5 % level (percent)

The same, with the logits multiplied by T before the softmax that is predicted: overconfident
forecasts.

{powers}

## Bias of the binned error

Binary predictions Beta(2, 3), outcomes of probability inv_logit(slope * logit(p)), ten equal bins.
"True" is the error of an infinite sample with the same bins.

{biases}

## Coverage of 95 % percentile intervals (percent)

The same models. An interval covers if it holds the metric of an infinite sample.

{coverages}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 simulations, printed only")
    quick = parser.parse_args().quick
    n_simulations = 100 if quick else 2000
    tables: dict[str, Callable[[int], list[str]]] = {
        "sizes": size_table,
        "powers": power_table,
        "biases": bias_table,
        "coverages": coverage_table,
    }
    text = {name: "\n".join(table(n_simulations)) for name, table in tables.items()}
    errors = [f"{100 * np.sqrt(p * (1 - p) / n_simulations):.2f}" for p in LEVELS]
    if not quick:
        page = TEXT.format(
            n_simulations=n_simulations,
            n_resamples=N_RESAMPLES,
            errors=", ".join(errors),
            **text,
        )
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
