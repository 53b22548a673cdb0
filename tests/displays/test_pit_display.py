"""Histogram and distribution of PITs, with their bands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy import stats

from calibrant import pit
from calibrant.displays import PITDisplay
from calibrant.forecasts import Ensemble, Normal


def sample(n: int = 300, sd: float = 1.5) -> tuple[Normal, np.ndarray]:
    rng = np.random.default_rng(3)
    mu = rng.normal(size=n)
    return Normal(mu, sd), rng.normal(mu, 1.0)


def band(ax: Any) -> np.ndarray:
    (filled,) = [c for c in ax.collections if "band" in str(c.get_label())]
    return np.asarray(filled.get_paths()[0].vertices)


def test_the_histogram_has_the_densities_of_the_bins():
    forecast, y = sample()
    display = PITDisplay.from_predictions(forecast, y, n_bins=8, kind="histogram")
    values, edges, _ = display.histogram_.get_data()
    expected, _ = np.histogram(pit(forecast, y), 8, (0, 1), density=True)
    np.testing.assert_allclose(values, expected)
    np.testing.assert_allclose(edges, np.arange(9) / 8)
    assert display.line_ is None
    assert display.ax_.get_ylabel() == "Density"


@pytest.mark.parametrize("kind", ["ecdf", "ecdf_difference"])
def test_the_line_is_the_distribution_function(kind: str):
    forecast, y = sample()
    display = PITDisplay.from_predictions(forecast, y, kind=kind)
    at, height = display.line_.get_xydata().T
    np.testing.assert_array_equal(at, np.arange(1001) / 1000)
    expected = [(pit(forecast, y) <= c).mean() for c in at]
    np.testing.assert_allclose(
        height + (at if kind == "ecdf_difference" else 0), expected, atol=1e-12
    )
    assert display.histogram_ is None


def test_the_band_of_the_distribution_is_exact():
    forecast, y = sample(50)
    display = PITDisplay.from_predictions(forecast, y, kind="ecdf_difference", confidence_level=0.9)
    half = band(display.ax_)[:, 1].max()
    assert stats.kstest(np.arange(50) / 50 + half, "uniform").pvalue == pytest.approx(0.1, abs=0.01)
    rng = np.random.default_rng(0)
    u = np.sort(rng.random((4000, 50)), axis=1)
    k = np.arange(50)
    inside = (np.maximum((k + 1) / 50 - u, u - k / 50) <= half).all(axis=1)
    assert inside.mean() == pytest.approx(0.9, abs=0.015)


def test_the_band_of_the_histogram_holds_all_bins_together():
    forecast, y = sample(500)
    display = PITDisplay.from_predictions(forecast, y, n_bins=10, kind="histogram")
    low, high = band(display.ax_)[:, 1].min(), band(display.ax_)[:, 1].max()
    counts = np.random.default_rng(0).multinomial(500, np.full(10, 0.1), 4000) / 50
    inside = ((counts >= low - 1e-9) & (counts <= high + 1e-9)).all(axis=1)
    assert 0.945 <= inside.mean() <= 0.985


def test_both_pictures():
    forecast, y = sample()
    display = PITDisplay.from_predictions(forecast, y, name="wide")
    assert len(display.ax_) == 2
    np.testing.assert_array_equal(display.line_.get_xdata(), np.arange(1001) / 1000)
    texts = [text.get_text() for text in display.ax_[0].get_legend().get_texts()]
    assert texts == ["95 % band, n = 300", "wide", "Uniform"]


def test_several_forecasters():
    forecast, y = sample()
    first = PITDisplay.from_predictions(forecast, y, name="wide")
    second = PITDisplay.from_predictions(Normal(forecast.mu, 0.5), y, ax=first.ax_, name="narrow")
    assert len(band(first.ax_[0])) > 0  # one band only, since both have as many rows
    for get in ("get_color", "get_linestyle", "get_marker"):
        assert getattr(first.line_, get)() != getattr(second.line_, get)()
    assert first.histogram_.get_edgecolor() != second.histogram_.get_edgecolor()
    top = second.histogram_.get_data().values.max()
    assert first.ax_[0].get_ylim()[1] > top


def test_weights_count_as_repeated_rows_in_what_is_drawn():
    forecast, y = sample(40)
    weight = np.random.default_rng(0).integers(0, 4, 40)
    values = pit(forecast, y)
    weighted = PITDisplay(values, sample_weight=weight).plot(n_bins=5)
    repeated = PITDisplay(np.repeat(values, weight)).plot(n_bins=5)
    np.testing.assert_allclose(weighted.line_.get_ydata(), repeated.line_.get_ydata(), atol=1e-12)
    np.testing.assert_allclose(
        weighted.histogram_.get_data().values, repeated.histogram_.get_data().values
    )


def test_equal_weights_have_the_band_of_their_rows():
    values = np.linspace(0.1, 0.9, 30)
    display = PITDisplay(values, sample_weight=np.full(30, 0.3)).plot(kind="ecdf")
    assert "95 % band, n = 30" in display.ax_.get_legend_handles_labels()[1]


def test_pits_of_steps():
    rng = np.random.default_rng(0)
    ensemble = Ensemble(rng.normal(size=(200, 10)))
    y = rng.normal(size=200)
    display = PITDisplay.from_predictions(ensemble, y, method="randomized", random_state=1)
    expected = pit(ensemble, y, method="randomized", random_state=1)
    np.testing.assert_array_equal(display.pit, expected)


def test_the_callers_axes_are_used():
    forecast, y = sample()
    figure, ax = plt.subplots()
    display = PITDisplay.from_predictions(forecast, y, kind="ecdf", ax=ax, color="k")
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.line_.get_color() == "k"
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "qq"}, "kind must be 'both', 'histogram', 'ecdf' or 'ecdf_difference', got 'qq'"),
        ({"n_bins": 2.5}, "n_bins must be an integer of at least 1, got 2.5"),
        ({"confidence_level": 1.0}, "confidence_level must be a number between 0 and 1"),
        ({"method": "top"}, "method must be one of value, mid, randomized"),
        ({"ax": "left"}, "ax must be a matplotlib Axes, got str"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        PITDisplay.from_predictions(*sample(), **options)


def test_bad_numbers():
    with pytest.raises(ValueError, match=r"pit\[1\] is 1.5, not a probability"):
        PITDisplay([0.5, 1.5])
    with pytest.raises(ValueError, match=r"pit has shape \(1, 2\)"):
        PITDisplay([[0.5, 0.5]])
    with pytest.raises(ValueError, match=r"pit has shape \(0,\)"):
        PITDisplay([])
    with pytest.raises(ValueError, match="sample_weight has 1 entries for 2 rows"):
        PITDisplay([0.5, 0.5], sample_weight=[1.0])
    with pytest.raises(ValueError, match="ax holds 1 axes for 2 panels"):
        PITDisplay([0.5, 0.5]).plot(plt.subplots()[1])
