"""Any scikit-learn classifier with calibrated probabilities."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.special import expit, log_softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from calibrant import (
    BetaCalibration,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from calibrant.classifier import CalibratedClassifier
from calibrant.selection import AutoCalibration

DATA = {"cancer": load_breast_cancer, "wine": load_wine, "digits": load_digits}
RELABEL = {
    "as they are": lambda y: y,
    "text": lambda y: np.array([f"class {k}" for k in range(10)])[y],
    "objects": lambda y: np.array([f"class {k}" for k in range(10)], dtype=object)[y],
    "shifted": lambda y: 3 * y - 7,
}
PEERS = {
    "sigmoid": PlattScaling(),
    "isotonic": IsotonicCalibration(),
    "temperature": TemperatureScaling(),
}


class Forest(RandomForestClassifier):
    """Sure of nothing: scikit-learn's temperature scaling adds 1e-12 to probabilities."""

    def predict_proba(self, X):
        return 0.98 * super().predict_proba(X) + 0.02 / len(self.classes_)


CLASSIFIERS = {
    "svm": make_pipeline(StandardScaler(), LinearSVC(random_state=0)),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(C=0.02)),
    "forest": Forest(20, random_state=0),
}


@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("method", PEERS)
@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize(("data", "labels"), [
    ("cancer", "as they are"), ("cancer", "shifted"), ("wine", "text"), ("digits", "objects"),
])  # fmt: skip
def test_what_scikit_learn_gives(data, labels, classifier, method, ensemble):
    X, y = DATA[data](return_X_y=True)
    X, X_new, y, _ = train_test_split(X, y, random_state=0)
    X, y = X[:400], y[:400].copy()
    y[::9] = y[1::9][: len(y[::9])]  # so that classes cannot be told apart for certain
    base = CLASSIFIERS[classifier]
    theirs = CalibratedClassifierCV(base, method=method, cv=3, ensemble=ensemble)
    # Its temperature scaling takes integers for the numbers of columns, so they are not relabelled.
    taken = y if labels == "shifted" and method == "temperature" else RELABEL[labels](y)
    expected = theirs.fit(X, taken).predict_proba(X_new)
    ours = CalibratedClassifier(base, PEERS[method], cv=3, ensemble=ensemble)
    ours.fit(X, RELABEL[labels](y))
    atol = 1e-12 if method == "isotonic" else 1e-6
    np.testing.assert_allclose(ours.predict_proba(X_new), expected, rtol=0, atol=atol)
    np.testing.assert_array_equal(ours.classes_, np.unique(RELABEL[labels](y)))


def test_the_defaults_of_scikit_learn():
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[:, :3], y.copy()
    y[::9] = 0
    weight = np.linspace(0.5, 2.0, len(y))
    theirs = CalibratedClassifierCV().fit(X, y, sample_weight=weight)
    ours = CalibratedClassifier(ensemble="auto").fit(X, y, sample_weight=weight)
    assert len(ours.calibrated_classifiers_) == 5
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-6)
    frozen = FrozenEstimator(GaussianNB().fit(X, y))
    ours = CalibratedClassifier(frozen, IsotonicCalibration(), ensemble="auto").fit(X, y)
    theirs = CalibratedClassifierCV(frozen, method="isotonic").fit(X, y)
    assert len(ours.calibrated_classifiers_) == 1
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-12)


def held_out(base, X, y, method, n_folds=4):
    """Out-of-fold responses by a loop, and the classifier on all rows."""
    values = [None] * len(y)
    for train, test in StratifiedKFold(n_folds).split(X, y):
        response = getattr(clone(base).fit(X[train], y[train]), method)(X[test])
        for row, value in zip(test, response, strict=True):
            values[row] = value
    return np.array(values), clone(base).fit(X, y)


@pytest.fixture(scope="module")
def three():
    X, y = make_classification(
        600, n_informative=6, n_classes=3, class_sep=0.7, flip_y=0.1, random_state=0
    )
    return X[:400], y[:400], X[400:], y[400:]


@pytest.fixture(scope="module")
def two():
    X, y = make_classification(600, n_informative=4, class_sep=0.5, flip_y=0.1, random_state=1)
    return X[:400], y[:400], X[400:], y[400:]


TREE = DecisionTreeClassifier(max_depth=4, random_state=0)


@pytest.mark.parametrize(("calibrator", "fed"), [
    (BetaCalibration(), lambda p: p[:, 1]),
    (HistogramBinning(), lambda p: p[:, 1]),
    (TemperatureScaling(input="probability"), lambda p: p[:, 1]),
    (DirichletCalibration(lambda_=0.01), lambda p: p),
    (OneVsRest(PlattScaling()), lambda p: p),
    (AutoCalibration(random_state=0), lambda p: p[:, 1]),
], ids=lambda value: type(value).__name__)  # fmt: skip
def test_two_classes_by_hand(two, calibrator, fed):
    X, y, X_new, _ = two
    oof, final = held_out(TREE, X, y, "predict_proba")
    expected = clone(calibrator).fit(fed(oof), y).predict_proba(fed(final.predict_proba(X_new)))
    if expected.ndim == 1:
        expected = np.column_stack([1 - expected, expected])
    found = CalibratedClassifier(TREE, calibrator, cv=4).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X_new), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("calibrator", "twin", "fed"), [
    (BetaCalibration(), BetaCalibration(), expit),
    (PlattScaling(), PlattScaling(), lambda d: d),
    (VectorScaling(), VectorScaling(), lambda d: np.column_stack([-d / 2, d / 2])),
    (OneVsRest(HistogramBinning()), OneVsRest(HistogramBinning()),
     lambda d: expit(np.column_stack([-d, d]))),
], ids=lambda value: type(value).__name__)  # fmt: skip
def test_decision_values_of_two_classes_by_hand(two, calibrator, twin, fed):
    X, y, X_new, _ = two
    base = LinearSVC(random_state=0)
    oof, final = held_out(base, X, y, "decision_function")
    expected = twin.fit(fed(oof), y).predict_proba(fed(final.decision_function(X_new)))
    if expected.ndim == 1:
        expected = np.column_stack([1 - expected, expected])
    found = CalibratedClassifier(base, calibrator, cv=4).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X_new), expected, rtol=1e-10)


@pytest.mark.parametrize(("calibrator", "method", "response", "twin", "fed"), [
    (PlattScaling(), "auto", "decision_function", OneVsRest(PlattScaling()), lambda d: d),
    (VectorScaling(), "auto", "decision_function", VectorScaling(), lambda d: d),
    (BetaCalibration(), "auto", "predict_proba", OneVsRest(BetaCalibration()), lambda p: p),
    (DirichletCalibration(lambda_=0.01), "decision_function", "decision_function",
     DirichletCalibration(lambda_=0.01), lambda d: np.exp(log_softmax(d, axis=1))),
    (HistogramBinning(), "decision_function", "decision_function", OneVsRest(HistogramBinning()),
     expit),
    (TemperatureScaling(), "predict_proba", "predict_proba",
     TemperatureScaling(input="probability"), lambda p: p),
    (OneVsRest(TemperatureScaling()), "predict_proba", "predict_proba",
     OneVsRest(TemperatureScaling(input="probability")), lambda p: p),
])  # fmt: skip
def test_three_classes_by_hand(three, calibrator, method, response, twin, fed):
    X, y, X_new, _ = three
    base = LogisticRegression()
    oof, final = held_out(base, X, y, response)
    expected = twin.fit(fed(oof), y).predict_proba(fed(getattr(final, response)(X_new)))
    found = CalibratedClassifier(base, calibrator, cv=4, method=method).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X_new), expected, rtol=1e-9, atol=1e-15)


def test_an_ensemble_averages_its_pairs(three):
    X, y, X_new, _ = three
    model = CalibratedClassifier(GaussianNB(), BetaCalibration(), cv=KFold(3), ensemble=True)
    expected = 0
    for train, test in KFold(3).split(X):
        base = GaussianNB().fit(X[train], y[train])
        beta = OneVsRest(BetaCalibration()).fit(base.predict_proba(X[test]), y[test])
        expected = expected + beta.predict_proba(base.predict_proba(X_new)) / 3
    np.testing.assert_allclose(model.fit(X, y).predict_proba(X_new), expected, rtol=1e-12)
    assert len(model.calibrated_classifiers_) == 3


def test_any_kind_of_label_means_the_same(three):
    X, y, X_new, _ = three
    model = CalibratedClassifier(GaussianNB(), BetaCalibration())
    expected = model.fit(X, y).predict_proba(X_new)
    names = np.array(["ant", "bee", "cat"])
    for labels in (
        names[y],
        names[y].tolist(),
        pd.Series(names[y]).astype("category"),
        pd.Series(y, dtype="Int64"),
        y.astype(np.uint8) + 100,
        y - 5.0,
    ):
        model.fit(X, labels)
        np.testing.assert_array_equal(model.predict_proba(X_new), expected)
        np.testing.assert_array_equal(model.classes_, np.unique(np.asarray(labels)))
        predicted = model.predict(X_new)
        np.testing.assert_array_equal(predicted, model.classes_[expected.argmax(axis=1)])


def test_booleans(two):
    X, y, X_new, _ = two
    model = CalibratedClassifier(GaussianNB(), TemperatureScaling()).fit(X, y == 1)
    assert model.classes_.tolist() == [False, True]
    expected = clone(model).fit(X, y).predict_proba(X_new)
    np.testing.assert_array_equal(model.predict_proba(X_new), expected)


@pytest.mark.parametrize("calibrator", [
    None, BetaCalibration(), TemperatureScaling(), VectorScaling(), IsotonicCalibration(),
], ids=lambda value: type(value).__name__)  # fmt: skip
def test_other_order_of_classes(three, calibrator):
    X, y, X_new, _ = three
    new = np.array([2, 0, 1])
    model = CalibratedClassifier(GaussianNB(), calibrator, cv=KFold(5))
    first = model.fit(X, y).predict_proba(X_new)
    second = model.fit(X, new[y]).predict_proba(X_new)
    np.testing.assert_allclose(second[:, new], first, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("base", [TREE, LinearSVC(random_state=0), LogisticRegression()])
@pytest.mark.parametrize("calibrator", [
    None, BetaCalibration(), IsotonicCalibration(), TemperatureScaling(), VectorScaling(),
    DirichletCalibration(lambda_=0.1), AutoCalibration(cv=2, random_state=0),
], ids=lambda value: type(value).__name__)  # fmt: skip
@pytest.mark.filterwarnings("ignore:VectorScaling stopped")
def test_a_class_missing_from_a_fold(three, base, calibrator, ensemble):
    X, y, X_new, _ = three
    y = np.array(["a", "b", "c", "rare"])[y]
    y[:6] = "rare"  # all in the first fold
    model = CalibratedClassifier(base, calibrator, cv=KFold(4), ensemble=ensemble).fit(X, y)
    prob = model.predict_proba(X_new)
    assert model.classes_.tolist() == ["a", "b", "c", "rare"]
    assert prob.shape == (200, 4)
    assert (prob >= 0).all()
    np.testing.assert_allclose(prob.sum(axis=1), 1, rtol=1e-12)


def test_the_mass_of_a_missing_class(three):
    X, y, X_new, _ = three
    y = y.copy()
    y[:6] = 3
    model = CalibratedClassifier(TREE, BetaCalibration(), cv=KFold(4)).fit(X, y)
    kept = slice(6, None)
    oof = np.empty((len(y), 3))
    for train, test in KFold(4).split(X):
        prob = clone(TREE).fit(X[train], y[train]).predict_proba(X[test])[:, :3]
        oof[test] = prob / prob.sum(axis=1, keepdims=True)
    beta = OneVsRest(BetaCalibration()).fit(oof[kept], y[kept])
    own = clone(TREE).fit(X, y).predict_proba(X_new)
    found = model.predict_proba(X_new)
    np.testing.assert_array_equal(found[:, 3], own[:, 3])
    common = own[:, :3].sum(axis=1, keepdims=True)
    expected = common * beta.predict_proba(own[:, :3] / common)
    np.testing.assert_allclose(found[:, :3], expected, rtol=1e-12)


def test_a_fold_that_knows_two_of_three_classes_has_decision_values_of_one_number(three):
    X, y, X_new, _ = three
    y = y.copy()
    y[200:][y[200:] == 2] = 0  # class 2 is in the first of two folds only
    svm = LinearSVC(random_state=0)
    model = CalibratedClassifier(svm, TemperatureScaling(), cv=KFold(2), ensemble=True).fit(X, y)
    first, second = (pair.predict_proba(X_new) for pair in model.calibrated_classifiers_)
    assert (first[:, 2] == 0).sum() in (0, len(X_new))
    assert ((first[:, 2] == 0).all()) != ((second[:, 2] == 0).all())
    unknowing = clone(svm).fit(X[200:], y[200:])
    rows = y[:200] < 2
    oof = unknowing.decision_function(X[:200][rows])
    scaling = TemperatureScaling().fit(oof, y[:200][rows])
    expected = scaling.predict_proba(unknowing.decision_function(X_new))
    np.testing.assert_allclose(first[:, 1], expected, rtol=1e-8)


def test_singletons_are_fine(three):
    X, y, X_new, _ = three
    y = y.copy()
    y[:2] = [7, 8]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        model = CalibratedClassifier(GaussianNB(var_smoothing=1e-2)).fit(X, y)
    prob = model.predict_proba(X_new)
    assert prob.shape == (200, 5)
    np.testing.assert_allclose(prob.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("calibrator", [None, BetaCalibration(), AutoCalibration(random_state=0)])
def test_frozen(two, calibrator):
    X, y, X_new, _ = two
    base = LogisticRegression().fit(X[:200], y[:200])
    coefficients = base.coef_.copy()
    model = CalibratedClassifier(FrozenEstimator(base), calibrator, cv=7).fit(X[200:], y[200:])
    np.testing.assert_array_equal(base.coef_, coefficients)
    (pair,) = model.calibrated_classifiers_
    if calibrator is None:
        fed = base.decision_function
    else:
        fed = lambda rows: base.predict_proba(rows)[:, 1]  # noqa: E731
    twin = clone(pair.calibrator).fit(fed(X[200:]), y[200:])
    np.testing.assert_array_equal(model.predict_proba(X_new)[:, 1], twin.predict_proba(fed(X_new)))
    assert model.n_features_in_ == X.shape[1]


def test_frozen_with_a_class_that_is_not_in_the_rows(three):
    X, y, X_new, _ = three
    base = GaussianNB().fit(X[:200], y[:200])
    rows = np.flatnonzero(y[200:] != 1) + 200
    model = CalibratedClassifier(FrozenEstimator(base)).fit(X[rows], y[rows])
    prob = model.predict_proba(X_new)
    assert model.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(prob[:, 1], base.predict_proba(X_new)[:, 1])
    np.testing.assert_allclose(prob.sum(axis=1), 1, rtol=1e-12)


class Backwards(LogisticRegression):
    """A classifier whose classes are not in sorted order."""

    def fit(self, X, y):
        super().fit(X, -y)
        self.classes_ = -self.classes_
        return self


@pytest.mark.parametrize("data", ["two", "three"])
def test_classes_of_an_estimator_in_another_order(request, data):
    X, y, X_new, _ = request.getfixturevalue(data)
    base = Backwards().fit(X, y)
    expected = CalibratedClassifier(FrozenEstimator(LogisticRegression().fit(X, y))).fit(X, y)
    found = CalibratedClassifier(FrozenEstimator(base)).fit(X, y)
    assert base.classes_[0] > base.classes_[-1]
    np.testing.assert_allclose(
        found.predict_proba(X_new), expected.predict_proba(X_new), rtol=0, atol=1e-4
    )


def test_weights_reach_classifier_and_calibrator(two):
    X, y, X_new, _ = two
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    splits = list(StratifiedKFold(3).split(X, y))
    oof = np.empty(len(y))
    for train, test in splits:
        base = LogisticRegression().fit(X[train], y[train], sample_weight=weight[train])
        oof[test] = base.decision_function(X[test])
    platt = PlattScaling().fit(oof, y, sample_weight=weight)
    final = LogisticRegression().fit(X, y, sample_weight=weight)
    expected = platt.predict_proba(final.decision_function(X_new))
    model = CalibratedClassifier(LogisticRegression(), cv=splits).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(X_new)[:, 1], expected, rtol=1e-12)


def test_a_classifier_without_weights(two):
    X, y, _, _ = two
    weight = np.arange(1.0, len(y) + 1)
    model = CalibratedClassifier(KNeighborsClassifier(), BetaCalibration())
    with pytest.warns(UserWarning, match="KNeighborsClassifier takes no sample_weight"):
        model.fit(X, y, sample_weight=weight)
    assert model.predict_proba(X).shape == (400, 2)


def test_metadata_routing(two):
    X, y, X_new, _ = two
    weight = np.random.default_rng(0).random(len(y))
    groups = np.arange(len(y)) % 5
    plain = CalibratedClassifier(LogisticRegression(), cv=list(GroupKFold(5).split(X, y, groups)))
    weighted = plain.fit(X, y, sample_weight=weight).predict_proba(X_new)
    with sklearn.config_context(enable_metadata_routing=True):
        base = LogisticRegression().set_fit_request(sample_weight=True)
        routed = CalibratedClassifier(base, cv=GroupKFold(5))
        routed.fit(X, y, sample_weight=weight, groups=groups)
        np.testing.assert_array_equal(routed.predict_proba(X_new), weighted)
        # Weights that the classifier does not ask for are for the calibrator only.
        base = LogisticRegression().set_fit_request(sample_weight=False)
        routed = CalibratedClassifier(base, cv=GroupKFold(5))
        routed.fit(X, y, sample_weight=weight, groups=groups)
        (pair,) = routed.calibrated_classifiers_
        np.testing.assert_array_equal(pair.estimator.coef_, LogisticRegression().fit(X, y).coef_)
        # And through an outer search.
        search = GridSearchCV(
            CalibratedClassifier(
                LogisticRegression().set_fit_request(sample_weight=True), cv=3
            ).set_fit_request(sample_weight=True),
            {"calibrator": [PlattScaling(), BetaCalibration()]},
            scoring=get_scorer("neg_log_loss").set_score_request(sample_weight=True),
        ).fit(X, y, sample_weight=weight)
        assert search.best_estimator_.predict_proba(X_new).shape == (200, 2)


@pytest.mark.filterwarnings("ignore:PlattScaling did not reach")
def test_grid_search_over_calibrators(three):
    X, y, X_new, y_new = three
    pipeline = make_pipeline(StandardScaler(), CalibratedClassifier(GaussianNB(), cv=3))
    search = GridSearchCV(
        pipeline,
        [
            {"calibratedclassifier__calibrator": [None, TemperatureScaling(), BetaCalibration()]},
            {
                "calibratedclassifier__calibrator": [HistogramBinning()],
                "calibratedclassifier__calibrator__n_bins": [3, 30],
            },
            {"calibratedclassifier__estimator__var_smoothing": [1e-9, 1e-2]},
        ],
        scoring="neg_log_loss",
        cv=3,
    ).fit(X, y)
    assert len(search.cv_results_["params"]) == 7
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.score(X_new, y_new) < 0


def test_data_frames_keep_their_names(two):
    X, y, _, _ = two
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    model = CalibratedClassifier(LogisticRegression()).fit(frame, pd.Series(y, index=frame.index))
    assert model.feature_names_in_.tolist() == list(frame.columns)
    expected = clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(frame), expected, rtol=1e-9)


def test_folds_at_the_same_time_give_the_same(two):
    X, y, X_new, _ = two
    model = CalibratedClassifier(GaussianNB(), cv=3)
    expected = model.fit(X, y).predict_proba(X_new)
    found = model.set_params(n_jobs=2).fit(X, y).predict_proba(X_new)
    np.testing.assert_array_equal(found, expected)


GOOD = {"estimator": GaussianNB()}


@pytest.mark.parametrize(("parameters", "message"), [
    ({"method": "predict"}, "method must be 'auto' or 'decision_function' or 'predict_proba', got "
     "'predict'"),
    ({"estimator": GaussianNB}, "estimator must be a classifier, got <class"),
    ({"estimator": "svm"}, "estimator must be a classifier, got 'svm'"),
    ({"calibrator": "sigmoid"}, "calibrator must be None or a calibrator such as PlattScaling(), "
     "got 'sigmoid'"),
    ({"ensemble": "both"}, "ensemble must be true, false or 'auto', got 'both'"),
    ({"cv": "prefit"}, "put a classifier that is fitted already into sklearn.frozen"),
    ({"method": "decision_function"}, "GaussianNB has no decision_function: leave method='auto'"),
    ({"cv": ShuffleSplit(3, random_state=0)}, "test folds of cv: every row must be in exactly one, "
     "unless ensemble=True"),
    ({"estimator": StandardScaler()}, "StandardScaler has no decision_function or predict_proba"),
    ({"estimator": SVC(decision_function_shape="ovo"), "four": True},
     "decision_function of SVC has shape (80, 6) for the 4 classes"),
    ({"calibrator": TemperatureScaling(input="odds")}, "input must be 'logit' or 'probability'"),
])  # fmt: skip
def test_bad_parameters(three, parameters, message):
    X, y, _, _ = three
    y = y.copy()
    if parameters.pop("four", False):
        y[::7] = 3
    with pytest.raises(ValueError, match=re.escape(message)):
        CalibratedClassifier(**GOOD | parameters).fit(X, y)


def test_a_failed_fit_changes_nothing(two):
    X, y = two[:2]
    model = CalibratedClassifier(GaussianNB(), cv=3).fit(X, y)
    expected = model.predict_proba(X)
    with pytest.raises(ValueError, match="n_splits"):
        model.set_params(cv=len(y)).fit(X, np.array(["no", "yes"])[y])
    np.testing.assert_array_equal(model.classes_, [0, 1])
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_names_of_features_are_those_of_the_last_fit(two):
    X, y = two[:2]
    names = [f"x{k}" for k in range(X.shape[1])]
    model = CalibratedClassifier(GaussianNB(), cv=3).fit(pd.DataFrame(X, columns=names), y)
    np.testing.assert_array_equal(model.feature_names_in_, names)
    assert not hasattr(model.fit(X, y), "feature_names_in_")


EVEN, ODD = np.arange(0, 100, 2), np.arange(1, 100, 2)


@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize(("cv", "message"), [
    ([], "cv has no folds"),
    ([(EVEN, ODD), (np.arange(100), EVEN)], "fold 1 of cv trains on row 0, which it also holds"),
    ([(EVEN, ODD + 1), (ODD, EVEN)], "fold 0 of cv names row 100, but the rows are 0 to 99"),
    ([(EVEN, -ODD), (ODD, EVEN)], "fold 0 of cv names row -1"),
    ([(np.arange(100) % 2 == 0, np.arange(100) % 2 == 1)], "array of dtype bool"),
    ([(EVEN, [])], "fold 0 of cv has no rows to fit on, or holds none out"),
])  # fmt: skip
def test_bad_folds(two, cv, message, ensemble):
    X, y = two[0][:100], two[1][:100]
    with pytest.raises(ValueError, match=message):
        CalibratedClassifier(GaussianNB(), cv=cv, ensemble=ensemble).fit(X, y)


@pytest.mark.parametrize(("wrong", "message"), [
    (1, "y mixes types"), (None, r"y\[3\] is missing"), (np.nan, r"y\[3\] is missing"),
])  # fmt: skip
def test_labels_that_are_no_labels(two, wrong, message):
    X, y = two[:2]
    labels = np.array(["no", "yes"], dtype=object)[y]
    labels[3] = wrong
    with pytest.raises(ValueError, match=message):
        CalibratedClassifier(GaussianNB()).fit(X, labels)


def test_integers_as_objects(two):
    X, y = two[:2]
    model = CalibratedClassifier(GaussianNB()).fit(X, y.astype(object))
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("ensemble", [False, True])
def test_folds_of_one_class(two, ensemble):
    X, y, _, _ = two
    order = np.argsort(y)
    model = CalibratedClassifier(TREE, cv=KFold(2), ensemble=ensemble)
    with pytest.raises(ValueError, match=r"of the classes \[0, 1\] only \[(0|1)?\] can be told"):
        model.fit(X[order], y[order])


def test_bad_data(two):
    X, y, _, _ = two
    model = CalibratedClassifier(GaussianNB())
    with pytest.raises(ValueError, match=r"sample_weight\[3\] is -1.0"):
        model.fit(X, y, sample_weight=np.where(np.arange(len(y)) == 3, -1.0, 1.0))
    with pytest.raises(ValueError, match="sample_weight has 5 entries for 400 rows"):
        model.fit(X, y, sample_weight=np.ones(5))
    frozen = CalibratedClassifier(FrozenEstimator(GaussianNB().fit(X, y)))
    with pytest.raises(ValueError, match="y holds the label 2, which is not among the classes"):
        frozen.fit(X, y + 1)
    with pytest.raises(NotFittedError):
        CalibratedClassifier(FrozenEstimator(GaussianNB())).fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict_proba(X)
