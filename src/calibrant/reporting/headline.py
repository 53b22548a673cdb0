"""The heading of a report's verdict: one of five, by the strongest evidence that was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from calibrant.reporting.slices import Group

STRONG, SOME = 0.01, 0.05
"""The largest p-values of a test that finds miscalibration, and of one that has evidence of it."""


class Headline(NamedTuple):
    """`tone`, which gives the colour, is "off", "doubt" or "fine"."""

    text: str
    tone: str


def headline(clear: bool, pvalue: float | None, groups: Sequence[Group]) -> Headline:
    """What is to be said first, given whether there are clear signs, the test, and the groups."""
    p = 1.0 if pvalue is None else pvalue
    if clear:
        return Headline("Clear signs of miscalibration", "off")
    if p <= STRONG:
        return Headline("The test finds miscalibration", "off")
    if any(group.rejected for group in groups):
        return Headline("Signs of miscalibration in groups", "off")
    if p <= SOME:
        return Headline("Some evidence of miscalibration", "doubt")
    return Headline("Fine, as far as these rows tell", "fine")
