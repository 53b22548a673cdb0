"""A comparison of calibrators in words, as text and as a data frame."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from calibrant import frames
from calibrant.selection.candidates import UNCALIBRATED

if TYPE_CHECKING:
    from calibrant.selection.comparison import CalibratorComparison, Difference

_WIDTH = 80
_LONGEST_NAME = 13
SURELY_WRONG = (
    "! gave something that happened a probability of zero: its log loss is infinite, and is shown "
    "with probabilities clipped."
)
_TITLES = {
    "log_loss": "log loss", "brier": "Brier score", "ece": "ECE", "mce": "MCE", "ace": "ACE",
    "mmce": "MMCE", "skce": "SKCE",
}  # fmt: skip


def interpretation(found: CalibratorComparison) -> str:
    """Which candidate to take, and how sure it is that it helps."""
    title, chosen = _TITLES[found.metrics[0]], found.recommended
    if chosen == UNCALIBRATED:
        if found.best == UNCALIBRATED:
            return (
                f"No calibrator has a lower {title} than the predictions as they are: keep these."
            )
        return (
            f"The predictions as they are lie within one standard error of {found.best}, which has "
            f"the lowest {title}: keep them."
        )
    if found.metrics[0] == "log_loss" and UNCALIBRATED in found.surely_wrong:
        return (
            "The predictions as they are gave something that happened a probability of zero, so "
            f"that their {title} is infinite: {chosen} is safer."
        )
    gain = found.scores[chosen][found.metrics[0]].minus_uncalibrated
    level = f"{100 * found.confidence_level:.4g} % interval"
    if chosen in found.better:
        text = (
            f"{chosen} is better than no calibration: it lowers the {title} by "
            f"{-gain.estimate:.3g} ({level} {-gain.high:.3g} to {-gain.low:.3g})."
        )
    else:
        text = (
            f"{chosen} may be no better than no calibration: its {title} is "
            f"{-gain.estimate:.3g} lower, but the {level} of the gain, {-gain.high:.3g} to "
            f"{-gain.low:.3g}, does not rule out zero."
        )
    if chosen != found.best:
        text += (
            f" {found.best} has the lowest {title}; {chosen} is simpler, and within one standard "
            "error of it."
        )
    return text


def as_text(found: CalibratorComparison) -> str:
    """The sentence, a block for each metric, and what was not fitted; at most 80 columns."""
    level = f"{100 * found.confidence_level:.4g} % intervals"
    heading = (
        f"CalibratorComparison: {found.n} rows, {found.n_folds} folds, {level} of "
        f"{found.n_resamples} resamples. {found.interpretation}"
    )
    return "\n".join([*_wrapped(heading), *details(found)])


def details(found: CalibratorComparison) -> list[str]:
    """The lines of a block for each metric, and of what was not fitted."""
    lines = []
    for metric in found.metrics:
        lines += ["", *_block(found, metric)]
    for name, reason in found.failures.items():
        lines += _wrapped(f"{name} was not fitted: {reason}")
    return lines


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, break_on_hyphens=False)


def _block(found: CalibratorComparison, metric: str) -> list[str]:
    """The candidates in the order of a metric, the recommended one with a star."""
    wrong = found.surely_wrong if metric == "log_loss" else ()
    ranked = sorted(
        found.scores, key=lambda name: (name in wrong, found.scores[name][metric].estimate)
    )
    names = [_mark(name, found) + "!" * (name in wrong) for name in ranked]
    scores = [found.scores[name][metric] for name in ranked]
    width = max(map(len, (metric, *names)))
    columns = [
        (metric.ljust(width), [name.ljust(width) for name in names]),
        ("estimate", [_short(score.estimate) for score in scores]),
        ("minus uncalibrated", [_interval(score.minus_uncalibrated) for score in scores]),
        ("minus best", [_interval(score.minus_best) for score in scores]),
    ]
    lines = [line.rstrip() for line in frames.aligned(columns)]
    return lines + (_wrapped(SURELY_WRONG) if wrong else [])


def _mark(name: str, found: CalibratorComparison) -> str:
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + "..."
    return short + "*" * (name == found.recommended)


def _interval(difference: Difference) -> str:
    """Nothing for the difference of a candidate to itself."""
    if difference.estimate == difference.low == difference.high == 0:
        return ""
    ends = ", ".join(_short(end, "+") for end in (difference.low, difference.high))
    return f"{_short(difference.estimate, '+')} ({ends})"


def _short(number: float, sign: str = "") -> str:
    return format(number, f"{sign}.4f" if abs(number) < 10 else f"{sign}.3g")


def as_frame(found: CalibratorComparison, backend: frames.Backend | None) -> Any:
    """A native data frame with a row for each candidate and metric."""
    rows = [
        (
            *(name, metric, score.estimate, score.low, score.high),
            *_numbers(score.minus_uncalibrated),
            *_numbers(score.minus_best),
            *(name == found.recommended, ""),
        )
        for name, scores in found.scores.items()
        for metric, score in scores.items()
    ]
    rows += [
        (name, metric, *[float("nan")] * 11, False, reason)
        for name, reason in found.failures.items()
        for metric in found.metrics
    ]
    parts = ("", "_low", "_high", "_standard_error")
    names = (
        "calibrator", "metric", "estimate", "low", "high",
        *(f"minus_uncalibrated{part}" for part in parts),
        *(f"minus_best{part}" for part in parts),
        "recommended", "failure",
    )  # fmt: skip
    return frames.from_columns(
        {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)},
        backend,
    )


def _numbers(difference: Difference) -> tuple[float, ...]:
    return difference.estimate, difference.low, difference.high, difference.standard_error
