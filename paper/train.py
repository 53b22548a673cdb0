"""Train the forecasters and keep their forecasts.

    python -m paper.train [--data ../shared/data] [--cache paper/cache] [--seeds 6]

Writes forecasts/<set>_<family>_seed<k>.parquet into the cache, one row for each row of the data.
What is there already is not trained again: delete a file to have it made anew.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from . import data
from .forecasts import file_name, write
from .sets import FAMILIES, SETS


class Task(NamedTuple):
    """One forecaster to be trained."""

    data: Path
    target: Path
    name: str
    family: str
    seed: int


def train(task: Task) -> str:
    """Train one forecaster, write its forecasts, and say how it went."""
    import torch

    from . import networks

    start = time.perf_counter()
    # Matrices this small gain nothing from a second thread; a second forecaster does.
    torch.set_num_threads(1)
    data_set = SETS[task.name]
    splits = data.parts(data.read(task.data, task.name, data_set), data_set, task.seed)
    fitted = networks.fit(
        splits,
        task.family,
        seed=task.seed,
        max_epochs=data_set.max_epochs,
        patience=data_set.patience,
    )
    tables = [
        pl.DataFrame({"split": [split] * len(part.y), "y": part.y, **fitted.parameters[split]})
        for split, part in splits.items()
    ]
    frame = pl.concat(tables).with_columns(pl.col("split").cast(pl.Categorical))
    numbers = frame.drop("split").to_numpy()
    if not np.isfinite(numbers).all():
        raise FloatingPointError(f"{task.target.name}: training diverged.")
    write(frame, task.target)
    seconds = time.perf_counter() - start
    return (
        f"{task.target.name}: epoch {fitted.epoch}, validation loss {fitted.loss:.3f}, "
        f"{seconds:.0f} s"
    )


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and train what is not there yet."""
    parser = argparse.ArgumentParser(
        prog="python -m paper.train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path("paper/cache"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=FAMILIES)
    parser.add_argument("--seeds", type=int, default=6, help="how many, from 0 on")
    parser.add_argument("--jobs", type=int, default=2, help="forecasters trained at a time")
    options = parser.parse_args(arguments)
    try:
        import torch  # noqa: F401
    except ImportError:
        parser.exit(1, 'training needs PyTorch: pip install "calibrant[paper]"\n')
    try:
        for name in options.sets:
            data.read(options.data, name, SETS[name])
    except (FileNotFoundError, ValueError) as error:
        parser.exit(1, f"{error}\n")
    tasks = [
        Task(options.data, options.cache / "forecasts" / file_name(name, family, seed), name,
             family, seed)
        for name in options.sets
        for family in options.families
        for seed in range(options.seeds)
    ]  # fmt: skip
    missing = [task for task in tasks if not task.target.exists()]
    print(f"{len(tasks) - len(missing)} of {len(tasks)} forecasters are there already", flush=True)
    # PyTorch does not survive a fork.
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(train, task) for task in missing]):
            print(done.result(), flush=True)


if __name__ == "__main__":
    main()
