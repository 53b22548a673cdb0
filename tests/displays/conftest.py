"""Drawing without a screen; no figure outlives its test."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    from matplotlib import pyplot

    with matplotlib.rc_context():
        yield
    pyplot.close("all")
