"""What the forecast commands print, for people, in 80 columns."""

from __future__ import annotations

import numpy as np

from calibrant.cli.forecast.columns import Data
from calibrant.cli.forecast.deciding import Decided, Question
from calibrant.cli.forecast.recalibrating import Fitted
from calibrant.cli.show import bare_table, heading, out
from calibrant.evaluation.forecasts import Evaluation


def rows(data: Data) -> None:
    out.print(f"{data.columns.table.name}: {data.n:,} rows; {data.mapping()}.")


def evaluation(found: Evaluation, target: str) -> None:
    heading(found.verdict.text)
    table = bare_table()
    table.add_column("measure")
    table.add_column("value", justify="right")
    table.add_column("by chance", justify="right")
    for name, value, by_chance in _measures(found, target):
        table.add_row(name, value, by_chance)
    out.print(table)
    coverage(found)


def _measures(found: Evaluation, target: str) -> list[tuple[str, str, str]]:
    threshold = found.threshold
    return [
        ("average calibration error", f"{found.average:.4f}", f"{found.average_by_chance:.4f}"),
        (
            "threshold calibration error, mean",
            _number(threshold.mean),
            _number(found.threshold_by_chance),
        ),
        ("threshold calibration error, largest", _number(threshold.max), ""),
        (
            f"  of {int((~np.isnan(threshold.value)).sum())}, above their "
            f"{100 * threshold.null_level:g} % limit",
            _percent(threshold.share_above_null),
            f"{_percent(1.0 - threshold.null_level)} or less",
        ),
        ("reliability gap per unit of cost", f"{found.gap:.4f}", f"{found.gap_by_chance:.4f}"),
        (f"CRPS, in the unit of {target}", f"{found.crps:#.4g}", ""),
        ("log score", _log_score(found), ""),
    ]


def coverage(found: Evaluation) -> None:
    """How often prediction intervals held the outcome."""
    table = bare_table()
    for name in ("interval", "held", "below", "above", "mean width"):
        table.add_column(name, justify="right")
    columns = found.coverage
    for k, confidence in enumerate(columns.confidence):
        shares = (columns.coverage[k], columns.below[k], columns.above[k])
        table.add_row(
            f"{100 * confidence:g} %", *map(_percent, shares), f"{columns.mean_width[k]:#.4g}"
        )
    out.print(table)


def before_and_after(before: Evaluation, after: Evaluation, target: str) -> None:
    """What a recalibration did to the same rows."""
    table = bare_table()
    table.add_column("measure")
    for name in ("before", "after", "by chance"):
        table.add_column(name, justify="right")
    pairs = zip(_measures(before, target), _measures(after, target), strict=True)
    for (name, old, _), (_, new, by_chance) in pairs:
        table.add_row(name, old, new, by_chance)
    for k, confidence in enumerate(before.coverage.confidence):
        held = [_percent(one.coverage.coverage[k]) for one in (before, after)]
        table.add_row(f"{100 * confidence:g} % intervals hold", *held, "")
    out.print(table)


def recalibrated_evaluation(before: Evaluation, after: Evaluation, target: str) -> None:
    heading(f"Before: {before.verdict.text}")
    out.print(f"After:  {after.verdict.text}", style="bold")
    before_and_after(before, after, target)


def recalibration(found: Fitted, target: str, output: str) -> None:
    heading(change(found.before, found.after))
    out.print(
        f"Out of sample: fitted on {found.n_fitted:,} rows drawn at random, measured on the other "
        f"{found.before.n:,}."
    )
    before_and_after(found.before, found.after, target)
    out.print(
        f"Saved {found.method} recalibration ({found.shape}), fitted on all rows, to {output}.",
        style="bold",
    )
    if not found.changes:
        out.print("It has no layer: it leaves forecasts as they are.", style="yellow")


def change(before: Evaluation, after: Evaluation) -> str:
    """What became of the reliability gap and of the CRPS, in words."""
    gaps = f"from {before.gap:.4f} to {after.gap:.4f}; chance alone makes {after.gap_by_chance:.4f}"
    sharper = "lower" if after.crps < before.crps else "no lower"
    score = f"CRPS is {sharper} ({before.crps:#.4g}, then {after.crps:#.4g})"
    if (after.log_score or 0.0) > (before.log_score or 0.0):
        score += "; the log score is worse, since maps through ranks make a rough density"
    if after.gap < before.gap:
        return f"The reliability gap falls {gaps}. {score}."
    if after.gap == before.gap:
        return "Nothing changes: the forecasts stay as they are."
    return f"It does not help: the reliability gap goes {gaps}. {score}."


def decision(question: Question, found: Decided, outcome: str) -> None:
    event = question.event(outcome)
    out.print(
        f"To act is to bet on {event}. A false alarm costs {question.false_alarm:g}, a miss "
        f"{question.miss:g}: act where its probability is at least {question.level:.3g}, which is "
        f"so in {found.n_acting:,} rows ({_percent(found.report.action_share)})."
    )
    heading(found.report.interpretation)
    table = bare_table()
    table.add_column("cost per case")
    table.add_column("predicted", justify="right")
    report = found.report
    predicted = [_cost(*report.predicted_loss)]
    predicted += [f"{report.predicted_always_1:.4f}", f"{report.predicted_always_0:.4f}"]
    realised: list[str] = []
    if report.decision_loss is not None:
        table.add_column("came", justify="right")
        realised = [
            _cost(*report.decision_loss),
            f"{found.realised_always:.4f}",
            f"{found.realised_never:.4f}",
        ]
    names = ("act by the forecast", "always act", "never act")
    for k, name in enumerate(names):
        table.add_row(name, predicted[k], *realised[k : k + 1])
    out.print(table)
    out.print(f"In parentheses: {100 * report.confidence_level:g} % intervals.")
    if found.realised_always is not None and found.realised_never is not None:
        out.print(_worth(found))


def _worth(found: Decided) -> str:
    """Whether the forecasts were worth more than doing the same in all rows."""
    assert found.report.decision_loss is not None
    assert found.realised_always is not None
    assert found.realised_never is not None
    cost = found.report.decision_loss.estimate
    policy = "always" if found.realised_always <= found.realised_never else "never"
    simple = min(found.realised_always, found.realised_never)
    if cost < simple:
        return f"Acting by the forecast saved {simple - cost:.4f} per case against {policy} acting."
    return f"Acting by the forecast saved nothing against {policy} acting."


def _cost(estimate: float, low: float, high: float) -> str:
    return f"{estimate:.4f} ({low:.4f} to {high:.4f})"


def _log_score(found: Evaluation) -> str:
    if found.log_score is None:
        return "no density"
    return f"{found.log_score:.4f}" if np.isfinite(found.log_score) else "infinite"


def _number(value: float) -> str:
    return f"{value:.4f}" if np.isfinite(value) else "too few rows"


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f} %" if np.isfinite(share) else ""
