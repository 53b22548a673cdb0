"""Cross-validated calibration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold

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
)

BASES = {
    "platt": PlattScaling(),
    "beta": BetaCalibration(),
    "isotonic": IsotonicCalibration(),
    "histogram": HistogramBinning(),
    "temperature": TemperatureScaling(),
    "vector": VectorScaling(),
}


def splits_of(fold_id):
    """Pairs of training and test rows from recorded fold numbers."""
    fold_id = np.asarray(fold_id)
    return [
        (np.flatnonzero(fold_id != v), np.flatnonzero(fold_id == v)) for v in np.unique(fold_id)
    ]


def base_of(run):
    arguments = run["arguments"] or {}
    method = arguments.get("base_method", "platt") if run["method"] == "ovr" else run["method"]
    if method == "dirichlet":
        base = DirichletCalibration(lambda_=arguments["lambda"])
    elif "bins" in arguments:
        strategy = "quantile" if arguments.get("strategy") == "equal_freq" else "uniform"
        base = HistogramBinning(n_bins=arguments["bins"], strategy=strategy)
    else:
        base = BASES[method]
    return (OneVsRest(base), method) if run["method"] == "ovr" else (base, method)


TOLERANCE = {"isotonic": 1e-12, "histogram": 1e-12, "platt": 2e-6, "beta": 2e-6}


@pytest.mark.parametrize("run", range(6))
def test_binary_reference(reference, run):
    content = reference("cv")["binary"]
    inputs, run = content["inputs"], content["runs"][run]
    suffix = ("logit_p", "logit_p_new") if run["input"] == "logits" else ("p", "p_new")
    X, X_new = (inputs[key] for key in suffix)
    base, method = base_of(run)
    fitted = CrossValidated(base, cv=splits_of(run["fold_id"])).fit(X, inputs["y"])
    atol = TOLERANCE.get(method, 1e-6)
    np.testing.assert_allclose(fitted.oof_predictions_, run["oof_predictions"], rtol=0, atol=atol)
    np.testing.assert_allclose(fitted.predict_proba(X_new), run["pred_new"], rtol=0, atol=atol)
    assert (fitted.fold_id_ + 1).tolist() == run["fold_id"]


@pytest.mark.parametrize("run", range(6))
def test_multiclass_reference(reference, run):
    content = reference("cv")["multi"]
    inputs, run = content["inputs"], content["runs"][run]
    logits = run["method"] in ("temperature", "vector")
    X, X_new = (
        (inputs["logits"], inputs["logits_new"]) if logits else (inputs["p"], inputs["p_new"])
    )
    base, method = base_of(run)
    fitted = CrossValidated(base, cv=splits_of(run["fold_id"])).fit(X, inputs["y"])
    # The optimum itself where it is recorded: R's own optimiser stops early.
    oof = run.get("exact_oof_predictions", run["oof_predictions"])
    new = run.get("exact_pred_new", run["pred_new"])
    atol = TOLERANCE.get(method, 1e-6)
    np.testing.assert_allclose(fitted.oof_predictions_, oof, rtol=0, atol=atol)
    np.testing.assert_allclose(fitted.predict_proba(X_new), new, rtol=0, atol=atol)


def test_documentation_example(reference):
    (example,) = (e for e in reference("doc_examples")["examples"] if e["topic"] == "cal_cv")
    p, y = example["inputs"]["p"], example["inputs"]["y"]
    n_bins = example["inputs"]["bins"]
    splits = splits_of(example["fold_id"])
    fitted = CrossValidated(HistogramBinning(n_bins=n_bins), cv=splits).fit(p, y)
    expected = example["oof_predictions"]
    np.testing.assert_allclose(fitted.oof_predictions_, expected, rtol=0, atol=1e-12)
    ece = calibrant.ece(y, fitted.oof_predictions_, n_bins=n_bins)
    assert ece == pytest.approx(example["oof_ece"], abs=1e-12)


@pytest.fixture
def sample():
    rng = np.random.default_rng(8)
    p = rng.random(103)
    return p, (rng.random(103) < p**2).astype(int)


@pytest.fixture
def multiclass():
    rng = np.random.default_rng(9)
    prob = rng.dirichlet([1.0, 1.0, 1.0], 90)
    return prob, np.array(["ant", "bee", "cat"])[np.arange(90) % 3]


def test_folds_are_those_of_scikit_learn_and_each_is_predicted_by_the_others(sample):
    p, y = sample
    fitted = CrossValidated(PlattScaling(), cv=4, random_state=3).fit(p, y)
    folds = StratifiedKFold(4, shuffle=True, random_state=3).split(p, y)
    for v, (train, test) in enumerate(folds):
        assert (fitted.fold_id_[test] == v).all()
        alone = PlattScaling().fit(p[train], y[train])
        assert fitted.oof_predictions_[test].tolist() == alone.predict_proba(p[test]).tolist()
        again = fitted.calibrators_[v].predict_proba(p[test])
        assert again.tolist() == alone.predict_proba(p[test]).tolist()
    whole = PlattScaling().fit(p, y)
    assert fitted.predict_proba(p).tolist() == whole.predict_proba(p).tolist()


@settings(deadline=None, max_examples=20)
@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_every_row_is_in_one_stratified_fold(cv, seed):
    p = np.linspace(0, 1, 50)
    y = np.array(["no", "yes"])[(np.arange(50) % 5 == 0).astype(int)]
    fitted = CrossValidated(HistogramBinning(n_bins=3), cv=cv, random_state=seed).fit(p, y)
    assert sorted(set(fitted.fold_id_)) == list(range(cv))
    for label in ("no", "yes"):
        sizes = np.bincount(fitted.fold_id_[y == label], minlength=cv)
        assert sizes.max() - sizes.min() <= 1
    again = CrossValidated(HistogramBinning(n_bins=3), cv=cv, random_state=seed).fit(p, y)
    assert again.fold_id_.tolist() == fitted.fold_id_.tolist()
    assert again.oof_predictions_.tolist() == fitted.oof_predictions_.tolist()


def test_shapes(sample, multiclass):
    p, y = sample
    one = CrossValidated(BetaCalibration(), random_state=0).fit(p, y)
    assert one.oof_predictions_.shape == (103,)
    assert len(one.calibrators_) == 5
    two = CrossValidated(BetaCalibration(), random_state=0).fit(np.column_stack([1 - p, p]), y)
    np.testing.assert_array_equal(two.oof_predictions_[:, 1], one.oof_predictions_)
    np.testing.assert_array_equal(two.oof_predictions_[:, 0], 1 - one.oof_predictions_)
    assert (one.n_features_in_, two.n_features_in_) == (1, 2)
    prob, words = multiclass
    three = CrossValidated(OneVsRest(IsotonicCalibration()), cv=3, random_state=0).fit(prob, words)
    assert three.oof_predictions_.shape == (90, 3)
    np.testing.assert_allclose(three.oof_predictions_.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert three.classes_.tolist() == ["ant", "bee", "cat"]


def test_random_states(sample):
    p, y = sample

    def folds(random_state):
        return CrossValidated(PlattScaling(), random_state=random_state).fit(p, y).fold_id_.tolist()

    assert folds(1) == folds(1) != folds(2)
    assert folds(np.random.default_rng(1)) == folds(np.random.default_rng(1))
    generator = np.random.default_rng(1)
    assert folds(generator) != folds(generator)
    assert len(folds(None)) == 103


def test_splitters_and_iterables_of_splits(sample):
    p, y = sample
    splitter = KFold(3)
    by_object = CrossValidated(PlattScaling(), cv=splitter).fit(p, y)
    by_list = CrossValidated(PlattScaling(), cv=list(splitter.split(p))).fit(p, y)
    by_generator = CrossValidated(PlattScaling(), cv=splitter.split(p)).fit(p, y)
    for fitted in (by_list, by_generator):
        assert fitted.fold_id_.tolist() == by_object.fold_id_.tolist()
        assert fitted.oof_predictions_.tolist() == by_object.oof_predictions_.tolist()
    clone(by_list)


def test_weights_go_with_their_rows(sample):
    p, y = sample
    weight = np.random.default_rng(0).integers(0, 4, len(p))
    splits = splits_of(np.arange(len(p)) % 3)
    fitted = CrossValidated(IsotonicCalibration(), cv=splits).fit(p, y, sample_weight=weight)
    for train, test in splits:
        alone = IsotonicCalibration().fit(
            np.repeat(p[train], weight[train]), np.repeat(y[train], weight[train])
        )
        assert fitted.oof_predictions_[test].tolist() == alone.predict_proba(p[test]).tolist()
    whole = IsotonicCalibration().fit(np.repeat(p, weight), np.repeat(y, weight))
    assert fitted.predict_proba(p).tolist() == whole.predict_proba(p).tolist()


def test_labels_and_float32(multiclass):
    prob, words = multiclass
    order = ["cat", "ant", "bee"]
    columns = prob[:, [2, 0, 1]]
    base = OneVsRest(IsotonicCalibration())
    plain = CrossValidated(base, cv=3, random_state=0).fit(prob, words)
    named = CrossValidated(base, cv=list(splits_of(plain.fold_id_)))
    named.fit(columns, words, labels=order)
    assert named.classes_.tolist() == order
    np.testing.assert_allclose(named.oof_predictions_, plain.oof_predictions_[:, [2, 0, 1]])
    # Half precision sums to one only roughly: in a fold as in the whole.
    half = CrossValidated(DirichletCalibration(lambda_=1.0), cv=3).fit(prob.astype("f2"), words)
    assert half.oof_predictions_.shape == (90, 3)


def test_too_few_of_a_class_are_named(multiclass):
    prob, words = multiclass
    few = np.where(np.arange(90) < 88, np.where(words == "cat", "bee", words), "cat")
    with pytest.raises(ValueError, match="class 'cat' has 2 rows, fewer than the 5 folds"):
        CrossValidated(OneVsRest(PlattScaling())).fit(prob, few)


def test_a_class_absent_from_a_training_fold(multiclass):
    prob, words = multiclass
    together = splits_of(np.where(words == "cat", 0, 1 + np.arange(90) // 45))
    with pytest.raises(ValueError, match="training rows of fold 0: class 'cat' does not occur"):
        CrossValidated(OneVsRest(PlattScaling()), cv=together).fit(prob, words)
    with pytest.warns(ConvergenceWarning, match="upper bound"):
        fitted = CrossValidated(TemperatureScaling(), cv=together).fit(np.log(prob), words)
    assert np.isfinite(fitted.oof_predictions_).all()


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "cv must be an integer of at least 2, a splitter, or .*, got 1"),
        ([([0, 1], [2, 3])], "row 0 is in 0 test folds of cv"),
        ([([0, 1], [2, 3]), ([2, 3], [0, 1]), ([0, 1], [3])], "row 3 is in 2 test folds"),
        ([([0, 1, 2], [2, 3]), ([2, 3], [0, 1])], "fold 0 of cv trains on row 2, which it also"),
        ([([0, 1], [2, 4]), ([2, 3], [0, 1])], "fold 0 of cv names row 4, but the rows are 0 to 3"),
        ([([0, 1], [2, -1]), ([2, 3], [0, 1])], "fold 0 of cv names row -1"),
        ([([True, True, False, False], [2, 3])], "fold 0 of cv is given by an array of dtype bool"),
    ],
)
def test_bad_splits(cv, message):
    with pytest.raises(ValueError, match=message):
        CrossValidated(HistogramBinning(), cv=cv).fit([0.1, 0.6, 0.2, 0.9], [0, 1, 0, 1])


def test_bad_bases(multiclass):
    with pytest.raises(ValueError, match="base must be a calibrator, got"):
        CrossValidated(PlattScaling).fit([0.1, 0.6], [0, 1])
    with pytest.raises(ValueError, match="PlattScaling is for two classes, but X has 3 columns"):
        CrossValidated(PlattScaling()).fit(*multiclass)


def test_saving(sample, tmp_path):
    p, y = sample
    fitted = CrossValidated(HistogramBinning(n_bins=4), cv=3, random_state=0).fit(p, y)
    fitted.save(tmp_path / "cv.json")
    loaded = calibrant.load(tmp_path / "cv.json")
    assert loaded.predict_proba(p).tolist() == fitted.predict_proba(p).tolist()
    assert loaded.classes_.tolist() == [0, 1]
    assert (loaded.base.n_bins, loaded.cv, loaded.random_state) == (4, 3, 0)
    for options in ({"cv": KFold(3)}, {"random_state": np.random.default_rng(0)}):
        fitted = CrossValidated(HistogramBinning(n_bins=4), **options).fit(p, y)
        with pytest.raises(ValueError, match="save the attribute calibrator_ instead"):
            fitted.save(tmp_path / "no.json")
        assert not (tmp_path / "no.json").exists()
        fitted.calibrator_.save(tmp_path / "yes.json", overwrite=True)
