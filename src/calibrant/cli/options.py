"""Options that several commands share, and what they do with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Scale = Literal["probability", "logit"]

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="CSV, Parquet or JSON lines, by its ending; a folder or a quoted pattern of Parquet "
        "files; - for standard input.",
        show_default=False,
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="What happened; if not named, the only column that can be it.",
        show_default=False,
    ),
]
Prob = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Predictions; once for each class if there are more than two. If not named, the only "
        "columns that can be it.",
        show_default=False,
    ),
]
ProbPrefix = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Take all columns whose names begin so.", show_default=False),
]
Weight = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Weights of the rows.", show_default=False)
]
PosLabel = Annotated[
    str | None,
    typer.Option(
        metavar="LABEL",
        help="The label that a single column predicts, if labels are not 0 and 1.",
        show_default=False,
    ),
]
Normalize = Annotated[
    bool,
    typer.Option(
        "--normalize",
        help="Divide probabilities of several classes by their sum, where rounding has put it off "
        "one (by 0.05 at most).",
    ),
]
Input = Annotated[Scale, typer.Option("--input", help="What the predictions are.")]
Folds = Annotated[int, typer.Option("--cv", min=2, help="Folds to compare calibrators on.")]
Resamples = Annotated[
    int, typer.Option(min=1, max=1_000_000, help="Resamples for intervals and tests.")
]
ResamplesOrNone = Annotated[
    int,
    typer.Option(
        min=0, max=1_000_000, help="Resamples for intervals and the test; 0 leaves them out."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all that is random.")]
TableOutput = Annotated[
    Path,
    typer.Option("--output", "-o", help="The new CSV or Parquet file.", show_default=False),
]
JsonOutput = Annotated[
    Path,
    typer.Option("--output", "-o", help="Where to save it, as JSON.", show_default=False),
]
EngineName = Annotated[
    Literal["auto", "memory", "polars", "duckdb", "dask", "spark"],
    typer.Option(
        "--engine",
        help="What counts the rows of Parquet files. auto is memory, or polars if the columns take "
        "more than a tenth of the machine's memory.",
    ),
]
SparkMaster = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Where Spark runs; by default on this machine.", show_default=False
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def read(
    file: Path,
    label: str | None,
    prob: list[str] | None,
    prob_prefix: str | None,
    weight: str | None,
    pos_label: str | None,
    scale: Scale,
    normalize: bool,
) -> Any:
    """The checked predictions, outcomes and weights of a file."""
    from calibrant.cli import files

    table = files.open_table(file)
    found = take_columns(table, label, prob, prob_prefix, [weight], scale, normalize)
    return read_table(table, found, weight, pos_label, scale, normalize)


def read_table(
    table: Any,
    columns: tuple[str, tuple[str, ...]],
    weight: str | None,
    pos_label: str | None,
    scale: Scale,
    normalize: bool,
) -> Any:
    """The same of a table whose columns are known; how many rows were divided is said."""
    from calibrant.cli import predictions, show

    data = predictions.read_data(
        table, *columns, weight=weight, pos_label=pos_label, scale=scale, normalize=normalize
    )
    show.normalized(data.normalized, len(data.y))
    return data


def read_or_scan(
    file: Path,
    label: str | None,
    prob: list[str] | None,
    prob_prefix: str | None,
    weight: str | None,
    pos_label: str | None,
    scale: Scale,
    normalize: bool,
    engine: EngineName,
    spark_master: str | None,
) -> Any:
    """The same, or `EngineData` where an engine is to count the rows."""
    from calibrant.cli import engines, files

    engines.check_engine(engine, spark_master, normalize)
    table = files.open_table(file)
    found = take_columns(table, label, prob, prob_prefix, [weight], scale, normalize)
    n_columns = 1 + len(found[1]) + (weight is not None)
    name = engines.chosen(engine, table, n_columns, scale)
    if name == "memory":
        return read_table(table, found, weight, pos_label, scale, normalize)
    engines.check_engine(name, spark_master, normalize)
    return engines.open_engine(
        name,
        table,
        *found,
        weight=weight,
        pos_label=pos_label,
        scale=scale,
        spark_master=spark_master,
    )


def take_columns(
    table: Any,
    label: str | None,
    prob: list[str] | None,
    prob_prefix: str | None,
    others: list[str | None],
    scale: Scale,
    normalize: bool,
) -> tuple[str, tuple[str, ...]]:
    """The columns of labels and of predictions; those that no option names are said."""
    from calibrant.cli import show
    from calibrant.cli.detection import find_columns

    found = find_columns(
        table, label, prob or [], prob_prefix, others=others, scale=scale, normalize=normalize
    )
    show.taken(found.taken)
    return found.label, found.predictions


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    # Labels of NumPy's types become Python's; a NaN would not be JSON.
    typer.echo(json.dumps(content, allow_nan=False, default=lambda value: value.item()))
