"""The heat map of threshold calibration errors."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt

from calibrant import ThresholdCalibrationError, threshold_calibration_error
from calibrant.displays import ThresholdCalibrationDisplay
from calibrant.forecasts import Normal


def sample(shrunk: float = 0.9) -> tuple[Normal, np.ndarray]:
    rng = np.random.default_rng(0)
    mu = rng.normal(size=1500)
    return Normal(shrunk * mu, 1.0), mu + rng.normal(size=1500)


def some_error(**options: Any) -> ThresholdCalibrationError:
    return threshold_calibration_error(*sample(), thresholds=9, levels=7, **options)


def test_cells_are_signal_or_noise_or_blank():
    error = some_error()
    display = ThresholdCalibrationDisplay.from_error(error)
    value, null = error.value.T, error.null_quantile.T
    blank = np.isnan(value)
    noise = ~blank & (value <= null)
    signal = ~blank & (value > null)
    assert blank.any()
    assert noise.any()
    assert signal.any()
    drawn = display.mesh_.get_array()
    np.testing.assert_array_equal(~np.ma.getmaskarray(drawn), signal)
    np.testing.assert_array_equal(drawn.compressed(), value[signal])
    centres = np.array([[(y0, alpha) for y0 in error.thresholds] for alpha in error.levels])
    hatched = display.noise_.get_path().contains_points(centres.reshape(-1, 2))
    np.testing.assert_array_equal(hatched.reshape(noise.shape), noise)
    assert display.noise_.get_hatch() == "////"
    title = display.ax_.get_title(loc="left")
    assert title.startswith(f"Threshold calibration\nLargest {error.max:.3g}, mean")
    assert title.endswith("\nHatched: noise (95 %); blank: a group under 150 rows")


def test_hatched_cells_end_where_coloured_ones_would():
    error = dataclasses.replace(some_error(), value=np.zeros((9, 7)))
    display = ThresholdCalibrationDisplay.from_error(error)
    corners = display.mesh_.get_coordinates().reshape(-1, 2)
    extents = display.noise_.get_path().get_extents()
    np.testing.assert_array_equal(extents.min, corners.min(axis=0))
    np.testing.assert_array_equal(extents.max, corners.max(axis=0))


def test_files_do_not_grow_with_the_hatched_cells():
    def svg_of(n_thresholds: int) -> str:
        error = threshold_calibration_error(*sample(1.0), thresholds=n_thresholds, levels=20)
        assert (error.value <= error.null_quantile).sum() > 7 * n_thresholds
        buffer = io.StringIO()
        ThresholdCalibrationDisplay.from_error(error).figure_.savefig(buffer, format="svg")
        return buffer.getvalue()

    many = svg_of(40)
    assert many.count("<pattern") == many.count("fill: url(#") == 1
    assert len(many) < len(svg_of(10)) + 6_000


def test_cells_lie_around_thresholds_and_levels():
    error = some_error()
    display = ThresholdCalibrationDisplay.from_error(error)
    corners = display.mesh_.get_coordinates()
    np.testing.assert_allclose(
        (corners[0, 1:, 0] + corners[0, :-1, 0]) / 2, error.thresholds, atol=1e-9
    )
    np.testing.assert_allclose((corners[1:, 0, 1] + corners[:-1, 0, 1]) / 2, error.levels)


def test_unordered_thresholds_and_levels_are_put_in_order():
    thresholds, levels = np.array([0.5, -0.5, 0.0]), np.array([0.7, 0.4])
    error = threshold_calibration_error(*sample(), thresholds=thresholds, levels=levels)
    display = ThresholdCalibrationDisplay.from_error(error)
    expected = error.value[[1, 2, 0]][:, [1, 0]].T
    drawn = display.mesh_.get_array()
    shown = ~np.ma.getmaskarray(drawn)
    np.testing.assert_array_equal(drawn.compressed(), expected[shown])
    assert (np.diff(display.mesh_.get_coordinates()[0, :, 0]) > 0).all()


def test_from_predictions_passes_options_on():
    display = ThresholdCalibrationDisplay.from_predictions(
        *sample(), thresholds=[0.0], levels=[0.5], min_group_size=0, name="model"
    )
    expected = threshold_calibration_error(
        *sample(), thresholds=[0.0], levels=[0.5], min_group_size=0
    )
    assert display.error.value == expected.value
    assert display.mesh_.get_array().shape == (1, 1)
    assert display.ax_.get_title(loc="left").startswith("model\n")
    display.figure_.draw_without_rendering()


def test_everything_blank():
    error = some_error()
    empty = dataclasses.replace(error, value=np.full_like(error.value, np.nan))
    display = ThresholdCalibrationDisplay.from_error(empty)
    assert display.mesh_.get_array().mask.all()
    assert not len(display.noise_.get_path())
    display.figure_.draw_without_rendering()


def test_the_colour_scale():
    error = some_error()
    assert ThresholdCalibrationDisplay.from_error(error).mesh_.get_clim() == (0.0, error.max)
    display = ThresholdCalibrationDisplay.from_error(error, vmax=error.max / 2)
    assert display.mesh_.get_clim() == (0.0, error.max / 2)
    assert display.colorbar_.extend == "max"
    assert ThresholdCalibrationDisplay.from_error(error, vmax=1.0).colorbar_.extend == "neither"


def test_the_callers_axes_and_state_are_left_alone():
    figure, axes = plt.subplots(1, 2)
    plt.sca(axes[1])
    display = ThresholdCalibrationDisplay.from_error(some_error(), ax=axes[0])
    assert display.ax_ is axes[0]
    assert display.figure_ is figure
    assert plt.gca() is axes[1]


def test_bad_input():
    with pytest.raises(ValueError, match="error must be a ThresholdCalibrationError, got float"):
        ThresholdCalibrationDisplay.from_error(0.5)
    for vmax in (0.0, -1.0, "high", float("nan")):
        with pytest.raises(ValueError, match="vmax must be a positive number"):
            ThresholdCalibrationDisplay.from_error(some_error(), vmax=vmax)
    with pytest.raises(ValueError, match="ax must be a matplotlib Axes, got int"):
        ThresholdCalibrationDisplay.from_error(some_error(), ax=1)
