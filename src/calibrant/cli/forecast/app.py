"""The commands of `calibrant forecast`: parse, call, print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from calibrant.cli.errors import as_user_error
from calibrant.cli.forecast import options as opt
from calibrant.cli.options import (
    File,
    Force,
    Json,
    JsonOutput,
    Resamples,
    Seed,
    TableOutput,
    Weight,
    print_json,
)

app = typer.Typer(
    help="Forecasts of a real outcome: a distribution for each row.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def evaluate(
    file: File,
    target: opt.Target,
    quantiles: opt.Quantiles,
    mean: opt.Mean = None,
    sd: opt.Sd = None,
    sort_quantiles: opt.SortQuantiles = False,
    members_prefix: opt.MembersPrefix = None,
    weight: Weight = None,
    calibrator: opt.WithCalibrator = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Measure how far forecasts agree with the outcomes.

    \b
    Example:
      calibrant forecast evaluate scored.csv --mean mu --sd sigma --target y
    """
    from calibrant.cli import show
    from calibrant.cli.forecast import recalibrating, showing
    from calibrant.cli.forecast.columns import read_data
    from calibrant.evaluation import forecasts as evaluating

    with as_user_error(), show.progress() as progress, show.warnings_as_notes():
        fitted = None if calibrator is None else recalibrating.load_recalibration(calibrator)
        columns = opt.columns_of(file, mean, sd, quantiles, members_prefix, sort_quantiles)
        data = read_data(columns, target, weight)
        assert data.y is not None
        forecasts = [data.forecast]
        if fitted is not None:
            forecasts.append(fitted.transform(data.forecast))
        before, *after = (
            evaluating.evaluate(one, data.y, data.weight, seed=seed, progress=progress)
            for one in forecasts
        )
    if as_json:
        found = after[0] if after else before
        read = {"file": columns.table.name, "columns": list(columns.names), "target": target}
        content = {**read, "calibrator": _text(calibrator), **found.to_dict()}
        print_json(content | ({"uncalibrated": before.to_dict()} if after else {}))
        return
    showing.rows(data)
    if after:
        showing.recalibrated_evaluation(before, after[0], target)
    else:
        showing.evaluation(before, target)


@app.command()
def recalibrate(
    file: File,
    target: opt.Target,
    output: JsonOutput,
    quantiles: opt.Quantiles,
    mean: opt.Mean = None,
    sd: opt.Sd = None,
    sort_quantiles: opt.SortQuantiles = False,
    members_prefix: opt.MembersPrefix = None,
    weight: Weight = None,
    method: opt.Method = "threshold",
    layers: opt.Layers = None,
    tol: opt.Tol = None,
    no_early_stopping: opt.NoEarlyStopping = False,
    seed: Seed = 0,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Learn how forecasts have to be corrected, and save it.

    What it does is measured on a third of the rows, drawn at random, that a first fit did not see;
    what is saved is fitted on all rows. Use rows that the forecaster was not trained on.

    \b
    Example:
      calibrant forecast recalibrate past.csv --mean mu --sd sigma --target y \\
        -o map.json
    """
    from calibrant.cli import files, show
    from calibrant.cli.forecast import recalibrating, showing
    from calibrant.cli.forecast.columns import read_data

    def make() -> Any:
        return recalibrating.recalibration_of(
            method, layers=layers, tol=tol, early_stopping=not no_early_stopping, seed=seed
        )

    files.check_json(output, "the recalibration")
    files.check_output(output, sources=[file], overwrite=force)
    make()  # options that do not go together are refused before the file is read
    with as_user_error(), show.progress() as progress, show.warnings_as_notes():
        columns = opt.columns_of(file, mean, sd, quantiles, members_prefix, sort_quantiles)
        data = read_data(columns, target, weight)
        found = recalibrating.fit(make, method, data, seed=seed, progress=progress)
        found.recalibration.save(output, overwrite=force)
    if as_json:
        print_json({"file": columns.table.name, "output": str(output), **found.to_dict()})
    else:
        showing.rows(data)
        showing.recalibration(found, target, str(output))


@app.command()
def apply(
    calibrator: opt.Calibrator,
    file: File,
    output: TableOutput,
    quantiles: opt.Quantiles,
    mean: opt.Mean = None,
    sd: opt.Sd = None,
    sort_quantiles: opt.SortQuantiles = False,
    members_prefix: opt.MembersPrefix = None,
    levels: opt.Levels = None,
    cdf_at: opt.CdfAt = None,
    prefix: opt.Prefix = "",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a copy of a file with recalibrated forecasts appended.

    \b
    Example:
      calibrant forecast apply map.json new.csv --mean mu --sd sigma \\
        -o recalibrated.csv
    """
    from calibrant.cli import files, show
    from calibrant.cli.forecast import appending, recalibrating

    names, make = appending.summary_of(levels, cdf_at)
    with as_user_error():
        fitted = recalibrating.load_recalibration(calibrator)
        columns = opt.columns_of(file, mean, sd, quantiles, members_prefix, sort_quantiles)
        files.check_output(output, sources=[file, calibrator], overwrite=force)
        with show.progress() as progress:
            n_rows = appending.write_appended(
                columns,
                fitted,
                names,
                make,
                output,
                prefix=prefix,
                overwrite=force,
                progress=lambda done: progress("apply", done, columns.table.n_rows),
            )
    new = [prefix + name for name in names]
    if as_json:
        print_json(
            {"file": columns.table.name, "output": str(output), "rows": n_rows, "columns": new}
        )
    else:
        show.written(n_rows, columns.table.name, output, new)


@app.command()
def decide(
    file: File,
    threshold: opt.Threshold,
    cost_false_alarm: opt.CostFalseAlarm,
    cost_miss: opt.CostMiss,
    quantiles: opt.Quantiles,
    mean: opt.Mean = None,
    sd: opt.Sd = None,
    sort_quantiles: opt.SortQuantiles = False,
    members_prefix: opt.MembersPrefix = None,
    target: opt.OutcomeIfKnown = None,
    weight: Weight = None,
    calibrator: opt.WithCalibrator = None,
    act_when: opt.ActWhen = "below",
    output: opt.Decisions = None,
    resamples: Resamples = 999,
    seed: Seed = 0,
    prefix: opt.Prefix = "",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Decide at a threshold, and say what that will cost.

    There are two actions. To act is to bet that the outcome will be at or below the threshold. If
    it comes above after all, that is a false alarm. Not to act when it comes at or below is a miss.
    With --act-when above, to act is to bet that it will be above the threshold: a false alarm is to
    act when it comes at or below, a miss is not to act when it comes above. Everything else costs
    nothing. Each row gets the action of least expected cost, to act if both cost the same.

    --output writes a copy of the file with the columns decision (1 to act, 0 not to) and
    probability (of what acting bets on).

    \b
    Example:
      calibrant forecast decide new.csv --mean mu --sd sigma --threshold 3 \\
        --cost-false-alarm 1 --cost-miss 5 -o decisions.csv
    """
    from calibrant.cli import files, show
    from calibrant.cli.forecast import appending, deciding, recalibrating, showing
    from calibrant.cli.forecast.columns import read_data

    question = deciding.Question(threshold, cost_false_alarm, cost_miss, act_when)
    names = [appending.DECISION, deciding.PROBABILITY]
    with as_user_error():
        fitted = None if calibrator is None else recalibrating.load_recalibration(calibrator)
        columns = opt.columns_of(file, mean, sd, quantiles, members_prefix, sort_quantiles)
        if output is not None:
            sources = [file] if calibrator is None else [file, calibrator]
            files.check_output(output, sources=sources, overwrite=force)
            appending.check_new_names(columns, names, output, prefix)
        data = read_data(columns, target, weight)
        forecast = data.forecast if fitted is None else fitted.transform(data.forecast)
        found = deciding.decide(question, data, forecast, n_resamples=resamples, seed=seed)
        if output is not None:
            with show.progress() as progress:
                appending.write_appended(
                    columns,
                    fitted,
                    names,
                    question.columns,
                    output,
                    prefix=prefix,
                    overwrite=force,
                    progress=lambda done: progress("write", done, columns.table.n_rows),
                )
    outcome = target or "outcome"
    if as_json:
        asked = {"event": question.event(outcome), "level": question.level}
        named = {"calibrator": _text(calibrator), "output": _text(output)}
        print_json({"file": columns.table.name, **asked, **named, **found.to_dict()})
        return
    showing.rows(data)
    showing.decision(question, found, outcome)
    if output is not None:
        show.written(data.n, columns.table.name, output, [prefix + name for name in names])


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
