"""Recalibrate stored forecasts, measure them, and write the tables.

    python -m paper.run [--forecasts paper/cache/forecasts] [--results paper/cache/results.parquet]
                        [--docs docs]

Every number goes to the results: one row for each data set, family, seed, method, axis, place on
it, and measure. Rows that a run measures again are replaced, all others stay. The tables are made
from the results, as are the figures by `python -m paper.figures`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import polars as pl

from . import tables
from .forecasts import Stored, stored, write
from .measures import evaluate
from .methods import METHODS, method
from .sets import SETS

_SCHEMA = {
    "axis": pl.String, "index": pl.Int64, "at": pl.Float64, "measure": pl.String,
    "value": pl.Float64,
}  # fmt: skip
KEYS = ("data", "family", "seed", "method")


def measured(file: Stored, methods: Sequence[str]) -> pl.DataFrame:
    """One row for each method and measure."""
    fitting, test = file.samples()
    frames = []
    for name in methods:
        make = method(name)
        frame = pl.DataFrame(list(evaluate(make, fitting, test)), schema=_SCHEMA, orient="row")
        keys = zip(KEYS, (file.name, file.family, file.seed, name), strict=True)
        frames.append(frame.select(*(pl.lit(value).alias(key) for key, value in keys), pl.all()))
    return pl.concat(frames).with_columns(pl.col("seed").cast(pl.Int64))


def merged(old: pl.DataFrame | None, new: pl.DataFrame) -> pl.DataFrame:
    """New rows, and those old ones that were not measured again, in one order."""
    if old is not None:
        new = pl.concat([new, old.join(new, on=KEYS, how="anti")])
    return new.sort(*KEYS, "axis", "measure", "index")


def _in_turn(
    measure: Callable[[Stored], pl.DataFrame], files: Sequence[Stored], jobs: int
) -> Iterator[pl.DataFrame]:
    """What is measured, in the order of the files, by so many processes."""
    if jobs == 1:
        yield from map(measure, files)
        return
    # Compiled loops do not survive a fork.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(measure, files)


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, measure, and write results and tables."""
    parser = argparse.ArgumentParser(
        prog="python -m paper.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--forecasts", type=Path, default=Path("paper/cache/forecasts"))
    parser.add_argument("--results", type=Path, default=Path("paper/cache/results.parquet"))
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET")
    parser.add_argument("--seeds", nargs="+", type=int, help="which ones; default all there are")
    parser.add_argument(
        "--methods", nargs="+", default=list(METHODS), metavar="METHOD",
        help="from the list, or module:attribute for one of your own, which is called without "
        "arguments and gives something with fit and transform",
    )  # fmt: skip
    parser.add_argument("--jobs", type=int, default=2, help="forecasters measured at a time")
    options = parser.parse_args(arguments)
    try:
        for name in options.methods:
            method(name)
        files = stored(options.forecasts, options.sets, options.seeds)
    except (FileNotFoundError, ValueError) as error:
        parser.exit(1, f"{error}\n")
    results = pl.read_parquet(options.results) if options.results.exists() else None
    start = time.perf_counter()
    found = _in_turn(partial(measured, methods=options.methods), files, options.jobs)
    for number, (file, new) in enumerate(zip(files, found, strict=True), start=1):
        results = merged(results, new)
        write(results, options.results)
        seconds = time.perf_counter() - start
        print(f"{number} of {len(files)}: {file.path.name}, {seconds:.0f} s", flush=True)
    assert results is not None
    tables.write(results, options.docs)


if __name__ == "__main__":
    main()
