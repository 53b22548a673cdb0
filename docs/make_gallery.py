"""Draw the pictures of docs/gallery.md into docs/images, from the data that come with calibrant.

Run it as `python docs/make_gallery.py`; it takes about a minute.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from PIL import Image

from calibrant import (
    AverageRecalibration,
    BetaCalibration,
    IsotonicCalibration,
    PlattScaling,
    TemperatureScaling,
    ThresholdRecalibration,
    decision_table,
)
from calibrant.datasets import load_cifar10, load_games, load_protein_forecasts
from calibrant.displays import (
    CalibratorDisplay,
    DecisionCurveDisplay,
    PITDisplay,
    ReliabilityDisplay,
    ReliabilityGapDisplay,
    ThresholdCalibrationDisplay,
)
from calibrant.transforms import inv_logit, logit, softmax

IMAGES = Path(__file__).parent / "images"
RESOLUTION = 144  # dots per inch: twice what a page shows
N_COLOURS = 200


def save(figure: Figure, name: str) -> None:
    """Write a picture with a small palette, which is a third of the size."""
    path = IMAGES / f"{name}.png"
    figure.savefig(path, dpi=RESOLUTION)
    plt.close(figure)
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def games() -> None:
    data = load_games()
    half = len(data.y_true) // 2
    past, later = slice(None, half), slice(half, None)
    display = ReliabilityDisplay.from_predictions(
        data.y_true[later], data.y_prob[later], name="FiveThirtyEight"
    )
    save(display.figure_, "reliability")

    platt = PlattScaling().fit(data.y_prob[past], data.y_true[past])
    display = ReliabilityDisplay.from_predictions(
        data.y_true[later], data.y_prob[later], name="As published"
    )
    ReliabilityDisplay.from_estimator(
        platt, data.y_prob[later], data.y_true[later], name="Platt scaling", ax=display.ax_
    )
    save(display.figure_, "reliability_models")

    published = data.y_prob[later]
    forecasts = {"FiveThirtyEight": published, "log-odds tripled": inv_logit(3 * logit(published))}
    figure, axes = plt.subplots(1, 2, figsize=(9.2, 4.2), layout="constrained")
    for ax, measure in zip(axes, ("net_benefit", "cost"), strict=True):
        for name, prob in forecasts.items():
            DecisionCurveDisplay.from_predictions(
                data.y_true[later], prob, name=name, measure=measure, ax=ax
            )
    save(figure, "decision_curve")

    display = CalibratorDisplay.from_estimator(
        IsotonicCalibration().fit(data.y_prob[past], data.y_true[past]),
        data.y_prob[past],
        data.y_true[past],
        name="isotonic",
    )
    beta = BetaCalibration().fit(data.y_prob[past], data.y_true[past])
    CalibratorDisplay.from_estimator(beta, name="beta", ax=display.ax_)
    save(display.figure_, "calibrator")


def images() -> None:
    validation, test = load_cifar10("validation"), load_cifar10("test")
    names = np.array(test.class_names)
    temperature = TemperatureScaling().fit(validation.logits, validation.y_true)
    before, after = softmax(test.logits.astype(float)), temperature.predict_proba(test.logits)
    display = ReliabilityDisplay.from_predictions(
        names[test.y_true], before, labels=names, name="DenseNet-40"
    )
    ReliabilityDisplay.from_predictions(
        names[test.y_true], after, labels=names, name="with temperature", ax=display.ax_
    )
    save(display.figure_, "reliability_classes")

    display = ReliabilityDisplay.from_predictions(
        test.y_true, after, kind="confidence", strategy="quantile", n_bins=12,
        band="confidence", name="with temperature",
    )  # fmt: skip
    save(display.figure_, "reliability_confidence")

    display = ReliabilityDisplay.from_predictions(
        test.y_true == 3, after[:, 3], strategy="quantile", n_bins=15, scale="logit",
        name="cat, with temperature",
    )  # fmt: skip
    save(display.figure_, "reliability_logit")


def proteins() -> None:
    validation, test = load_protein_forecasts("validation"), load_protein_forecasts("test")
    forecasts = {"network": test.forecast}
    for name, method in (
        ("average", AverageRecalibration()),
        ("threshold", ThresholdRecalibration()),
    ):
        fitted = method.fit(validation.forecast, validation.y)
        forecasts[name] = fitted.transform(test.forecast)

    display = PITDisplay.from_predictions(test.forecast, test.y, name="network")
    PITDisplay.from_predictions(
        forecasts["average"], test.y, name="average recalibration", ax=display.ax_
    )
    save(display.figure_, "pit")

    figure, axes = plt.subplots(1, 2, figsize=(10.4, 4.2), layout="constrained")
    for ax, name in zip(axes, ("network", "threshold"), strict=True):
        ThresholdCalibrationDisplay.from_predictions(
            forecasts[name][:2000], test.y[:2000], thresholds=30, ax=ax, vmax=0.15,
            name="Network" if name == "network" else "Threshold recalibration",
        )  # fmt: skip
    save(figure, "threshold_calibration")

    tables = {
        name: decision_table(forecast, test.y, n_resamples=199, random_state=0)
        for name, forecast in forecasts.items()
    }
    for by in ("threshold", "cost_ratio"):
        figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.0), layout="constrained")
        for ax, measure in zip(axes, ("reliability_gap", "decision_loss"), strict=True):
            for name, table in tables.items():
                ReliabilityGapDisplay.from_table(table, name=name, by=by, measure=measure, ax=ax)
        save(figure, f"reliability_gap_by_{by}")

    figure, axes = plt.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained", sharey=True)
    for ax, name in zip(axes, ("network", "threshold"), strict=True):
        ReliabilityGapDisplay.from_table(tables[name], name=name, measure="losses", ax=ax)
    save(figure, "decision_losses")


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    games()
    images()
    proteins()
    for path in sorted(IMAGES.glob("*.png")):
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
