"""Displays of forecasts take estimators that give distributions."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from calibrant import AverageRecalibration, pit
from calibrant.displays import PITDisplay, ReliabilityGapDisplay, ThresholdCalibrationDisplay
from calibrant.forecasts import Normal, as_forecast, from_return_std

DISPLAYS: dict[Any, dict[str, Any]] = {
    PITDisplay: {"n_bins": 5},
    ReliabilityGapDisplay: {"n_resamples": 0, "thresholds": [0.0, 1.0], "measure": "decision_loss"},
    ThresholdCalibrationDisplay: {"thresholds": [0.0, 1.0], "levels": [0.4, 0.6]},
}


def sample(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + rng.normal(size=n)


def drawn(display: Any) -> np.ndarray:
    """The numbers in the picture."""
    if isinstance(display, ThresholdCalibrationDisplay):
        return np.asarray(display.error.value)
    return np.asarray(display.line_.get_xydata())


@pytest.mark.parametrize("kind", DISPLAYS)
def test_from_estimator_is_from_predictions_of_its_forecast(kind: Any):
    X, y = sample()
    model = BayesianRidge().fit(X, y)
    display = kind.from_estimator(model, X, y, **DISPLAYS[kind])
    expected = kind.from_predictions(from_return_std(model, X), y, **DISPLAYS[kind])
    np.testing.assert_array_equal(drawn(display), drawn(expected))
    shown = display.ax_.ravel() if kind is PITDisplay else [display.ax_]
    texts = [shown[0].get_title(loc="left"), *shown[0].get_legend_handles_labels()[1]]
    assert any(text.startswith("BayesianRidge") for text in texts)
    assert kind.from_estimator(model, X, y, name="mine", **DISPLAYS[kind]).name == "mine"


def test_regressors_with_standard_deviations():
    X, y = sample()
    process = GaussianProcessRegressor(alpha=1.0).fit(X, y)
    mean, std = process.predict(X, return_std=True)
    display = PITDisplay.from_estimator(process, X, y)
    np.testing.assert_array_equal(display.pit, pit(Normal(mean, std), y))
    pipeline = make_pipeline(StandardScaler(), BayesianRidge()).fit(X, y)
    expected = pit(from_return_std(pipeline, X), y)
    np.testing.assert_array_equal(PITDisplay.from_estimator(pipeline, X, y).pit, expected)


def test_recalibrations():
    X, y = sample()
    forecast = Normal(X[:, 0], 2.0)
    average = AverageRecalibration().fit(forecast, y)
    display = PITDisplay.from_estimator(average, forecast, y)
    np.testing.assert_array_equal(display.pit, pit(average.transform(forecast), y))
    assert display.name == "AverageRecalibration"


class Boosting:
    """As NGBRegressor, by its interface."""

    def predict(self, X: Any) -> Any:
        return X[:, 0]

    def pred_dist(self, X: Any) -> Any:
        return Normal(self.predict(X), 1.5)


class Probabilistic:
    """As regressors of skpro."""

    def predict(self, X: Any) -> Any:
        return X[:, 0]

    def predict_proba(self, X: Any) -> Any:
        return Normal(self.predict(X), 1.5)


@pytest.mark.parametrize("model", [Boosting(), Probabilistic()])
def test_methods_of_other_libraries(model: Any):
    X, y = sample()
    display = PITDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(display.pit, pit(Normal(X[:, 0], 1.5), y))


def peer(module: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip(module.partition(".")[0])
        return importlib.import_module(module)


def test_ngboost():
    ngboost = peer("ngboost")
    X, y = sample()
    model = ngboost.NGBRegressor(n_estimators=5, verbose=False).fit(X, y)
    expected = pit(as_forecast(model.pred_dist(X)), y)
    np.testing.assert_array_equal(PITDisplay.from_estimator(model, X, y).pit, expected)


@pytest.mark.filterwarnings("ignore")
def test_skpro():
    residual, pandas = peer("skpro.regression.residual"), peer("pandas")
    X, y = sample()
    table = pandas.DataFrame(X, columns=["a", "b"])
    model = residual.ResidualDouble(Ridge()).fit(table, pandas.DataFrame({"y": y}))
    expected = pit(as_forecast(model.predict_proba(table)), y)
    np.testing.assert_array_equal(PITDisplay.from_estimator(model, table, y).pit, expected)


@pytest.mark.parametrize("kind", DISPLAYS)
def test_estimators_without_distributions(kind: Any):
    X, y = sample()
    with pytest.raises(ValueError, match=r"predict of Ridge does not take return_std=True: pass a"):
        kind.from_estimator(Ridge().fit(X, y), X, y)
    classes = GaussianNB().fit(X, y > 0)
    gives = "predict_proba of estimator GaussianNB gives no forecast: forecast is of type nd"
    with pytest.raises(ValueError, match=gives):
        kind.from_estimator(classes, X, y)
    with pytest.raises(ValueError, match="estimator object has no predict: use from_predictions"):
        kind.from_estimator(object(), X, y)
