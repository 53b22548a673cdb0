"""The commands of `calibrant`: parse, call, print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from calibrant import __version__
from calibrant.cli.errors import UserError, as_user_error
from calibrant.cli.fitting import compare, fit
from calibrant.cli.forecast.app import app as forecast_app
from calibrant.cli.options import (
    EngineName,
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
    ResamplesOrNone,
    Scale,
    Seed,
    SparkMaster,
    TableOutput,
    Weight,
    print_json,
    read,
    read_or_scan,
)
from calibrant.cli.reporting import forecast_report, report

app = typer.Typer(
    help="Can the decision maker trust these probabilities?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(forecast_app, name="forecast")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"calibrant {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Options of `calibrant` itself."""


REJECTED = 3


@app.command()
def evaluate(
    file: File,
    label: Label = None,
    prob: Prob = None,
    prob_prefix: ProbPrefix = None,
    weight: Weight = None,
    pos_label: PosLabel = None,
    scale: Input = "probability",
    normalize: Normalize = False,
    bins: Annotated[int, typer.Option(min=1, max=100_000, help="Bins of [0, 1].")] = 10,
    strategy: Annotated[
        Literal["uniform", "quantile"],
        typer.Option(help="Bins of equal width, or of about equally many rows."),
    ] = "uniform",
    resamples: ResamplesOrNone = 999,
    seed: Seed = 0,
    engine: EngineName = "auto",
    spark_master: SparkMaster = None,
    as_json: Json = False,
) -> None:
    """Measure how well predictions agree with what happened.

    \b
    Example:
      calibrant evaluate scored.csv --label bought --prob p_buy
    """
    from calibrant.cli import evaluation, frame_evaluation, show
    from calibrant.cli.engines import EngineData

    with as_user_error():
        data = read_or_scan(
            file,
            label,
            prob,
            prob_prefix,
            weight,
            pos_label,
            scale,
            normalize,
            engine,
            spark_master,
        )
        binned: dict[str, Any] = {"bins": bins, "strategy": strategy}
        left_out = isinstance(data, EngineData) and resamples > 0
        with show.progress() as progress, show.warnings_as_notes():
            if isinstance(data, EngineData):
                with data.running():
                    found = frame_evaluation.evaluate(data, **binned, progress=progress)
            else:
                found = evaluation.evaluate(
                    data, **binned, n_resamples=resamples, seed=seed, progress=progress
                )
    if as_json:
        content = {"file": data.source, "columns": list(data.columns)}
        content |= {"normalized_rows": data.normalized, **found.to_dict()}
        if isinstance(data, EngineData):
            content |= {"engine": data.engine, "left_out": frame_evaluation.LEFT_OUT * left_out}
        print_json(content)
    else:
        show.evaluation(found, data.source, data.mapping())
        if left_out:
            show.left_out(data.engine, frame_evaluation.LEFT_OUT)


@app.command("test")
def calibration_test_command(
    file: File,
    label: Label = None,
    prob: Prob = None,
    prob_prefix: ProbPrefix = None,
    pos_label: PosLabel = None,
    scale: Input = "probability",
    normalize: Normalize = False,
    kind: Annotated[
        Literal["canonical", "confidence"],
        typer.Option(help="More than two classes: all probabilities, or the top label."),
    ] = "canonical",
    method: Annotated[
        Literal["bootstrap", "asymptotic"], typer.Option(help="Which test.")
    ] = "bootstrap",
    alpha: Annotated[float, typer.Option(help="Reject when p is at most this.")] = 0.05,
    resamples: Resamples = 999,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Put rows in random order before pairing them.")
    ] = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Test whether the predictions are calibrated.

    The exit status is 3 if that is rejected.

    \b
    Example:
      calibrant test scored.csv --label bought --prob p_buy --alpha 0.01
    """
    from calibrant import calibration_test
    from calibrant.cli import show

    if not 0 < alpha < 1:
        raise UserError(f"--alpha must lie between 0 and 1, got {alpha}.")
    with as_user_error():
        data = read(file, label, prob, prob_prefix, None, pos_label, scale, normalize)
        with show.progress() as progress, show.warnings_as_notes():
            found = calibration_test(
                data.y,
                data.prob,
                method=method,
                kind=kind,
                n_resamples=resamples,
                random_state=seed,
                shuffle=shuffle,
                labels=data.labels,
                progress=lambda done, total: progress("test", done, total),
            )
    rejected = found.pvalue <= alpha
    if as_json:
        content = {"file": data.source, "normalized_rows": data.normalized, "alpha": alpha}
        print_json(content | {"rejected": rejected, **found.to_dict()})
    else:
        show.predictions(data)
        show.out.print(str(found))
        decision = "rejected" if rejected else "not rejected"
        show.out.print(f"Calibration is {decision} at level {alpha:g}.", style="bold")
    if rejected:
        raise typer.Exit(REJECTED)


app.command()(compare)
app.command()(fit)
app.command()(report)
forecast_app.command("report")(forecast_report)


@app.command()
def apply(
    calibrator: Annotated[
        Path, typer.Argument(metavar="CALIBRATOR", help="What fit saved.", show_default=False)
    ],
    file: File,
    *,
    prob: Prob = None,
    output: TableOutput,
    prob_prefix: ProbPrefix = None,
    scale: Annotated[
        Scale, typer.Option("--input", help="What the predictions are; the same as for fit.")
    ] = "probability",
    normalize: Normalize = False,
    prefix: Annotated[
        str, typer.Option(help="Put before the names of the calibrated columns.")
    ] = "calibrated_",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a copy of a file with calibrated probabilities appended.

    \b
    Example:
      calibrant apply buy.json new.csv --prob p_buy -o calibrated.csv
    """
    from calibrant.cli import applying, detection, files, show

    with as_user_error():
        fitted = applying.load_calibrator(calibrator)
        applying.check_scale(calibrator, fitted, scale)
        files.check_output(output, sources=[file, calibrator], overwrite=force)
        files.check_format(output)
        table = files.open_table(file)
        named, taken = detection.find_predictions(
            table,
            prob or [],
            prob_prefix,
            classes=fitted.classes_.tolist(),
            scale=scale,
            normalize=normalize,
        )
        show.taken(taken)
        columns = applying.in_class_order(fitted, named)
        with show.progress() as progress:
            n_rows, n_divided = applying.write_calibrated(
                fitted,
                table,
                columns,
                output,
                scale=scale,
                normalize=normalize,
                prefix=prefix,
                overwrite=force,
                progress=lambda done: progress("apply", done, table.n_rows),
            )
    new = [prefix + column for column in columns]
    normalized = n_divided if normalize else None
    show.normalized(normalized, n_rows)
    if as_json:
        content = {"file": table.name, "output": str(output), "rows": n_rows, "columns": new}
        print_json(content | {"normalized_rows": normalized})
    else:
        show.written(n_rows, table.name, output, new)


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")] = Path(
        "demo"
    ),
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Do the whole job on real forecasts that come with calibrant.

    \b
    Example:
      calibrant demo -o demo
    """
    from calibrant.cli.demo import run

    if output.exists() and not force and (output.is_file() or any(output.iterdir())):
        raise UserError(f"{output} exists already: choose another --output or pass --force.")
    with as_user_error():
        run(output, overwrite=force, as_json=as_json)
