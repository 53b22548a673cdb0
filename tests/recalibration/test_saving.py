"""Saved recalibrations that were edited by hand: refused, or still good for a forecast."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import calibrant
from calibrant import AverageRecalibration, DistributionRecalibration, ThresholdRecalibration

from .conftest import make_forecast

WRONG = ("x", -1, 0.5, None, [], {}, [[1.0]], {"array": [1.0], "dtype": "f8"}, 10**400)


def paths(content, path=()):
    """Where the entries of nested objects and (the beginnings of) lists are."""
    items = content.items() if isinstance(content, dict) else enumerate(content[:3])
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from paths(value, (*path, key))


def changed(document, path, value):
    copy = json.loads(json.dumps(document))
    *parents, last = path
    place = copy["content"]
    for key in parents:
        place = place[key]
    place[last] = value
    return copy


@pytest.mark.parametrize(
    "recalibration",
    [
        AverageRecalibration(),
        DistributionRecalibration(n_bins=2),
        ThresholdRecalibration(tol=0.0, max_iter=2, thresholds=5),
    ],
)
def test_edited_files(recalibration, tmp_path):
    forecast, y = make_forecast("normal", 60, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recalibration.fit(forecast, y)
    file = tmp_path / "map.json"
    recalibration.save(file)
    document = json.loads(file.read_text())
    n_refused = 0
    for path in list(paths(document["content"])):
        for value in WRONG:
            file.write_text(json.dumps(changed(document, path, value)))
            try:
                cdf = calibrant.load(file).transform(forecast).cdf(y)
            except ValueError:
                n_refused += 1
                continue
            assert np.isfinite(cdf).all()
            assert ((cdf >= 0.0) & (cdf <= 1.0)).all()
    assert n_refused > 100
