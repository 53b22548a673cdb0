"""The pictures of the report on forecasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.decisions import DecisionTable
from calibrant.displays import PITDisplay, ReliabilityGapDisplay, ThresholdCalibrationDisplay
from calibrant.evaluation.forecasts import Evaluation
from calibrant.metrics.average import pit
from calibrant.reporting.forecast_findings import Findings
from calibrant.reporting.forecast_repairs import RECALIBRATED, Repair
from calibrant.reporting.group_picture import draw_groups
from calibrant.reporting.pictures import house_style, new_figure, to_svg
from calibrant.reporting.stakes import AS_THEY_ARE

if TYPE_CHECKING:
    from markupsafe import Markup

_NAMES = AS_THEY_ARE.capitalize(), RECALIBRATED.capitalize()


def draw(found: Findings, *, seed: int) -> dict[str, Any]:
    """SVG elements by name; a list of two for the PITs."""
    with house_style():
        pictures: dict[str, Any] = {
            "pit": _pits(found, seed),
            "tce": _heat_map(found.evaluation, "tce", None),
            "gap": _losses(found.evaluation.decisions, "threshold"),
            "ratio": _losses(found.evaluation.decisions, "cost_ratio"),
        }
        if found.repair is not None:
            pictures |= _before_and_after(found.repair)
        if found.groups:
            pictures["groups"] = draw_groups(found.groups, "Average calibration error")
    return pictures


def _pits(found: Findings, seed: int) -> list[Markup]:
    rows = found.rows
    values = pit(rows.forecast, rows.y, method="randomized", random_state=seed)
    share = np.histogram(values, 5, (0.0, 1.0), weights=rows.weight)[0]
    told = ", ".join(f"{100 * part:.0f} %" for part in share / share.sum())
    words = (
        f"of the probability integral transforms. Shares of the outcomes in the five fifths of "
        f"their forecasts: {told}; of calibrated forecasts, 20 % each."
    )
    pictures = []
    for kind, what in (("histogram", "Histogram"), ("ecdf_difference", "Distribution")):
        figure = new_figure(5.0, 4.2)
        PITDisplay(values, sample_weight=rows.weight).plot(figure.subplots(), kind=kind)
        pictures.append(to_svg(figure, f"pit-{what.lower()}", f"{what} {words}"))
    return pictures


def _heat_map(
    found: Evaluation, name: str, top: float | None, heading: str | None = None
) -> Markup:
    figure = new_figure(5.6, 4.4)
    ThresholdCalibrationDisplay.from_error(
        found.threshold, ax=figure.subplots(), vmax=top, name=heading
    )
    error = found.threshold
    words = (
        f"Heat map of the threshold calibration error: largest {error.max:.3f}, mean "
        f"{error.mean:.3f}, {100 * error.share_above_null:.0f} % of the cells above noise."
    )
    return to_svg(figure, name, words)


def _losses(table: DecisionTable, by: str) -> Markup:
    figure = new_figure(5.0, 4.2)
    display = ReliabilityGapDisplay.from_table(table, by=by, measure="losses", ax=figure.subplots())
    if by == "cost_ratio":
        display.ax_.set_xlabel("Cost of a false alarm (share of the total)")
    overall = table.overall()
    words = (
        f"Predicted and realised loss by {by.replace('_', ' ')}: on average "
        f"{overall['predicted_loss']:.3f} predicted and {overall['decision_loss']:.3f} realised."
    )
    return to_svg(figure, f"losses-{by}", words)


def _before_and_after(repair: Repair) -> dict[str, Markup]:
    both = repair.before, repair.after
    known = [one.threshold.max for one in both if one.threshold.max > 0.0]
    top = max(known, default=None)
    figure = new_figure(5.0, 4.2)
    ax = figure.subplots()
    for name, one in zip(_NAMES, both, strict=True):
        ReliabilityGapDisplay.from_table(one.decisions, name=name, ax=ax)
    words = (
        f"Reliability gap by threshold on held-out rows, on average {repair.before.gap:.4f} before "
        f"and {repair.after.gap:.4f} after."
    )
    return {
        "repaired-gap": to_svg(figure, "repaired-gap", words),
        "before": _heat_map(repair.before, "before", top, f"{_NAMES[0]}, held-out rows"),
        "after": _heat_map(repair.after, "after", top, f"{_NAMES[1]}, held-out rows"),
    }
