"""The options that the forecast commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Column = str | None

Calibrator = Annotated[
    Path, typer.Argument(metavar="MAP", help="What recalibrate saved.", show_default=False)
]
WithCalibrator = Annotated[
    Path | None,
    typer.Option(
        "--calibrator",
        help="Recalibrate the forecasts first, by what recalibrate saved.",
        show_default=False,
    ),
]
Mean = Annotated[
    Column,
    typer.Option(metavar="COLUMN", help="Normal forecasts: the means.", show_default=False),
]
Sd = Annotated[
    Column,
    typer.Option(
        "--sd",
        metavar="COLUMN",
        help="Normal forecasts: the standard deviations.",
        show_default=False,
    ),
]
Quantiles = Annotated[
    list[str],
    typer.Option(
        default_factory=list,
        metavar="COLUMN=LEVEL",
        help="Quantile forecasts: a column and its level; repeat, or separate several by commas: "
        "q10=0.1,q50=0.5,q90=0.9.",
        show_default=False,
    ),
]
SortQuantiles = Annotated[
    bool, typer.Option("--sort-quantiles", help="Sort the quantiles of a row where they cross.")
]
MembersPrefix = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Ensembles of equal members: columns named by this text and a number, as m1, m2, ... "
        "for m.",
        show_default=False,
    ),
]
Target = Annotated[str, typer.Option(metavar="COLUMN", help="The outcome.", show_default=False)]
Method = Annotated[
    Literal["average", "distribution", "threshold", "thresholdwise"],
    typer.Option(
        help="Calibrated over all rows; among similar forecasts; among the rows on which "
        "decision makers act; or at every threshold, after that."
    ),
]
Layers = Annotated[
    int | None,
    typer.Option(min=1, help="threshold: most layers, 40 by default.", show_default=False),
]
Tol = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="threshold: stop at a largest error of this; by default 0.05, and 0 where the number "
        "of layers is cross-validated.",
        show_default=False,
    ),
]
NoEarlyStopping = Annotated[
    bool,
    typer.Option(
        "--no-early-stopping",
        help="threshold: do not choose the number of layers by cross-validation.",
    ),
]
Levels = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBERS",
        help="Append the mean and the quantiles at these levels, as q0.05; "
        "0.05,0.25,0.5,0.75,0.95 by default.",
        show_default=False,
    ),
]
CdfAt = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBERS",
        help="Append the probabilities of outcomes of at most these numbers, as cdf_10; "
        "quantiles only if --levels is given too.",
        show_default=False,
    ),
]
Threshold = Annotated[float, typer.Option(help="In the unit of the outcome.", show_default=False)]
CostFalseAlarm = Annotated[
    float,
    typer.Option(
        min=0.0,
        help="Cost of acting when the outcome comes on the other side than bet on.",
        show_default=False,
    ),
]
CostMiss = Annotated[
    float,
    typer.Option(
        min=0.0,
        help="Cost of not acting when it comes on the side that acting bets on.",
        show_default=False,
    ),
]
OutcomeIfKnown = Annotated[
    Column,
    typer.Option(metavar="COLUMN", help="The outcome, for the cost that came.", show_default=False),
]
ActWhen = Annotated[
    Literal["below", "above"],
    typer.Option(
        help="What acting bets on, an outcome at or below the threshold or one above it; the two "
        "costs are those of that bet."
    ),
]
Decisions = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="A CSV or Parquet file for the decisions.",
        show_default=False,
    ),
]
Prefix = Annotated[str, typer.Option(help="Put before the names of the new columns.")]


def columns_of(
    file: Path,
    mean: str | None,
    sd: str | None,
    quantiles: list[str],
    members_prefix: str | None,
    sort_quantiles: bool,
) -> Any:
    """The columns of a file that hold the forecasts."""
    from calibrant.cli import files
    from calibrant.cli.forecast.columns import Given, forecast_columns

    given = Given(mean, sd, quantiles, members_prefix, sort_quantiles)
    return forecast_columns(files.open_table(file), given)
