"""AutoCalibration on real predictions, written as tables to docs/selection.md.

    python benchmarks/selection.py DATA [--only TEXT]

DATA is the folder with `cifar10/`, `fivethirtyeight/` and so on. `--only` prints the cases whose
name holds TEXT and leaves the document as it is. It takes some five minutes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, train_test_split

from calibrant import AutoCalibration, confidence_interval, ece
from calibrant.percentiles import percentile_interval
from calibrant.selection.candidates import default_calibrators, fed, to_probabilities
from calibrant.selection.resampling import ROW_LOSSES

DOCUMENT = Path(__file__).parents[1] / "docs" / "selection.md"
SEED = 0
N_RESAMPLES = 999
AS_THEY_ARE = "uncalibrated"

IMAGENET = ("tv_resnext101_32x8d", "tv_inception_v3", "timm_resnet34", "timm_efficientnet_b3a")
C1_METHODS = ("AMOS", "ASSA", "NOAA", "SIDC")
M1_METHODS = ("ASAP", "MOSWOC", "NOAA", "SIDC")


@dataclass
class Case:
    """Predictions, what happened, and which rows the calibrators are fitted to."""

    name: str
    X: np.ndarray
    y: np.ndarray
    fitting: np.ndarray
    test: np.ndarray
    groups: np.ndarray | None = None
    input: str = "probability"


def halves(name: str, X: np.ndarray, y: np.ndarray, groups: np.ndarray | None = None) -> Case:
    """Rows at random; whole groups where rows of a group belong together."""
    if groups is None:
        rows = train_test_split(np.arange(len(y)), test_size=0.5, random_state=SEED, stratify=y)
    else:
        split = GroupShuffleSplit(1, test_size=0.5, random_state=SEED).split(X, y, groups)
        rows = next(split)
    return Case(name, X, y, *rows, groups)


def early_and_late(name: str, frame: pl.DataFrame, prob: str, outcome: str, block: int) -> Case:
    """The dates of the first half against those of the second; days of a block belong together."""
    frame = frame.drop_nulls([prob, outcome]).with_columns(
        day=pl.col("date").str.to_date().dt.epoch("d")
    )
    frame = frame.sort("day")
    day = frame["day"].to_numpy()
    late = day > np.quantile(day, 0.5)
    rows = np.flatnonzero(~late), np.flatnonzero(late)
    groups = day // block if block > 1 else None
    return Case(name, frame[prob].to_numpy(), frame[outcome].to_numpy().astype(int), *rows, groups)


def cifar(data: Path) -> Iterator[Case]:
    parts = [
        pl.read_parquet(data / "cifar10" / f"cifar10_densenet40_{part}_logits.parquet")
        for part in ("val", "test")
    ]
    rows = np.split(np.arange(sum(map(len, parts))), [len(parts[0])])
    frame = pl.concat(parts)
    X, y = frame.drop("label").to_numpy(), frame["label"].to_numpy()
    yield Case("CIFAR-10 DenseNet-40 (logits)", X, y, *rows, input="logit")
    for folder, models in {
        "cifar10": ("vgg16", "lenet5", "wideresnet16_4"),
        "cifar100": ("densenet_bc_100", "lenet5", "wideresnet16_4"),
    }.items():
        for model in models:
            frame = pl.read_parquet(data / folder / f"{folder}_{model}_test_probs.parquet")
            name = f"{'CIFAR-100' if folder == 'cifar100' else 'CIFAR-10'} {model}"
            yield halves(name, frame.drop("label").to_numpy(), frame["label"].to_numpy())


def imagenet(data: Path) -> Iterator[Case]:
    frame = pl.read_parquet(data / "imagenet" / "imagenet_val_top_label.parquet")
    for model in IMAGENET:
        right = (frame[f"{model}_pred"] == frame["label"]).to_numpy().astype(int)
        yield halves(f"ImageNet top label {model}", frame[f"{model}_conf"].to_numpy(), right)


def games(data: Path) -> Iterator[Case]:
    frame = pl.read_parquet(data / "fivethirtyeight" / "games.parquet")
    frame = frame.filter(pl.col("outcome1") != 0.5)  # ties
    for sport in ("mlb", "nba", "nfl", "nhl", "wnba"):
        one = frame.filter(pl.col("sport") == sport)
        yield early_and_late(f"games {sport.upper()}", one, "prob1", "outcome1", 1)


def flares(data: Path) -> Iterator[Case]:
    for size, methods in {"C1": C1_METHODS, "M1": M1_METHODS}.items():
        frame = pl.read_parquet(data / "solar_flares" / f"solar_flares_{size}.parquet")
        for method in methods:
            yield early_and_late(f"flares {size} {method}", frame, method, "outcome", 14)


def patients(data: Path) -> Iterator[Case]:
    columns = ["apache_iva_predictedhospitalmortality", "hospitaldischargestatus"]
    frame = pl.read_parquet(data / "los_eicu_demo" / "eicu_demo_stays.parquet").drop_nulls(columns)
    died = (frame[columns[1]] == "Expired").to_numpy().astype(int)
    yield halves(
        "APACHE IVa mortality", frame[columns[0]].to_numpy(), died, codes(frame["patient"])
    )
    frame = pl.read_parquet(data / "los_support2" / "support2.parquet")
    for column, days in {"surv2m": 60, "surv6m": 180, "prg2m": 60, "prg6m": 180}.items():
        some = frame.drop_nulls([column])
        survived = (some["d.time"] > days).to_numpy().astype(int)
        yield halves(f"SUPPORT {column}", some[column].to_numpy(), survived)


def tabular(data: Path) -> Iterator[Case]:
    folder = data / "tabular_predictions"
    frame = pl.read_parquet(folder / "cell_segmentation_probs.parquet")
    good = (frame["class"] == "good").to_numpy().astype(int)
    for model in ("logistic", "naive_bayes"):
        yield halves(f"cells {model}", frame[f"{model}_prob_good"].to_numpy(), good)
    frame = pl.read_parquet(folder / "hpc_lda_cv_probs.parquet")
    classes = ["VF", "F", "M", "L"]
    y = frame["obs"].replace_strict(classes, range(4)).to_numpy()
    yield halves("HPC jobs LDA", frame.select(classes).to_numpy(), y)
    frame = pl.read_parquet(data / "mmlu_llama13b" / "mmlu_llama13b_probs.parquet")
    label = frame["label"]
    y = (
        label.replace_strict(list("ABCD"), range(4)).to_numpy()
        if label.dtype == pl.String
        else label
    )
    questions = frame.select(key=pl.struct("subject", "question").rank("dense"))["key"]
    yield halves(
        "MMLU LLaMA-13B", frame.select("pA", "pB", "pC", "pD").to_numpy(), y, codes(questions)
    )


def codes(values: pl.Series) -> np.ndarray:
    return np.unique(values.to_numpy(), return_inverse=True)[1]


SOURCES: tuple[Callable[[Path], Iterator[Case]], ...] = (
    cifar, imagenet, games, flares, patients, tabular,
)  # fmt: skip


class Measured:
    """Candidates on the test rows of a case."""

    def __init__(self, case: Case) -> None:
        cv = 5
        X, y = case.X[case.fitting], case.y[case.fitting]
        if case.groups is not None:
            cv = list(GroupKFold(5).split(X, y, case.groups[case.fitting]))
        auto = AutoCalibration(input=case.input, cv=cv, random_state=SEED).fit(X, y)
        new = case.X[case.test]
        self.case = case
        self.y = case.y[case.test]
        self.chosen = auto.selected_
        self.failures = auto.comparison_.failures
        self.prob = {AS_THEY_ARE: to_probabilities(new.astype(np.float64), case.input)}
        for name, calibrator in auto.comparison_.calibrators.items():
            self.prob[name] = calibrator.predict_proba(fed(calibrator, new, case.input))
        self._distributions: dict[tuple[str, str], np.ndarray] = {}
        self._draws = resamples(case)

    @property
    def binary(self) -> bool:
        return self.prob[AS_THEY_ARE].ndim == 1

    def value(self, metric: str, name: str) -> float:
        if metric in ROW_LOSSES:
            return float(ROW_LOSSES[metric](self.prob[name], self.y).mean())
        return ece(self.y, self.prob[name], kind=metric, labels=self.labels)

    @property
    def labels(self) -> range:
        prob = self.prob[AS_THEY_ARE]
        return range(2 if prob.ndim == 1 else prob.shape[1])

    def estimate(self, metric: str, name: str) -> str:
        """A metric of one candidate with its 95 % interval."""
        value = self.value(metric, name)
        low, high = percentile_interval(value, self.distribution(metric, name), 0.95)
        return f"{value:.4f} ({low:.4f} to {high:.4f})"

    def difference(self, metric: str, first: str, second: str) -> str:
        """A metric of one candidate minus that of another, with its 95 % interval."""
        if first == second:
            return "0"
        estimate = self.value(metric, first) - self.value(metric, second)
        values = self.distribution(metric, first) - self.distribution(metric, second)
        low, high = percentile_interval(estimate, values, 0.95)
        return f"{estimate:+.4f} ({low:+.4f} to {high:+.4f})"

    def distribution(self, metric: str, name: str) -> np.ndarray:
        """The metric on resamples of the test rows, the same ones for all candidates."""
        key = metric, name
        if key not in self._distributions:
            self._distributions[key] = self._resampled(metric, self.prob[name])
        return self._distributions[key]

    def _resampled(self, metric: str, prob: np.ndarray) -> np.ndarray:
        if metric in ROW_LOSSES:
            losses = ROW_LOSSES[metric](prob, self.y)
            return np.array([losses[rows].mean() for rows in self._draws])
        if self.case.groups is not None:
            return np.array(
                [
                    ece(self.y[rows], prob[rows], kind=metric, labels=self.labels)
                    for rows in self._draws
                ]
            )
        found = confidence_interval(
            self.y,
            prob,
            metric="ece",
            kind=metric,
            labels=self.labels,
            n_resamples=N_RESAMPLES,
            random_state=SEED,
        )
        return found.bootstrap_distribution


def resamples(case: Case) -> list[np.ndarray]:
    """Test rows drawn with replacement; whole groups where there are any."""
    rng = np.random.default_rng(SEED)
    n = len(case.test)
    if case.groups is None:
        return [rng.integers(n, size=n) for _ in range(N_RESAMPLES)]
    own = codes(pl.Series(case.groups[case.test]))
    members = np.split(np.argsort(own, kind="stable"), np.cumsum(np.bincount(own))[:-1])
    return [
        np.concatenate([members[g] for g in rng.integers(len(members), size=len(members))])
        for _ in range(N_RESAMPLES)
    ]


def main_table(found: list[Measured]) -> str:
    rows = []
    for one in found:
        losses = {name: one.value("log_loss", name) for name in one.prob}
        best = min(losses, key=losses.__getitem__)
        rows.append(
            [
                one.case.name,
                f"{len(one.case.fitting):,} / {len(one.y):,}",
                one.chosen,
                one.estimate("log_loss", AS_THEY_ARE),
                one.estimate("log_loss", one.chosen),
                one.difference("log_loss", one.chosen, AS_THEY_ARE),
                best,
                one.difference("log_loss", one.chosen, best),
            ]
        )
    heads = [
        "predictions", "rows fit / test", "chosen", "as they are", "chosen", "chosen - as they are",
        "best in hindsight", "chosen - best",
    ]  # fmt: skip
    return markdown(heads, rows)


def error_table(found: list[Measured]) -> str:
    rows = []
    for one in found:
        cells = [one.case.name]
        for metric in ("brier", "classwise", "confidence"):
            if metric == "confidence" and one.binary:
                cells += ["", "", ""]
                continue
            cells += [one.estimate(metric, name) for name in (AS_THEY_ARE, one.chosen)]
            cells.append(one.difference(metric, one.chosen, AS_THEY_ARE))
        rows.append(cells)
    heads = ["predictions"]
    for name in ("Brier", "ECE", "ECE, top label"):
        heads += [f"{name} before", "after", "difference"]
    return markdown(heads, rows)


def candidates_table(found: list[Measured], n_classes: int) -> str:
    """The log loss of every candidate: the lowest one is bold, the chosen one has a star."""
    names = [AS_THEY_ARE, *default_calibrators(n_classes, "probability")]
    losses = [{name: one.value("log_loss", name) for name in one.prob} for one in found]
    rows = []
    for one, own in zip(found, losses, strict=True):
        cells = [one.case.name]
        for name in names:
            text = f"{own[name]:.4f}" if name in own else "-"
            text = f"**{text}**" if own.get(name) == min(own.values()) else text
            cells.append(f"{text} *" if name == one.chosen else text)
        rows.append([*cells, f"{own[one.chosen]:.4f}"])
    means = [np.mean([own.get(name, np.nan) for own in losses]) for name in names]
    means.append(np.mean([own[one.chosen] for one, own in zip(found, losses, strict=True)]))
    rows.append(["mean", *("-" if np.isnan(mean) else f"{mean:.4f}" for mean in means)])
    return markdown(["predictions", *names, "chosen"], rows)


def markdown(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # what fits warn of is in the comparison
    found = []
    for source in SOURCES:
        for case in source(options.data):
            if options.only not in case.name:
                continue
            start = time.perf_counter()
            found.append(Measured(case))
            print(f"{case.name}: {time.perf_counter() - start:.0f} s", flush=True)
    binary = [one for one in found if one.binary]
    more = [one for one in found if not one.binary]
    tables = {
        "log loss": main_table(found),
        "errors": error_table(found),
        "two classes": candidates_table(binary, 2),
        "more classes": candidates_table(more, 3),
    }
    if options.only:
        print("\n\n".join(tables.values()))
        return
    text = DOCUMENT.read_text(encoding="utf-8")
    for mark, table in tables.items():
        start, end = f"<!-- {mark} -->", f"<!-- end {mark} -->"
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        text = f"{before}{start}\n\n{table}\n\n{end}{after}"
    DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
