"""How often does `calibration_drift_test` alarm, without a drift and with one? Simulations.

Writes the tables of docs/monitoring.md. Run with `python benchmarks/drift_validity.py` (minutes;
`--quick` for a rough look). Everything is seeded, as in validity.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, softmax

from calibrant import ReliabilityTable, calibration_drift_test, reliability_table
from validity import hash_seed

LEVELS = (0.01, 0.05, 0.10)
SIZES = ((200, 200), (1000, 1000), (10_000, 10_000), (10_000, 200))
N_SIMULATIONS = {"levels": 400, "powers": 200}
PAGE = Path(__file__).parents[1] / "docs" / "monitoring.md"


@dataclass(frozen=True)
class Binary:
    """Predictions Beta(a, b); the log odds of the outcomes are slope * logit(p) + shift."""

    a: float
    b: float
    slope: float = 1.0
    shift: float = 0.0

    def table(self, n: int, rng: np.random.Generator) -> ReliabilityTable:
        prob = np.clip(rng.beta(self.a, self.b, n), 1e-12, 1 - 1e-12)
        truth = expit(self.slope * logit(prob) + self.shift)
        return reliability_table(rng.uniform(size=n) < truth, prob)


@dataclass(frozen=True)
class Classes:
    """Calibrated predictions of K classes."""

    n_classes: int

    def table(self, n: int, rng: np.random.Generator) -> ReliabilityTable:
        prob = softmax(rng.normal(scale=1.5, size=(n, self.n_classes)), axis=1)
        uniform = rng.uniform(size=(n, 1))
        y: NDArray[Any] = (prob.cumsum(axis=1)[:, :-1] < uniform).sum(axis=1)
        return reliability_table(y, prob, labels=range(self.n_classes))


Model = Binary | Classes

WITHOUT_DRIFT: dict[str, tuple[Model, Model]] = {
    "calibrated": (Binary(2, 3), Binary(2, 3)),
    "equally miscalibrated (slope 0.7)": (Binary(2, 3, 0.7), Binary(2, 3, 0.7)),
    "calibrated, other predictions": (Binary(2, 3), Binary(4, 2)),
    "rare: 1 %": (Binary(0.5, 49.5), Binary(0.5, 49.5)),
    "rare: 1 %, then 5 % predicted": (Binary(0.5, 49.5), Binary(2, 38)),
    "very rare: 0.1 %": (Binary(0.5, 499.5), Binary(0.5, 499.5)),
    "5 classes": (Classes(5), Classes(5)),
}

WITH_DRIFT: dict[str, tuple[Model, Model]] = {
    "odds x 1.25": (Binary(2, 3), Binary(2, 3, shift=np.log(1.25))),
    "odds x 1.5": (Binary(2, 3), Binary(2, 3, shift=np.log(1.5))),
    "odds x 2": (Binary(2, 3), Binary(2, 3, shift=np.log(2))),
    "slope 0.8": (Binary(2, 3), Binary(2, 3, 0.8)),
    "slope 0.5": (Binary(2, 3), Binary(2, 3, 0.5)),
    "rare: 1 %, odds x 1.5": (Binary(0.5, 49.5), Binary(0.5, 49.5, shift=np.log(1.5))),
    "rare: 1 %, odds x 2": (Binary(0.5, 49.5), Binary(0.5, 49.5, shift=np.log(2))),
    "very rare: 0.1 %, odds x 2": (Binary(0.5, 499.5), Binary(0.5, 499.5, shift=np.log(2))),
}


def rates(models: tuple[Model, Model], sizes: tuple[int, int], n_simulations: int) -> list[float]:
    """How often the test rejects at each level."""
    rng = np.random.default_rng(hash_seed(models, sizes))
    pvalues = np.array(
        [
            calibration_drift_test(
                *(model.table(n, rng) for model, n in zip(models, sizes, strict=True))
            ).pvalue
            for _ in range(n_simulations)
        ]
    )
    return [float(np.mean(pvalues <= level)) for level in LEVELS]


def level_table(n_simulations: int) -> list[str]:
    lines = ["| predictions | rows | 1 % | 5 % | 10 % |", "| --- | --: | --: | --: | --: |"]
    for name, models in WITHOUT_DRIFT.items():
        for sizes in SIZES:
            cells = []
            for level, rate in zip(LEVELS, rates(models, sizes, n_simulations), strict=True):
                error = np.sqrt(level * (1 - level) / n_simulations)
                cells.append(f"{100 * rate:.1f}{' **!**' if rate > level + 3 * error else ''}")
            lines.append(f"| {name} | {sizes[0]:,} / {sizes[1]:,} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return lines


def power_table(n_simulations: int) -> list[str]:
    heads = " | ".join(f"{a:,} / {b:,}" for a, b in SIZES)
    lines = [f"| drift | {heads} |", "| --- |" + " --: |" * len(SIZES)]
    for name, models in WITH_DRIFT.items():
        found = [rates(models, sizes, n_simulations)[1] for sizes in SIZES]
        lines.append(f"| {name} | {' | '.join(f'{100 * rate:.0f}' for rate in found)} |")
        print(lines[-1], flush=True)
    return lines


def put(page: str, name: str, lines: list[str]) -> str:
    """The page with the lines between the two marks of this name."""
    head, tail = page.split(f"<!-- {name} -->\n")[0], page.split(f"<!-- end of {name} -->")[1]
    inside = "\n".join(lines)
    return f"{head}<!-- {name} -->\n\n{inside}\n\n<!-- end of {name} -->{tail}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50 simulations, printed only")
    quick = parser.parse_args().quick
    tables: dict[str, Callable[[int], list[str]]] = {"levels": level_table, "powers": power_table}
    for name, table in tables.items():
        lines = table(50 if quick else N_SIMULATIONS[name])
        if not quick:
            page = PAGE.read_text(encoding="utf-8")
            PAGE.write_text(put(page, name, lines), encoding="utf-8")


if __name__ == "__main__":
    main()
