"""`calibrant report` and `calibrant forecast report`: a page to hand on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from calibrant.cli.errors import UserError, as_user_error
from calibrant.cli.forecast import options as opt
from calibrant.cli.options import (
    File,
    Force,
    Input,
    Json,
    Label,
    Normalize,
    PosLabel,
    Prob,
    ProbPrefix,
    Resamples,
    Seed,
    Weight,
    print_json,
    read_table,
    take_columns,
)

Output = Annotated[Path, typer.Option("--output", "-o", help="The HTML file.", show_default=False)]
By = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Measure and test each group of rows, too.", show_default=False
    ),
]
Title = Annotated[
    str | None, typer.Option(help="The heading; the file's name by default.", show_default=False)
]
Date = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Show it under the heading. Without it, the same file gives the same page.",
        show_default=False,
    ),
]


def report(
    file: File,
    *,
    label: Label = None,
    prob: Prob = None,
    output: Output,
    prob_prefix: ProbPrefix = None,
    weight: Weight = None,
    pos_label: PosLabel = None,
    scale: Input = "probability",
    normalize: Normalize = False,
    by: By = None,
    title: Title = None,
    date: Date = None,
    resamples: Resamples = 999,
    seed: Seed = 0,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a report on predictions as a web page.

    It is one HTML file that any browser opens. It loads nothing from elsewhere, prints, and says
    how everything in it was computed.

    \b
    Example:
      calibrant report scored.csv --label bought --prob p_buy -o report.html
    """
    from calibrant.cli.files import open_table

    _check_output(file, output, force)
    with as_user_error():
        table = open_table(file)
        found = take_columns(table, label, prob, prob_prefix, [weight, by], scale, normalize)
        data = read_table(table, found, weight, pos_label, scale, normalize)
        groups = _groups(table, by)

    def make() -> Any:
        from calibrant.reporting import report as make_report

        return make_report(
            data.y,
            data.values,
            labels=data.labels,
            input=scale,
            by=groups,
            sample_weight=data.weight,
            title=title or Path(table.name).name,
            date=date,
            n_resamples=resamples,
            random_state=seed,
        )

    _write(make, table, output, force, as_json, normalized_rows=data.normalized)


def forecast_report(
    file: File,
    target: opt.Target,
    output: Output,
    quantiles: opt.Quantiles,
    mean: opt.Mean = None,
    sd: opt.Sd = None,
    sort_quantiles: opt.SortQuantiles = False,
    members_prefix: opt.MembersPrefix = None,
    weight: Weight = None,
    by: By = None,
    title: Title = None,
    date: Date = None,
    resamples: Resamples = 999,
    seed: Seed = 0,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a report on forecasts as a web page.

    It is one HTML file that any browser opens. It loads nothing from elsewhere, prints, and says
    how everything in it was computed.

    \b
    Example:
      calibrant forecast report scored.csv --mean mu --sd sigma --target y \\
        -o forecasts.html
    """
    from calibrant.cli.forecast.columns import read_data

    _check_output(file, output, force)
    with as_user_error():
        columns = opt.columns_of(file, mean, sd, quantiles, members_prefix, sort_quantiles)
        data = read_data(columns, target, weight)
        table = columns.table
        groups = _groups(table, by)

    def make() -> Any:
        from calibrant.reporting import forecast_report as make_report

        return make_report(
            data.forecast,
            data.y,
            by=groups,
            sample_weight=data.weight,
            title=title or Path(table.name).name,
            date=date,
            n_resamples=resamples,
            random_state=seed,
        )

    _write(make, table, output, force, as_json)


def _check_output(file: Path, output: Path, force: bool) -> None:
    from calibrant.cli import files

    if not files.has_format(output, ".html", ".htm"):
        raise UserError(f"the report is an HTML page: {output} should end with .html.")
    files.check_output(output, sources=[file], overwrite=force)


def _groups(table: Any, by: str | None) -> Any:
    """The column that says which group a row is in."""
    from calibrant.cli.labels import read_labels

    if by is None:
        return None
    return read_labels(table, table.collect([by])[by])


def _write(
    make: Callable[[], Any], table: Any, output: Path, force: bool, as_json: bool, **about: Any
) -> None:
    """Make the report and save it; `about` is for --json only."""
    from calibrant.cli import show

    try:
        with as_user_error(), show.warnings_as_notes():
            found = make()
    except ImportError as error:
        raise UserError(str(error)) from error
    found.save(output, overwrite=force)
    if as_json:
        content = {"file": table.name, "output": str(output), "verdict": found.verdict}
        print_json(content | about)
        return
    show.out.print(found.verdict, style="bold")
    show.out.print(f"Wrote {output}: open it in a browser.")
