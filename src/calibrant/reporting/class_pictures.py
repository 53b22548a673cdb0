"""The pictures of the report on class probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.calibrators.base import Calibrator
from calibrant.displays import CalibratorDisplay, ReliabilityDisplay
from calibrant.metrics import ReliabilityTable, reliability_table
from calibrant.reporting.class_findings import Findings, top_table
from calibrant.reporting.group_picture import draw_groups
from calibrant.reporting.pictures import house_style, new_figure, to_svg
from calibrant.reporting.sample import Sample
from calibrant.reporting.stakes import AS_THEY_ARE
from calibrant.selection.candidates import fed

if TYPE_CHECKING:
    from markupsafe import Markup

_RARE = 0.05
_MOST_CLASSES = 4
_SIZE = 4.6, 4.9


def draw(found: Findings) -> dict[str, Any]:
    """SVG elements by name; a list of them for the classes."""
    short = found.sample.with_short_labels()
    with house_style():
        pictures: dict[str, Any] = {"reliability": _reliability(short)}
        if short.binary and not _RARE < short.prob.mean() < 1.0 - _RARE:
            pictures["rare"] = _rare(short)
        if not short.binary:
            pictures["classes"] = _classes(short)
        if found.comparison is not None and found.after is not None:
            name = found.comparison.recommended
            pictures["after"] = _before_and_after(short, found.after.with_short_labels(), name)
            if short.binary:
                pictures["map"] = _map(found.comparison.calibrators[name], found.sample, name)
        if found.groups:
            pictures["groups"] = draw_groups(found.groups, "ECE")
    return pictures


def _reliability(sample: Sample) -> Markup:
    figure = new_figure(*_SIZE)
    ReliabilityDisplay.from_table(top_table(sample), ax=figure.subplots())
    return to_svg(figure, "reliability", f"Reliability diagram. {_in_words(top_table(sample))}")


def _rare(sample: Sample) -> Markup:
    """On axes that spread small probabilities."""
    table = reliability_table(sample.y, sample.prob, strategy="quantile", **sample.options)
    figure = new_figure(*_SIZE)
    ReliabilityDisplay.from_table(table, ax=figure.subplots(), scale="logit")
    words = f"Reliability diagram on logit axes, bins of equal size. {_in_words(table)}"
    return to_svg(figure, "rare", words)


def _classes(sample: Sample) -> list[Markup]:
    """The classes with the largest errors against the rest, the worst first."""
    tables = reliability_table(sample.y, sample.prob, **sample.options).by_class()
    worst = sorted(tables, key=lambda label: -tables[label].ece())[:_MOST_CLASSES]
    pictures = []
    for k, label in enumerate(worst):
        figure = new_figure(*_SIZE)
        ReliabilityDisplay.from_table(tables[label], ax=figure.subplots())
        words = f"Reliability diagram of class {label}. {_in_words(tables[label])}"
        pictures.append(to_svg(figure, f"class-{k}", words))
    return pictures


def _before_and_after(before: Sample, after: Sample, name: str) -> Markup:
    tables = top_table(before), top_table(after)
    figure = new_figure(*_SIZE)
    ax = figure.subplots()
    kind = "" if before.binary else ", top label"
    for table, shown in zip(tables, (AS_THEY_ARE.capitalize(), name), strict=True):
        ReliabilityDisplay.from_table(table, name=shown + kind, ax=ax, band=None)
    told = " ".join(map(_in_words, tables))
    return to_svg(figure, "after", f"Reliability diagrams before and after {name}. {told}")


def _map(calibrator: Calibrator, sample: Sample, name: str) -> Markup:
    figure = new_figure(*_SIZE)
    rows = sample.prob if sample.logits is None else fed(calibrator, sample.logits, "logit")
    display = CalibratorDisplay.from_estimator(
        calibrator, rows, sample.y, name=name, ax=figure.subplots()
    )
    logits = sample.logits is not None and display.scale != "probability"
    display.ax_.set(ylabel="Calibrated probability")
    if logits:
        display.ax_.set(xlabel="Predicted log-odds")
    else:
        display.ax_.set(xlabel="Predicted probability", xlim=(0, 1))
    at = (-2, 0, 2) if logits else (0.1, 0.5, 0.9)
    inside = [x for x in at if display.x[0] <= x <= display.x[-1]]
    told = ", ".join(f"{x:g} becomes {np.interp(x, display.x, display.y):.2f}" for x in inside)
    return to_svg(figure, "map", f"What {name} makes of each prediction: {told}.")


def _in_words(table: ReliabilityTable) -> str:
    """The bins that hold rows, for those who cannot see them."""
    filled = table.count > 0
    pairs = zip(table.mean_prob[filled], table.observed[filled], strict=True)
    told = ", ".join(f"{100 * p:.0f} % came {100 * o:.0f} %" for p, o in pairs)
    return f"Predicted and observed: {told}."
