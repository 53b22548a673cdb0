"""Options that several commands share, and what they do with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Scale = Literal["probability", "logit"]

File = Annotated[Path, typer.Argument(help="A CSV or Parquet file.", show_default=False)]
Label = Annotated[str, typer.Option(metavar="COLUMN", help="What happened.", show_default=False)]
Prob = Annotated[
    list[str],
    typer.Option(
        default_factory=list,
        metavar="COLUMN",
        help="Predictions; once for each class if there are more than two.",
        show_default=False,
    ),
]
Prefix = Annotated[
    str | None,
    typer.Option(
        "--prob-prefix",
        metavar="TEXT",
        help="Take all columns whose names begin so.",
        show_default=False,
    ),
]
Weight = Annotated[str | None, typer.Option(metavar="COLUMN", help="Weights.", show_default=False)]
PosLabel = Annotated[
    str | None,
    typer.Option(
        metavar="LABEL",
        help="The label that a single column predicts, if labels are not 0 and 1.",
        show_default=False,
    ),
]
Input = Annotated[Scale, typer.Option("--input", help="What the predictions are.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all that is random.")]
Resamples = Annotated[
    int,
    typer.Option(
        min=0, max=1_000_000, help="Resamples for intervals and the test; 0 leaves them out."
    ),
]


def read(
    file: Path,
    label: str,
    prob: list[str],
    prob_prefix: str | None,
    weight: str | None,
    pos_label: str | None,
    scale: Scale,
) -> Any:
    """The checked predictions, outcomes and weights of a file."""
    from calibrant.cli import files, predictions

    table = files.open_table(file)
    columns = predictions.prediction_columns(table, prob, prob_prefix)
    return predictions.read_data(
        table, label, columns, weight=weight, pos_label=pos_label, scale=scale
    )


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    # Labels of NumPy's types become Python's; a NaN would not be JSON.
    typer.echo(json.dumps(content, allow_nan=False, default=lambda value: value.item()))
