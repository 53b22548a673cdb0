"""Calibrators compared out of fold."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_softmax, softmax
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

import calibrant
from calibrant import (
    BetaCalibration,
    CrossValidated,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
    confidence_interval,
)
from calibrant.calibrators.base import Calibrator
from calibrant.selection import compare_calibrators

FEW = [TemperatureScaling(input="probability"), BetaCalibration(), HistogramBinning()]
FOLDS = list(StratifiedKFold(4).split(np.zeros(300), np.arange(300) % 2))


@pytest.fixture(scope="module")
def binary():
    """Overconfident forecasts."""
    rng = np.random.default_rng(0)
    z = 3 * rng.normal(size=300)
    return expit(z), (rng.random(300) < expit(z / 2)).astype(int), z


@pytest.fixture(scope="module")
def animals():
    """Overconfident forecasts of three classes: logits, and what happened."""
    rng = np.random.default_rng(1)
    z = 3 * rng.normal(size=(300, 3))
    codes = (rng.random((300, 1)) > softmax(z / 2, axis=1).cumsum(axis=1)).sum(axis=1)
    return z, np.array(["ant", "bee", "cat"])[codes], codes


def out_of_fold(calibrator, X, y, folds):
    predictions = np.empty(np.shape(X))
    for train, test in folds:
        predictions[test] = clone(calibrator).fit(X[train], y[train]).predict_proba(X[test])
    return predictions


def test_two_classes_by_hand(binary):
    p, y, _ = binary
    found = compare_calibrators(p, y, FEW, cv=FOLDS, random_state=0)
    oof = {"uncalibrated": p}
    for name, calibrator in zip(("temperature", "beta", "histogram"), FEW, strict=True):
        oof[name] = out_of_fold(calibrator, p, y, FOLDS)
        np.testing.assert_array_equal(found.predictions[name], oof[name])
        fitted = clone(calibrator).fit(p, y)
        np.testing.assert_array_equal(
            found.calibrators[name].predict_proba(p), fitted.predict_proba(p)
        )
    assert set(found.scores) == set(oof)
    metrics = {
        "log_loss": log_loss,
        "brier": lambda y, q: np.mean((q - y) ** 2),
        "ece": calibrant.ece,
    }
    for metric, function in metrics.items():
        values = {name: function(y, q) for name, q in oof.items()}
        for name, scores in found.scores.items():
            score = scores[metric]
            assert score.estimate == pytest.approx(values[name], rel=1e-12)
            difference = values[name] - values["uncalibrated"]
            assert score.minus_uncalibrated.estimate == pytest.approx(difference, abs=1e-12)
            difference = values[name] - min(values.values())
            assert score.minus_best.estimate == pytest.approx(difference, abs=1e-12)
    losses = {name: log_loss(y, q) for name, q in oof.items()}
    assert list(found.scores) == sorted(losses, key=losses.get)
    assert found.best == min(losses, key=losses.get)
    assert (found.n, found.n_folds, found.n_resamples) == (300, 4, 999)


def test_three_classes_by_hand(animals):
    z, y, codes = animals
    prob = softmax(z, axis=1)
    folds = list(KFold(3).split(z))
    candidates = {
        "temperature": (TemperatureScaling(), z),
        "vector": (VectorScaling(), z),
        "dirichlet": (DirichletCalibration(lambda_=0.01), prob),
        "ovr-platt": (OneVsRest(PlattScaling()), z),
        "ovr-beta": (OneVsRest(BetaCalibration()), prob),
    }
    found = compare_calibrators(
        z, y, [one for one, _ in candidates.values()], input="logit", cv=folds,
        metrics=["brier", "log_loss", "ece"], random_state=0, n_resamples=50,
    )  # fmt: skip
    for name, (calibrator, fed) in candidates.items():
        oof = out_of_fold(calibrator, fed, y, folds)
        np.testing.assert_allclose(found.predictions[name], oof, rtol=1e-9)
        scores = found.scores[name]
        brier = np.mean(((oof - np.eye(3)[codes]) ** 2).sum(axis=1))
        assert scores["brier"].estimate == pytest.approx(brier, rel=1e-9)
        assert scores["log_loss"].estimate == pytest.approx(log_loss(codes, oof), rel=1e-9)
        assert scores["ece"].estimate == pytest.approx(calibrant.ece(codes, oof), rel=1e-6)
    uncalibrated = found.scores["uncalibrated"]["log_loss"].estimate
    assert uncalibrated == pytest.approx(-log_softmax(z, axis=1)[range(300), codes].mean())
    assert found.classes.tolist() == ["ant", "bee", "cat"]
    briers = [scores["brier"].estimate for scores in found.scores.values()]
    assert briers == sorted(briers)


def test_intervals_are_those_of_a_paired_bootstrap(binary):
    """The same quantiles, up to chance, from resamples that are drawn by another generator."""
    p, y, _ = binary
    found = compare_calibrators(p, y, FEW, cv=FOLDS, random_state=0, n_resamples=4000)
    q = found.predictions["beta"]
    losses = -np.log(np.where(y == 1, q, 1 - q)) + np.log(np.where(y == 1, p, 1 - p))
    rng = np.random.default_rng(1)
    means = losses[rng.integers(300, size=(4000, 300))].mean(axis=1)
    difference = found.scores["beta"]["log_loss"].minus_uncalibrated
    se = losses.std() / np.sqrt(300)
    assert difference.standard_error == pytest.approx(se, rel=0.05)
    low, high = np.quantile(means, [0.025, 0.975])
    assert abs(difference.low - low) < 0.2 * se
    assert abs(difference.high - high) < 0.2 * se
    errors = []
    for _ in range(1000):
        rows = rng.integers(300, size=300)
        errors.append(calibrant.ece(y[rows], q[rows]) - calibrant.ece(y[rows], p[rows]))
    difference = found.scores["beta"]["ece"].minus_uncalibrated
    assert difference.standard_error == pytest.approx(np.std(errors), rel=0.1)
    low, high = np.quantile(errors, [0.025, 0.975])
    assert difference.low == pytest.approx(min(low, difference.estimate), abs=0.01)
    assert difference.high == pytest.approx(max(high, difference.estimate), abs=0.01)


def test_intervals_of_calibration_errors_are_those_of_confidence_interval(binary):
    p, y, _ = binary
    found = compare_calibrators(
        p, y, FEW, cv=FOLDS, metrics=["skce", "mce"], random_state=5, confidence_level=0.8
    )
    for metric in ("skce", "mce"):
        interval = confidence_interval(y, p, metric=metric, random_state=5, confidence_level=0.8)
        score = found.scores["uncalibrated"][metric]
        assert (score.estimate, score.low, score.high) == (
            interval.estimate, interval.low, interval.high,
        )  # fmt: skip


def test_a_weight_is_a_number_of_rows(binary):
    p, y, _ = binary
    weight = np.arange(300) % 4
    found = compare_calibrators(p, y, FEW, cv=FOLDS, sample_weight=weight, random_state=0)
    rows = np.repeat(np.arange(300), weight)
    place = np.repeat(np.arange(300), weight)
    folds = [
        (np.flatnonzero(np.isin(place, train)), np.flatnonzero(np.isin(place, test)))
        for train, test in FOLDS
    ]
    repeated = compare_calibrators(p[rows], y[rows], FEW, cv=folds, random_state=0)
    assert found.n == (weight > 0).sum()
    for name, scores in found.scores.items():
        for metric, score in scores.items():
            assert score.estimate == pytest.approx(repeated.scores[name][metric].estimate, rel=1e-6)


def test_default_candidates(binary, animals):
    p, y, z = binary
    found = compare_calibrators(p, y, random_state=0, n_resamples=10)
    names = {"uncalibrated", "platt", "temperature", "beta", "isotonic", "histogram"}
    assert set(found.scores) == names
    logits = compare_calibrators(z, y, input="logit", random_state=0, n_resamples=10)
    assert set(logits.scores) == names
    np.testing.assert_allclose(logits.predictions["uncalibrated"], p)
    for name in ("beta", "isotonic", "temperature"):
        np.testing.assert_allclose(logits.predictions[name], found.predictions[name], rtol=1e-6)
    prob = softmax(animals[0], axis=1)
    found = compare_calibrators(prob, animals[1], random_state=0, n_resamples=10)
    assert set(found.scores) == {
        "uncalibrated", "temperature", "vector", "dirichlet", "ovr-platt", "ovr-beta",
        "ovr-isotonic", "ovr-histogram",
    }  # fmt: skip


@pytest.mark.parametrize("input", ["probability", "logit"])
def test_two_columns_mean_the_same_as_one(binary, input):
    p, y, z = binary
    one, two = (p, np.column_stack([1 - p, p]))
    if input == "logit":
        one, two = z, np.column_stack([0.3 * z, 1.3 * z])
    first = compare_calibrators(one, y, input=input, random_state=0, n_resamples=20)
    second = compare_calibrators(two, y, input=input, random_state=0, n_resamples=20)
    for name, predictions in first.predictions.items():
        np.testing.assert_allclose(second.predictions[name], predictions, rtol=1e-6)
    assert second.recommended == first.recommended


def test_probabilities_reach_calibrators_of_logits(binary, animals):
    p, y, _ = binary
    found = compare_calibrators(
        p, y, [("logit", TemperatureScaling()), FEW[0]], cv=FOLDS, n_resamples=5, random_state=0
    )
    np.testing.assert_allclose(
        found.predictions["logit"], found.predictions["temperature"], rtol=1e-12
    )
    prob = softmax(animals[0], axis=1)
    pairs = [(kind(), kind(input="probability")) for kind in (TemperatureScaling, VectorScaling)]
    pairs.append((OneVsRest(pairs[0][0]), OneVsRest(pairs[0][1])))
    for logit, probability in pairs:
        found = compare_calibrators(
            prob, animals[1], [("first", logit), ("second", probability)],
            cv=4, n_resamples=5, random_state=0,
        )  # fmt: skip
        np.testing.assert_allclose(
            found.predictions["first"], found.predictions["second"], rtol=1e-9
        )


@settings(deadline=None, max_examples=15)
@given(st.permutations([0, 1, 2]), st.integers(0, 100))
def test_other_order_of_classes(new, seed):
    rng = np.random.default_rng(seed)
    z = 2 * rng.normal(size=(60, 3))
    y = np.concatenate([np.arange(3).repeat(4), rng.integers(0, 3, 48)])
    folds = list(StratifiedKFold(2).split(z, y))
    candidates = [TemperatureScaling(), OneVsRest(BetaCalibration())]
    options = {"input": "logit", "cv": folds, "random_state": 0, "n_resamples": 20}
    first = compare_calibrators(z, y, candidates, **options)
    moved = np.empty_like(z)
    moved[:, new] = z
    second = compare_calibrators(moved, np.array(new)[y], candidates, **options)
    for name, scores in first.scores.items():
        for metric, score in scores.items():
            other = second.scores[name][metric].estimate
            assert other == pytest.approx(score.estimate, rel=1e-5, abs=1e-9)


def test_rows_in_another_order(binary):
    p, y, _ = binary
    order = np.random.default_rng(3).permutation(300)
    back = np.argsort(order)
    first = compare_calibrators(p, y, cv=FOLDS, random_state=0)
    folds = [(back[train], back[test]) for train, test in FOLDS]
    second = compare_calibrators(p[order], y[order], cv=folds, random_state=0)
    assert list(second.scores) == list(first.scores)
    for name, predictions in first.predictions.items():
        np.testing.assert_allclose(second.predictions[name], predictions[order], rtol=1e-9)


@pytest.mark.parametrize("labels", ["text", "shifted", "bool", "categories"])
def test_labels_of_any_kind(binary, labels):
    p, y, _ = binary
    given = {
        "text": np.array(["no", "yes"])[y], "shifted": y + 5, "bool": y == 1,
        "categories": pd.Series(np.array(["no", "yes"])[y]).astype("category"),
    }[labels]  # fmt: skip
    first = compare_calibrators(p, y, FEW, random_state=0)
    second = compare_calibrators(p, given, FEW, random_state=0)
    assert {**second.to_dict(), "classes": None} == {**first.to_dict(), "classes": None}
    assert second.classes.tolist() == np.unique(np.asarray(given)).tolist()


def test_data_frames_and_labels(animals):
    z, y, _ = animals
    first = compare_calibrators(z, y, [VectorScaling()], input="logit", random_state=0)
    order = ["cat", "ant", "bee"]
    columns = [2, 0, 1]
    frame = pl.DataFrame({name: z[:, k] for name, k in zip(order, columns, strict=True)})
    for X, labels in ((frame, None), (z[:, columns], order)):
        second = compare_calibrators(
            X, pl.Series(y), [VectorScaling()], input="logit", labels=labels, random_state=0
        )
        assert second.classes.tolist() == order
        np.testing.assert_allclose(
            second.predictions["vector"], first.predictions["vector"][:, columns], rtol=1e-6
        )


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_coarse_numbers(animals, dtype):
    prob = softmax(animals[0], axis=1).astype(dtype)
    found = compare_calibrators(
        prob, animals[1], [DirichletCalibration(lambda_=0.01)], random_state=0
    )
    assert found.failures == {}


def test_the_seed_decides(binary):
    p, y, _ = binary
    found = compare_calibrators(p, y, FEW, random_state=3)
    assert compare_calibrators(p, y, FEW, random_state=3) == found
    assert compare_calibrators(p, y, FEW, random_state=4) != found
    cross = CrossValidated(BetaCalibration(), random_state=3).fit(p, y)
    np.testing.assert_array_equal(found.predictions["beta"], cross.oof_predictions_)
    first, second = (
        compare_calibrators(p, y, FEW, random_state=np.random.default_rng(7)) for _ in range(2)
    )
    assert first == second


def test_all_candidates_are_on_the_same_folds(binary):
    p, y, _ = binary
    twice = [("one", BetaCalibration()), ("two", BetaCalibration())]
    groups = np.arange(300) % 7
    for cv in (
        3,
        StratifiedKFold(3, shuffle=True),
        iter(FOLDS),
        GroupKFold(3).split(p, y, groups),
    ):
        found = compare_calibrators(p, y, twice, cv=cv, n_resamples=5)
        np.testing.assert_array_equal(found.predictions["one"], found.predictions["two"])


def test_better_is_said_only_when_it_is():
    """Calibrated predictions: there is nothing to gain, and nothing is claimed."""
    claims = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = rng.random(200)
        y = rng.random(200) < p
        found = compare_calibrators(p, y, metrics=["log_loss"], n_resamples=199, random_state=seed)
        claims += bool(found.better)
        assert "is better" not in found.interpretation or found.recommended in found.better
    assert claims <= 1


def test_what_is_recommended(binary):
    p, y, _ = binary
    order = ["uncalibrated", "temperature", "platt", "beta", "histogram", "isotonic"]
    for seed in range(5):
        found = compare_calibrators(p, y, random_state=seed, metrics=["brier", "log_loss"])
        near = [
            name
            for name in order
            if (score := found.scores[name]["brier"].minus_best).estimate <= score.standard_error
        ]
        assert found.recommended == near[0]
        assert found.best == min(order, key=lambda name: found.scores[name]["brier"].estimate)


class Daring(Calibrator):
    """All or nothing, by whether the probability is above one half."""

    def _fit(self, scores, codes, weight):
        pass

    def _predict(self, scores):
        return (scores > 0.5).astype(float)


class Constant(Daring):
    def _predict(self, scores):
        return np.full(len(scores), 0.7)


def test_noise_alone_does_not_recommend_what_is_worse_than_no_calibration():
    y = np.repeat([1, 0], [42, 18])
    right = np.ones(60, dtype=bool)
    right[::4] = right[1] = False
    p = np.where(right == (y == 1), 0.5001, 0.4999)
    found = compare_calibrators(
        p, y, [("daring", Daring()), ("constant", Constant())], metrics=["brier"], random_state=0
    )
    scores = {name: score["brier"] for name, score in found.scores.items()}
    # Within its own, large standard error of the best, while no calibration is not.
    daring, plain = scores["daring"], scores["uncalibrated"]
    assert daring.minus_best.estimate <= daring.minus_best.standard_error
    assert plain.minus_best.estimate > plain.minus_best.standard_error
    assert daring.estimate > plain.estimate
    assert found.recommended == "constant"


@pytest.fixture
def never():
    """Forecasts that are calibrated, but for one event that was said to be impossible."""
    p = np.repeat([0.0, 0.2, 0.5, 0.8], 100)
    y = np.tile(np.arange(100), 4) < 100 * p
    y[50] = True
    return p, y


def test_zero_for_what_happened_is_not_recommended(never):
    p, y = never
    cautious = ("cautious", PlattScaling())
    found = compare_calibrators(p, y, [cautious], random_state=0)
    score = found.scores["uncalibrated"]["log_loss"]
    # It is only one row, so that the rule of one standard error alone would not mind.
    assert 0 < score.minus_best.estimate < score.minus_best.standard_error * 1.2
    assert found.surely_wrong == ("uncalibrated",)
    assert found.recommended == found.best == "cautious"
    assert found.to_dict()["surely_wrong"] == ["uncalibrated"]
    # The Brier score is not infinite.
    found = compare_calibrators(p, y, [cautious], metrics=["brier"], random_state=0)
    assert found.recommended == "uncalibrated"


def test_infinite_losses_come_last_even_where_clipping_makes_them_lower(never):
    p, y = never
    found = compare_calibrators(p, y, [("coarse", HistogramBinning(n_bins=1))], random_state=0)
    losses = {name: scores["log_loss"].estimate for name, scores in found.scores.items()}
    assert losses["uncalibrated"] < losses["coarse"]
    assert list(losses) == ["coarse", "uncalibrated"]
    assert found.recommended == "coarse"
    assert found.interpretation == (
        "The predictions as they are gave something that happened a probability of zero, so that "
        "their log loss is infinite: coarse is safer."
    )


def test_infinite_losses_are_marked(never):
    p, y = never
    lines = str(compare_calibrators(p, y, [PlattScaling()], random_state=0)).splitlines()
    heads = [line.split()[0] for line in lines if line]
    assert "uncalibrated!" in heads
    assert "is infinite" in " ".join(lines)
    # Of the Brier score, nothing is infinite.
    assert heads.count("uncalibrated!") == 1
    log_loss = lines.index(next(line for line in lines if line.startswith("log_loss")))
    assert [line.split()[0] for line in lines[log_loss + 1 :][:2]] == ["platt*", "uncalibrated!"]


def test_all_surely_wrong():
    p = np.repeat([0.0, 1.0], 50)
    y = p == 1
    y[[0, 99]] = [True, False]
    found = compare_calibrators(p, y, [IsotonicCalibration()], cv=[
        (np.arange(1, 99), np.array([0, 99])), (np.array([0, 99]), np.arange(1, 99)),
    ], random_state=0)  # fmt: skip
    assert set(found.surely_wrong) == {"uncalibrated", "isotonic"}
    assert found.recommended == "uncalibrated"


def test_dirichlet_needs_rows(animals):
    z, y, _ = animals
    prob = softmax(z, axis=1)
    many = compare_calibrators(prob[:120], y[:120], random_state=0, n_resamples=9)
    assert many.failures == {}
    few = compare_calibrators(prob[:119], y[:119], random_state=0, n_resamples=9)
    assert few.failures == {
        "dirichlet": "left out, as 119 rows are fewer than 10 for each of its 12 parameters: name "
        "it in calibrators to fit it all the same."
    }
    assert "dirichlet" not in few.scores
    weight = np.arange(300) < 119
    assert (
        "dirichlet"
        in compare_calibrators(
            prob, y, sample_weight=weight, random_state=0, n_resamples=9
        ).failures
    )
    named = compare_calibrators(
        prob[:119], y[:119], [DirichletCalibration()], random_state=0, n_resamples=9
    )
    assert named.failures == {}


def test_order_of_simplicity(animals, monkeypatch):
    """Candidates that all predict the frequencies differ by simplicity only."""
    z, y, _ = animals
    z = np.zeros_like(z)
    simplest_first = [
        TemperatureScaling(), OneVsRest(PlattScaling()), VectorScaling(),
        OneVsRest(BetaCalibration()), OneVsRest(HistogramBinning()),
        OneVsRest(IsotonicCalibration()),
        DirichletCalibration(),
    ]  # fmt: skip

    def fit(self, X, y, **_):
        self.classes_, self.n_features_in_ = np.unique(y), 3
        return self

    def predict_proba(self, X):
        return np.tile([0.5, 0.3, 0.2], (len(X), 1))

    for kind in {type(calibrator) for calibrator in simplest_first}:
        monkeypatch.setattr(kind, "fit", fit)
        monkeypatch.setattr(kind, "predict_proba", predict_proba)
    y = np.repeat(["ant", "bee", "cat"], [150, 90, 60])
    for k in range(len(simplest_first)):
        found = compare_calibrators(
            z, y, simplest_first[k:][::-1], input="logit", n_resamples=19, random_state=0
        )
        assert found.recommended == next(iter(found.scores)) == method_name(simplest_first[k])


def method_name(calibrator):
    if isinstance(calibrator, OneVsRest):
        return f"ovr-{method_name(calibrator.base)}"
    return (
        type(calibrator)
        .__name__.replace("Scaling", "")
        .replace("Calibration", "")
        .replace("Binning", "")
        .lower()
    )


def test_a_candidate_that_fails_says_why(animals):
    z, y, _ = animals
    candidates = [VectorScaling(), PlattScaling(), ("mine", OneVsRest(BetaCalibration()))]
    found = compare_calibrators(z, y, candidates, input="logit", random_state=0, n_resamples=20)
    assert set(found.failures) == {"platt"}
    reason = found.failures["platt"]
    assert "PlattScaling is for two classes, but X has 3 columns" in reason
    assert set(found.scores) == set(found.predictions) == {"uncalibrated", "vector", "mine"}
    assert "platt was not fitted: PlattScaling is for two" in " ".join(repr(found).split())
    frame = found.to_frame("pandas")
    last = frame.iloc[-1]
    assert (last["calibrator"], last["failure"]) == ("platt", reason)
    assert np.isnan(last["estimate"])
    assert found.to_dict()["failures"] == {"platt": reason}


def test_warnings_become_notes(animals):
    z, y, codes = animals
    z = z + 50 * np.eye(3)[codes]  # the most likely class is always right
    found = compare_calibrators(z, y, [TemperatureScaling()], input="logit", random_state=0)
    assert "temperature is at its lower bound" in found.notes["temperature"][0]


def test_frame_dict_and_text(binary):
    p, y, _ = binary
    found = compare_calibrators(p, y, [*FEW, ("a name that goes on for ever", PlattScaling())])
    frame = found.to_frame("polars")
    assert frame.columns[:5] == ["calibrator", "metric", "estimate", "low", "high"]
    assert frame.height == 5 * 3
    row = frame.row(by_predicate=(pl.col("calibrator") == "beta") & (pl.col("metric") == "ece"),
                    named=True)  # fmt: skip
    score = found.scores["beta"]["ece"]
    assert row["estimate"] == score.estimate
    assert row["minus_uncalibrated_high"] == score.minus_uncalibrated.high
    assert row["minus_best_standard_error"] == score.minus_best.standard_error
    assert frame.filter("recommended")["calibrator"].unique().to_list() == [found.recommended]
    content = json.loads(json.dumps(found.to_dict()))
    assert content["scores"]["beta"]["ece"]["minus_best"]["low"] == score.minus_best.low
    assert content["recommended"] == found.recommended
    lines = repr(found).splitlines()
    assert max(map(len, lines)) <= 80
    assert found.interpretation in " ".join(repr(found).split())
    for metric in found.metrics:
        block = lines.index(next(line for line in lines if line.startswith(metric)))
        shown = [line.split()[0].rstrip("*") for line in lines[block + 1 : block + 6]]
        ranked = sorted(found.scores, key=lambda name: found.scores[name][metric].estimate)
        assert [name[:5] for name in shown] == [name.split()[0][:5] for name in ranked]


def test_sentences():
    rng = np.random.default_rng(0)
    z = 4 * rng.normal(size=1000)
    y = rng.random(1000) < expit(z / 4)
    found = compare_calibrators(expit(z), y, random_state=0)
    gain = found.scores[found.recommended]["log_loss"].minus_uncalibrated
    assert found.interpretation.startswith(
        f"{found.recommended} is better than no calibration: it lowers the log loss by "
        f"{-gain.estimate:.3g} (95 % interval {-gain.high:.3g} to {-gain.low:.3g})."
    )
    assert found.recommended in found.better
    # Frequencies that are the predictions exactly: there is nothing to gain.
    p = np.repeat([0.2, 0.4, 0.5, 0.6, 0.8], 20)
    y = np.tile(np.arange(20), 5) < 20 * p
    found = compare_calibrators(p, y, random_state=0)
    assert (found.best, found.better) == ("uncalibrated", ())
    assert found.interpretation == (
        "No calibrator has a lower log loss than the predictions as they are: keep these."
    )


def test_progress(binary):
    p, y, _ = binary
    calls = []
    compare_calibrators(p, y, FEW, n_resamples=9, progress=lambda *call: calls.append(call))
    assert calls == [(k, 6) for k in range(1, 7)]


@pytest.mark.parametrize(("options", "message"), [
    ({"input": "odds"}, "input must be 'logit' or 'probability', got 'odds'"),
    ({"metrics": "ece"}, r"metrics must be a list such as \['log_loss'\], got 'ece'"),
    ({"metrics": []}, r"metrics must be a list such as \['log_loss'\], got \[\]"),
    ({"metrics": ["ece", "auc"]}, r"metrics\[1\] must be one of 'log_loss', 'brier', .* got 'auc'"),
    ({"calibrators": []}, "calibrators is empty"),
    ({"calibrators": BetaCalibration()}, "calibrators must be None, or a list of calibrators"),
    ({"calibrators": [BetaCalibration]}, r"calibrators\[0\] is <class .* it must be an instance"),
    ({"calibrators": ["beta"]}, r"calibrators\[0\] is 'beta': it must be an instance"),
    ({"calibrators": [BetaCalibration(), BetaCalibration()]},
     r"calibrators\[1\] is the second one called 'beta'"),
    ({"calibrators": [("uncalibrated", BetaCalibration())]},
     r"calibrators\[0\] is called 'uncalibrated', the name of the predictions as they are"),
    ({"cv": 1}, "no calibrator can be compared on these folds: cv must be an integer of at least"),
    ({"cv": "five"}, "no calibrator can be compared on these folds: cv must be"),
    ({"cv": 200}, "no calibrator can be compared on these folds: class . has .* rows, fewer than"),
    ({"confidence_level": 95}, "confidence_level must be a number between 0 and 1"),
    ({"n_resamples": 0}, "n_resamples must be an integer of at least 1"),
    ({"random_state": -1}, "random_state must be None, a non-negative integer"),
    ({"sample_weight": [1.0]}, "sample_weight has 1 entries for 300 rows"),
    ({"labels": ["a", "b"]}, r"y\[0\] is .*, which is not among the labels"),
])  # fmt: skip
def test_bad_arguments(binary, options, message):
    p, y, _ = binary
    with pytest.raises(ValueError, match=message):
        compare_calibrators(p, y, **options)


def test_bad_data(binary):
    p, y, z = binary
    with pytest.raises(ValueError, match=r"X\[\d+\] is .*, not a probability"):
        compare_calibrators(z, y)
    with pytest.raises(ValueError, match="X has 299 rows but y has 300"):
        compare_calibrators(p[1:], y)
    with pytest.raises(ValueError, match=r"X\[0\] is nan, not a score"):
        compare_calibrators([np.nan, 1.0], [0, 1], input="logit")


def test_progress_is_looked_at_before_anything_is_fitted(binary):
    p, y, _ = binary
    with pytest.raises(ValueError, match="progress must be None or a function, got 3"):
        compare_calibrators(p, y, progress=3)
