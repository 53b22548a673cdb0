"""Proper scores of frames, as means that the engine computes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, TypedDict, Unpack

import narwhals as nw

from calibrant.engines.predictions import FramePredictions, check_frame, check_weights
from calibrant.engines.source import ROWS
from calibrant.engines.sums import split, summed


class Names(TypedDict):
    """The columns that are read, and what their labels mean."""

    y: str | None
    prob: str | Sequence[str] | None
    by: str | Sequence[str] | None
    labels: Any
    pos_label: Any
    sample_weight: str | None


def brier_scores(frame: Any, **names: Unpack[Names]) -> dict[Any, float]:
    """The Brier score of each group, in one aggregation; without groups the one key is ()."""
    data = check_frame(frame, **names)
    terms = [
        (prob - hit.cast(nw.Int64)) * (prob - hit.cast(nw.Int64))
        for prob, hit in zip(data.prob, data.hits, strict=True)
    ]
    return _means(data, reduce(add, terms))


def log_losses(frame: Any, **names: Unpack[Names]) -> dict[Any, float]:
    """The logarithmic loss of each group, in one aggregation; without groups the one key is ()."""
    data = check_frame(frame, **names)
    given = nw.lit(0.0) if not data.binary else 1.0 - data.prob[0]
    for prob, hit in zip(data.prob, data.hits, strict=True):
        given = nw.when(hit).then(prob).otherwise(given)
    high = nw.when(given > 1.0 - data.eps).then(nw.lit(1.0 - data.eps)).otherwise(given)
    clipped = nw.when(given < data.eps).then(nw.lit(data.eps)).otherwise(high)
    return _means(data, -clipped.log())


def _means(data: FramePredictions, value: nw.Expr) -> dict[Any, float]:
    sums = {"value": value}
    if data.weight is not None:
        sums = {"value": data.weight * value, "weight": data.weight}
    parts = {name: part for whole in sums for name, part in split(whole, sums[whole]).items()}
    columns = data.source.aggregate(parts, rules=data.rules)
    means = {}
    for group, places in data.source.groups(columns).items():
        if data.weight is None:
            total = float(columns[ROWS][places].sum())
        else:
            total = sum(summed(columns, "weight", at) for at in places)
        check_weights(group, total)
        means[group] = sum(summed(columns, "value", at) for at in places) / total
    return means
