"""The commands that choose and fit calibrators."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from calibrant.cli.errors import UserError, as_user_error
from calibrant.cli.options import (
    EngineName,
    File,
    Folds,
    Force,
    Input,
    Json,
    JsonOutput,
    Label,
    Normalize,
    PosLabel,
    Prob,
    ProbPrefix,
    Resamples,
    Seed,
    SparkMaster,
    Weight,
    print_json,
    read,
    read_or_scan,
)

Method = Literal[
    "auto", "platt", "temperature", "beta", "isotonic", "histogram", "vector", "dirichlet",
    "ovr-platt", "ovr-beta", "ovr-isotonic", "ovr-histogram",
]  # fmt: skip


def fit(
    file: File,
    *,
    label: Label = None,
    prob: Prob = None,
    output: JsonOutput,
    prob_prefix: ProbPrefix = None,
    weight: Weight = None,
    pos_label: PosLabel = None,
    scale: Input = "probability",
    normalize: Normalize = False,
    method: Annotated[
        Method,
        typer.Option(
            metavar="METHOD",
            help="auto chooses by cross-validation. Two classes: platt, temperature, beta, "
            "isotonic, histogram. More: temperature, vector, dirichlet, ovr-platt, ovr-beta, "
            "ovr-isotonic, ovr-histogram (one class against the rest).",
        ),
    ] = "auto",
    cv: Folds = 5,
    seed: Seed = 0,
    engine: EngineName = "auto",
    spark_master: SparkMaster = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Fit a calibrator and save it.

    With --method auto, all calibrators that suit the data are compared by cross-validated log
    loss, the uncalibrated predictions among them. The simplest within one standard error of the
    best is fitted and saved; nothing, if these are the uncalibrated predictions.

    \b
    Example:
      calibrant fit scored.csv --label bought --prob p_buy -o buy.json
    """
    from calibrant.cli import files, selection, show
    from calibrant.saving import save
    from calibrant.selection.candidates import default_calibrators

    files.check_json(output, "the calibrator")
    files.check_output(output, sources=[file], overwrite=force)
    if method == "auto":
        if engine not in ("auto", "memory"):
            raise UserError(
                f"--method auto compares calibrators on rows in memory: name a --method for "
                f"--engine {engine}."
            )
        engine = "memory"
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
        if method == "auto":
            with show.progress() as progress:
                found = selection.compare(data, scale, cv=cv, seed=seed, progress=progress)
            fitted, notes = selection.recommended(found)
            chosen = found.recommended
        else:
            known = default_calibrators(len(data.labels), scale)
            if method not in known:
                raise UserError(
                    f"--method {method} does not fit {len(data.labels)} classes: choose "
                    f"among auto, {', '.join(known)}."
                )
            found = None
            with show.progress() as progress:
                progress(f"{method}", 0, 1)
                fitted, notes = selection.fit_method(method, data, scale)
            chosen = method
        if fitted is not None:
            save(fitted, output, overwrite=force, input=scale)
    if as_json:
        print_json(
            {
                "file": data.source,
                "normalized_rows": data.normalized,
                "method": None if fitted is None else chosen,
                "output": None if fitted is None else str(output),
                "notes": list(notes),
                "comparison": None if found is None else found.to_dict(),
            }
        )
        return
    show.predictions(data)
    if found is not None:
        show.comparison(found)
    show.notes(chosen, notes)
    if fitted is None:
        show.out.print("Nothing was saved. Name a --method to save it all the same.", style="bold")
    else:
        show.out.print(f"Saved {chosen} to {output}.", style="bold")


def compare(
    file: File,
    label: Label = None,
    prob: Prob = None,
    prob_prefix: ProbPrefix = None,
    weight: Weight = None,
    pos_label: PosLabel = None,
    scale: Input = "probability",
    normalize: Normalize = False,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC",
            help="Once for each metric; the first one decides. log_loss, brier, ece, mce, ace, "
            "mmce, skce; by default the first three.",
            show_default=False,
        ),
    ] = None,
    cv: Folds = 5,
    resamples: Resamples = 999,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare calibrators, and the uncalibrated predictions.

    Every row is predicted by calibrators that were not fitted on it. A calibrator is called better
    only if the 95 % interval of the difference excludes zero.

    \b
    Example:
      calibrant compare scored.csv --label bought --prob p_buy --metric brier
    """
    from calibrant.cli import selection, show

    with as_user_error():
        data = read(file, label, prob, prob_prefix, weight, pos_label, scale, normalize)
        with show.progress() as progress:
            found = selection.compare(
                data,
                scale,
                cv=cv,
                seed=seed,
                metrics=metric or ("log_loss", "brier", "ece"),
                n_resamples=resamples,
                progress=progress,
            )
    if as_json:
        read_from = {"file": data.source, "columns": list(data.columns)}
        print_json({**read_from, "normalized_rows": data.normalized, **found.to_dict()})
        return
    show.predictions(data)
    show.comparison(found)
    for name, notes in found.notes.items():
        show.notes(name, notes)
