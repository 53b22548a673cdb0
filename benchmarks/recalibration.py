"""Recalibration of real forecasts, written as tables to docs/recalibration.md.

    python benchmarks/recalibration.py DATA [--only NAME] [--seeds 0 1 2 3]

DATA is the folder with `forecasts/`, `weather/` and `covid_quantiles/`. It takes some minutes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.model_selection import GroupKFold

from calibrant import (
    AverageRecalibration,
    DistributionRecalibration,
    ThresholdRecalibration,
    average_calibration_error,
    crps,
    decision_table,
    interval_coverage,
)
from calibrant.forecasts import Ensemble, Forecast, Mixture, Normal, Quantiles

DOCUMENT = Path(__file__).parents[1] / "docs" / "recalibration.md"
SETS = ("protein", "energy", "naval", "crime", "dhs_wealth", "dhs_wealth_random", "los_support2")
FAMILIES = ("gaussian", "mixture")
# Sets so small that the paper recalibrates on the training rows as well.
RECALIBRATED_ON_ALL = ("crime", "dhs_wealth", "dhs_wealth_random")

Sample = tuple[Forecast, np.ndarray]
Split = tuple[np.ndarray, np.ndarray]

METHODS: dict[str, Callable[[], object] | None] = {
    "none": None,
    "average": AverageRecalibration,
    "distribution": lambda: DistributionRecalibration(spread="variance", fallback="unchanged"),
    "threshold, 10 layers": lambda: ThresholdRecalibration(tol=0.0, max_iter=10),
    "threshold, 40 layers": lambda: ThresholdRecalibration(tol=0.0, max_iter=40),
    "threshold, early stopping": lambda: ThresholdRecalibration(
        tol=0.0, max_iter=40, early_stopping=True, random_state=0
    ),
}
MEASURES = ("reliability gap", "decision loss", "CRPS", "average calibration error")


def neural(data: Path, name: str, family: str, seed: int) -> tuple[Sample, Sample]:
    """Rows to recalibrate on, and test rows, of one of the stored neural forecasters."""
    frame = pl.read_parquet(data / "forecasts" / f"{name}_{family}_seed{seed}.parquet")
    mixture = family == "mixture"
    columns = ["mu", "sigma", *(["loc", "scale", "weight"] if mixture else []), "y"]
    make = Mixture.gaussian_laplace if mixture else Normal

    def part(*splits: str) -> Sample:
        rows = frame.filter(pl.col("split").cast(pl.String).is_in(splits))
        *parameters, y = (rows[column].to_numpy().astype(np.float64) for column in columns)
        return make(*parameters), y

    fitting = ("train", "val") if name in RECALIBRATED_ON_ALL else ("val",)
    return part(*fitting), part("test")


def gap_and_loss(forecast: Forecast, y: np.ndarray) -> tuple[float, float]:
    """Means over the 50 x 50 decision makers of the paper."""
    thresholds = np.linspace(y.min(), min(10.0, y.max()), 50)
    table = decision_table(forecast, y, thresholds=thresholds, n_resamples=0)
    return float(table.reliability_gap.mean()), float(table.decision_loss.mean())


def measured(fitting: Sample, test: Sample) -> Iterator[tuple[str, list[float], int]]:
    """Every method on the test rows: its name, the measures, its layers."""
    forecast, y = test
    for method, make in METHODS.items():
        recalibration = make and make().fit(*fitting)
        new = recalibration.transform(forecast) if recalibration else forecast
        values = [*gap_and_loss(new, y), crps(new, y), average_calibration_error(new, y)]
        yield method, values, getattr(recalibration, "n_iter_", 0)


def neural_tables(data: Path, names: tuple[str, ...], seeds: list[int]) -> str:
    found: dict[tuple[str, str], dict[str, list[list[float]]]] = {}
    layers: dict[tuple[str, str], list[int]] = {}
    for name in names:
        for family in FAMILIES:
            start = time.perf_counter()
            block = found.setdefault((name, family), {method: [] for method in METHODS})
            for seed in seeds:
                for method, values, n_layers in measured(*neural(data, name, family, seed)):
                    block[method].append(values)
                    if method == "threshold, early stopping":
                        layers.setdefault((name, family), []).append(n_layers)
            print(f"{name} {family}: {time.perf_counter() - start:.0f} s", flush=True)
    parts = []
    for k, measure in enumerate(MEASURES):
        rows = []
        for (name, family), block in found.items():
            means = [float(np.mean([values[k] for values in block[m]])) for m in METHODS]
            best = min(means)
            cells = [f"**{v:.4f}**" if v == best else f"{v:.4f}" for v in means]
            rows.append([name, family, *cells])
        overall = [
            float(np.mean([v[k] for block in found.values() for v in block[m]])) for m in METHODS
        ]
        rows.append(["all", "", *(f"{v:.4f}" for v in overall)])
        heading = f"### {measure[0].upper()}{measure[1:]}\n\n"
        parts.append(heading + markdown(["data", "family", *METHODS], rows))
    chosen = [[*key, ", ".join(map(str, n))] for key, n in layers.items()]
    parts.append(
        "### Layers chosen by early stopping\n\n"
        "A single layer may be the average map.\n\n"
        + markdown(["data", "family", "layers, seed by seed"], chosen)
    )
    return "\n\n".join(parts)


def regressed(fitting: Sample, test: Sample) -> tuple[Sample, Sample]:
    """Normal forecasts whose mean is linear in the ensemble's, with one standard deviation."""
    mean, y = fitting[0].mean(), fitting[1]
    slope, intercept = np.polyfit(mean, y, 1)
    spread = float(np.std(y - intercept - slope * mean))
    return tuple(  # type: ignore[return-value]
        (Normal(intercept + slope * forecast.mean(), spread), outcome)
        for forecast, outcome in (fitting, test)
    )


def halves(forecast: Forecast, y: np.ndarray) -> tuple[Sample, Sample]:
    n = len(y) // 2
    return (forecast[:n], y[:n]), (forecast[n:], y[n:])


def innsbruck(data: Path) -> tuple[Sample, Sample]:
    frame = pl.read_parquet(data / "weather" / "innsbruck_temp_ensemble.parquet").sort("date")
    return halves(Ensemble.from_frame(frame, prefix="m"), frame["obs"].to_numpy())


def frankfurt(data: Path) -> tuple[Sample, Sample]:
    frame = pl.read_parquet(data / "weather" / "frankfurt_rain_ensemble.parquet").sort("date")
    return halves(Ensemble.from_frame(frame, prefix="P"), frame["obs"].to_numpy())


def covid(data: Path, target: str) -> tuple[Sample, Sample, list[Split]]:
    """Early and late forecasts, and folds of the early ones that keep weeks together."""
    frame = pl.read_parquet(data / "covid_quantiles" / "covid_hub_europe_quantiles.parquet")
    keys = ["forecast_date", "model", "location", "target_end_date"]
    frame = frame.filter((pl.col("target_type") == target) & (pl.col("observed") >= 0))
    wide = frame.pivot("quantile_level", index=[*keys, "observed"], values="predicted").sort(keys)
    levels = sorted(frame["quantile_level"].unique())
    values = wide.select(map(str, levels)).to_numpy()
    # On the scale of log(1 + count), as locations differ by orders of magnitude.
    forecast = Quantiles(levels, np.log1p(values))
    y = np.log1p(wide["observed"].to_numpy().astype(np.float64))
    # Outcomes of late weeks of early forecasts must not be later than the first test forecast.
    dates = wide["forecast_date"].to_numpy()
    boundary = np.quantile(np.unique(dates).astype("datetime64[D]").astype(int), 0.6)
    day = dates.astype("datetime64[D]").astype(int)
    end = wide["target_end_date"].to_numpy().astype("datetime64[D]").astype(int)
    early, late = np.flatnonzero(end <= boundary), np.flatnonzero(day > boundary)
    folds = list(GroupKFold(4).split(early, groups=day[early]))
    return (forecast[early], y[early]), (forecast[late], y[late]), folds


def real_table(data: Path) -> str:
    cases = {
        "Innsbruck temperature, members (K)": innsbruck(data),
        "Innsbruck temperature, regression on the mean (K)": regressed(*innsbruck(data)),
        "Frankfurt rain, members (mm)": frankfurt(data),
        "COVID-19 cases, quantiles (log)": covid(data, "Cases"),
        "COVID-19 deaths, quantiles (log)": covid(data, "Deaths"),
    }
    steps = {"pit": "randomized", "random_state": 0}
    rows = []
    for name, (fitting, (forecast, y), *folds) in cases.items():
        methods = {
            "none": None,
            "average": AverageRecalibration(**steps),
            "threshold, early stopping": ThresholdRecalibration(
                tol=0.0, max_iter=40, early_stopping=True, cv=folds[0] if folds else 5, **steps
            ),
        }
        for method, recalibration in methods.items():
            new = recalibration.fit(*fitting).transform(forecast) if recalibration else forecast
            thresholds = np.linspace(*np.quantile(y, [0.02, 0.98]), 50)
            table = decision_table(new, y, thresholds=thresholds, n_resamples=0)
            error = average_calibration_error(new, y, method="randomized", random_state=0)
            coverage = interval_coverage(new, y, confidence=[0.9])
            rows.append(
                [
                    name,
                    f"{len(fitting[1])} / {len(y)}",
                    method,
                    str(getattr(recalibration, "n_iter_", "")),
                    f"{table.reliability_gap.mean():.3f}",
                    f"{table.decision_loss.mean():.3f}",
                    f"{crps(new, y):.3f}",
                    f"{error:.3f}",
                    f"{coverage.coverage[0]:.0%}",
                ]
            )
        print(name, flush=True)
    heads = ["forecast", "rows fit / test", "method", "layers", *MEASURES, "90 % intervals cover"]
    return markdown(heads, rows)


def markdown(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", choices=SETS, nargs="*", default=SETS)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2, 3])
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # that 10 or 40 layers are not enough for tol=0 is known
    tables = {
        "neural": neural_tables(options.data, tuple(options.only), options.seeds),
        "real": real_table(options.data),
    }
    text = DOCUMENT.read_text(encoding="utf-8")
    for mark, table in tables.items():
        start, end = f"<!-- {mark} -->", f"<!-- end {mark} -->"
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        text = f"{before}{start}\n\n{table}\n\n{end}{after}"
    DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
