"""Tables and fits where the rows lie: what a row costs, at one million rows and at 200 million.

    python benchmarks/engines.py FOLDER [--sizes 1 10 50 200] [--only TEXT] [--keep]

FOLDER gets 40 Parquet files of 5 million rows (1.6 GB), which are deleted at the end unless --keep
is given. Each measurement is a process of its own, with a peak of memory of its own; beside it in
the same process stands the engine's own count and sums of the same columns. What was measured is
kept in FOLDER, so that a run that was broken off goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from machine import describe

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "engines.md"
FIGURE = HERE.parent / "docs" / "images" / "engines_cost.svg"

SIZES = (1, 10, 50, 200)
PART = 5_000_000
MEMORY = "1GB"
THREADS = "2"

ENGINES = ("polars", "duckdb")
JOBS = ("table", "ece by group", "platt", "isotonic")
# A short job is repeated; the best turn counts, as others use the machine too.
TURNS = {"table": 3, "ece by group": 3, "platt": 1, "isotonic": 1}


def write_rows(folder: Path, millions: int) -> list[Path]:
    """The files of so many rows; those that are there already are not written again."""
    folder.mkdir(parents=True, exist_ok=True)
    if millions * 1_000_000 < PART:
        parts = [(folder / f"rows-{millions}M.parquet", millions * 1_000_000)]
    else:
        n_parts = millions * 1_000_000 // PART
        parts = [(folder / f"part-{k:02d}.parquet", PART) for k in range(n_parts)]
    for k, (path, n_rows) in enumerate(parts):
        if not path.exists():
            write_part(path, n_rows, seed=k)
    return [path for path, _ in parts]


def write_part(path: Path, n_rows: int, seed: int) -> None:
    """Nearly all predictions are distinct, and a little too high or low."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng([20_26, seed, n_rows])
    p = rng.random(n_rows)
    columns = {
        "label": (rng.random(n_rows) < p**1.2).astype(np.int8),
        "p": p,
        "group": rng.integers(0, 8, n_rows, dtype=np.int8),
    }
    unfinished = path.with_suffix(".unfinished")
    pq.write_table(
        pa.table(columns),
        unfinished,
        row_group_size=1 << 20,
        compression="zstd",
        use_dictionary=["label", "group"],
    )
    os.replace(unfinished, path)


# ---------------------------------------------------------------- one measurement


def measure(engine: str, job: str, files: list[str]) -> dict[str, float]:
    """Seconds of the job and of the engine's own sums, and the peak of memory in GiB."""
    frame, sums = open_files(engine, files, grouped="group" in job)
    work = job_on(frame, job)
    limit, seconds = [], []
    for _ in range(TURNS[job]):
        limit.append(timed(sums))
        seconds.append(timed(work))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": min(seconds), "limit": min(limit), "peak": peak}


def timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def open_files(engine: str, files: list[str], *, grouped: bool) -> tuple[Any, Callable[[], Any]]:
    """The rows, and a call that lets the engine count and sum both columns."""
    if engine == "polars":
        import polars as pl

        rows = pl.scan_parquet(files)
        sums = (pl.len(), pl.col("label").sum(), pl.col("p").sum())
        plan = rows.group_by("group").agg(*sums) if grouped else rows.select(*sums)
        return rows, lambda: plan.collect(engine="streaming")
    import duckdb

    connection = duckdb.connect(config={"memory_limit": MEMORY, "threads": THREADS})
    relation = connection.read_parquet(files)
    text = "count(*), sum(label), sum(p)"
    own = relation.aggregate(f'"group", {text}' if grouped else text)
    return relation, own.fetchall


def job_on(frame: Any, job: str) -> Callable[[], Any]:
    from calibrant import IsotonicCalibration, PlattScaling, ece, reliability_table

    names = {"y": "label", "prob": "p"}
    return {
        "table": lambda: reliability_table(frame, **names),
        "ece by group": lambda: ece(frame, **names, by="group"),
        "platt": lambda: PlattScaling().fit_frame(frame, **names),
        "isotonic": lambda: IsotonicCalibration().fit_frame(frame, **names),
    }[job]


# ---------------------------------------------------------------- all of them


def in_own_process(engine: str, job: str, files: list[Path]) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", engine, job, *map(str, files)]
    environment = os.environ | {"POLARS_MAX_THREADS": THREADS}
    ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(ran.stdout)
    return found


def run(folder: Path, sizes: list[int], only: str) -> list[dict[str, Any]]:
    done = folder / "measured.json"
    found: list[dict[str, Any]] = json.loads(done.read_text()) if done.exists() else []
    known = {(row["engine"], row["job"], row["millions"]) for row in found}
    for millions in sizes:
        files = write_rows(folder, millions)
        for job in JOBS:
            for engine in ENGINES:
                if (engine, job, millions) in known or only not in f"{engine} {job}":
                    continue
                row = in_own_process(engine, job, files)
                found.append({"engine": engine, "job": job, "millions": millions, **row})
                print(found[-1], flush=True)
                done.write_text(json.dumps(found))
    return found


def write_results(found: list[dict[str, Any]], sizes: tuple[int, ...]) -> None:
    machine = describe()
    lines = [
        "# Tables and fits where the rows lie",
        "",
        f"Made by `benchmarks/engines.py` on {machine['date']}: {machine['processor']}, "
        f"{machine['cores']} cores shared with other work, Python {machine['python']}; "
        + ", ".join(f"{name} {version(name)}" for name in ("calibrant", "polars", "duckdb"))
        + ".",
        "",
        "A label (int8), a prediction (float64, nearly all distinct) and a group (int8, 8 of them) "
        f"in Parquet files. DuckDB had `memory_limit` {MEMORY} and {THREADS} threads, Polars its "
        "streaming engine. Short jobs are the best of three turns, fits one; what else ran on the "
        "machine meanwhile slowed both columns of times.",
        "",
        "| rows | job | engine | seconds | million rows a second | engine's own sums, s | times "
        "those | peak of the process, GiB |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    ordered = sorted(found, key=lambda r: (r["millions"], JOBS.index(r["job"]), r["engine"]))
    lines += [
        f"| {row['millions']} million | {row['job']} | {row['engine']} "
        f"| {row['seconds']:.2f} | {row['millions'] / row['seconds']:.1f} "
        f"| {row['limit']:.2f} | {row['seconds'] / row['limit']:.1f} | {row['peak']:.2f} |"
        for row in ordered
    ]
    measured = {(row["engine"], row["job"], row["millions"]) for row in found}
    missing = [
        f"{job} of {millions} million rows by {engine}"
        for millions in sizes
        for job in JOBS
        for engine in ENGINES
        if (engine, job, millions) not in measured
    ]
    if missing:
        lines += ["", f"Not measured: {'; '.join(missing)}."]
    RESULTS.write_text("\n".join(lines) + "\n")


def draw(found: list[dict[str, Any]]) -> None:
    """Nanoseconds a row, against rows."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "engines"
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
    colours = dict(zip(("engine's own sums", *JOBS), ("0.55", *plt.cm.tab10.colors), strict=False))
    for panel, engine in zip(panels, ENGINES, strict=True):
        for job, colour in colours.items():
            own = job == "engine's own sums"
            of_job = [
                r for r in found if (r["engine"], r["job"]) == (engine, JOBS[0] if own else job)
            ]
            of_job.sort(key=lambda row: row["millions"])
            cost = [1e3 * row["limit" if own else "seconds"] / row["millions"] for row in of_job]
            style = {"linestyle": "--", "marker": ""} if own else {"marker": "o", "markersize": 4}
            panel.plot(
                [1e6 * r["millions"] for r in of_job], cost, color=colour, label=job, **style
            )
        panel.set(title={"polars": "Polars, streaming", "duckdb": "DuckDB"}[engine])
        panel.set(xscale="log", yscale="log", xlabel="rows")
        panel.grid(True, which="major", color="0.9")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("nanoseconds a row")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2], sys.argv[3], sys.argv[4:])))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[*SIZES])
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    found = run(given.folder, given.sizes, given.only)
    write_results(found, SIZES)
    draw(found)
    if not given.keep:
        for path in given.folder.glob("*.parquet"):
            path.unlink()


if __name__ == "__main__":
    main()
