"""Saved calibrators and tables: exact, safe, never half written."""

from __future__ import annotations

import json
import os
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import calibrant
from calibrant import (
    AverageRecalibration,
    BetaCalibration,
    CrossValidated,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
    reliability_table,
)
from calibrant.forecasts import Normal

rng = np.random.default_rng(7)
P = rng.uniform(0.02, 0.98, 120)
Y = (rng.uniform(size=120) < P**1.5).astype(int)
LOGITS = rng.normal(size=(150, 3)) * 2
CODES = (LOGITS + rng.gumbel(size=(150, 3))).argmax(axis=1)
P3 = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
WORDS = np.array(["ant", "bee", "café"])[CODES]

BINARY = [
    PlattScaling(),
    TemperatureScaling(input="probability"),
    BetaCalibration(),
    BetaCalibration(constraint="monotone"),
    IsotonicCalibration(),
    HistogramBinning(n_bins=7, strategy="quantile"),
    CrossValidated(BetaCalibration(), cv=3, random_state=0),
]
MULTICLASS = [
    (TemperatureScaling(), LOGITS),
    (VectorScaling(), LOGITS),
    (DirichletCalibration(lambda_=1e-3), P3),
    (OneVsRest(IsotonicCalibration()), P3),
    (CrossValidated(OneVsRest(PlattScaling()), cv=3, random_state=0), P3),
]
ALL = [(c, P, Y) for c in BINARY] + [(c, x, WORDS) for c, x in MULTICLASS]
IDS = [repr(c) for c, _, _ in ALL]


@pytest.mark.parametrize(("calibrator", "X", "y"), ALL, ids=IDS)
def test_a_saved_calibrator_predicts_the_same_doubles(calibrator, X, y, tmp_path):
    fitted = clone(calibrator).fit(X, y)
    fitted.save(tmp_path / "c.json")
    loaded = calibrant.load(tmp_path / "c.json")
    assert type(loaded) is type(fitted)
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(loaded.classes_, fitted.classes_)
    assert loaded.classes_.dtype == fitted.classes_.dtype
    assert repr(loaded) == repr(fitted)
    for name in ("loss_", "converged_", "n_iter_"):
        if hasattr(fitted, name):
            assert getattr(loaded, name) == getattr(fitted, name)
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "c.json").read_bytes()


@pytest.mark.parametrize(("calibrator", "X", "y"), ALL, ids=IDS)
def test_pickle_and_clone(calibrator, X, y):
    fitted = clone(calibrator).fit(X, y)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict_proba(X), fitted.predict_proba(X))
    fresh = clone(fitted)
    assert repr(fresh) == repr(calibrator)
    with pytest.raises(NotFittedError):
        fresh.predict_proba(X)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=20, unique=True))
def test_every_double_survives(tmp_path_factory, p):
    y = np.arange(len(p)) % 2
    fitted = IsotonicCalibration().fit(p, y)
    path = tmp_path_factory.mktemp("doubles") / "c.json"
    fitted.save(path)
    np.testing.assert_array_equal(calibrant.load(path).predict_proba(p), fitted.predict_proba(p))


def test_the_file_says_what_it_is(tmp_path):
    PlattScaling().fit(P, Y).save(tmp_path / "c.json")
    document = json.loads((tmp_path / "c.json").read_text())
    assert document["format"] == "calibrant"
    assert document["schema"] == 1
    assert document["type"] == "PlattScaling"


def test_tables_are_saved_too(tmp_path):
    table = reliability_table(Y, P)
    table.save(tmp_path / "t.json")
    loaded = calibrant.load(tmp_path / "t.json")
    assert loaded.ece() == table.ece()
    assert loaded.merge(table).to_dict() == table.merge(table).to_dict()


def test_an_existing_file_is_kept(tmp_path):
    path = tmp_path / "c.json"
    path.write_text("precious")
    fitted = PlattScaling().fit(P, Y)
    with pytest.raises(FileExistsError, match=r"c\.json exists already"):
        fitted.save(path)
    assert path.read_text() == "precious"
    fitted.save(path, overwrite=True)
    assert isinstance(calibrant.load(path), PlattScaling)
    assert os.listdir(tmp_path) == ["c.json"]


def test_a_failed_save_leaves_nothing_behind(tmp_path):
    fitted = CrossValidated(PlattScaling(), cv=3).fit(P, Y)
    fitted.set_params(random_state=np.random.default_rng(0))
    with pytest.raises(ValueError, match="random_state"):
        fitted.save(tmp_path / "c.json")
    assert os.listdir(tmp_path) == []
    with pytest.raises(FileNotFoundError, match="folder .* does not exist"):
        PlattScaling().fit(P, Y).save(tmp_path / "nowhere" / "c.json")
    with pytest.raises(NotFittedError):
        PlattScaling().save(tmp_path / "c.json")


def document(tmp_path, **changes):
    PlattScaling().fit(P, Y).save(tmp_path / "c.json", overwrite=True)
    content = json.loads((tmp_path / "c.json").read_text())
    return content | changes


BAD_FILES = {
    "not json": ("hello", "is not a complete JSON file"),
    "another json": ("[1, 2]", "was not written by calibrant"),
    "another format": ('{"format": "pickle"}', "was not written by calibrant"),
    "binary": (b"\xff\xfe\x00", "is not a complete JSON file"),
    "nan": ('{"format": "calibrant", "schema": 1, "x": NaN}', "NaN is no number"),
    "newer": ({"schema": 99}, r"schema version 99, newer .*upgrade calibrant"),
    "no schema": ({"schema": None}, "its schema version is None"),
    "unknown type": ({"type": "os.system"}, "unknown type 'os.system'.*can read"),
    "no content": ({"content": {}}, "the entry 'params' is missing"),
    "content of another type": ({"content": [1]}, "is damaged"),
    "unknown parameter": (
        {"content": {"params": {"bogus": 1}, "fitted": {}}},
        "params of PlattScaling has the unknown entry 'bogus'",
    ),
    "object array": (
        {"content": {"params": {}, "fitted": {
            "classes_": {"dtype": "O", "array": [0, 1]}}}}, "dtype object are not read"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_FILES)
def test_wrong_files(case, tmp_path):
    text, expected = BAD_FILES[case]
    if isinstance(text, dict):
        text = json.dumps(document(tmp_path, **text))
    path = tmp_path / "wrong.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ValueError, match=expected) as error:
        calibrant.load(path)
    assert "wrong.json" in str(error.value)


def test_truncated_files_at_any_length(tmp_path):
    PlattScaling().fit(P, Y).save(tmp_path / "c.json")
    text = (tmp_path / "c.json").read_text().rstrip()
    for length in range(0, len(text), 37):
        (tmp_path / "cut.json").write_text(text[:length])
        with pytest.raises(ValueError, match=r"cut\.json is not a complete JSON file"):
            calibrant.load(tmp_path / "cut.json")


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        calibrant.load(tmp_path / "none.json")


# ---------------------------------------------------------------- files that were edited by hand

REMOVED = object()
WRONG = [
    REMOVED, None, True, "x", "", -1, 0, 2.5, 1e308, -1e308, 10**400, "NaN", [], [0.5], {},
    {"dtype": "f8", "array": [0.5]}, {"dtype": "f8", "array": [[0.25, 0.75]]},
    {"dtype": "f8", "array": [2.0, 1.0, 0.0]}, {"dtype": "f8", "array": [None, "x"]},
    {"dtype": "i8", "array": [0, 1, 2, 3]}, {"dtype": "i8", "array": [0.5, 1.5]},
    {"dtype": "U1", "array": ["ant", "asp"]}, {"dtype": "q?", "array": []}, {"array": [1]},
    {"type": "os.system", "content": {}}, {"type": ["PlattScaling"], "content": {}},
    {"type": "PlattScaling", "content": {"params": {}}}, {"type": "PlattScaling"},
    {"type": "IsotonicCalibration", "content": {"params": {}, "fitted": {}}},
]  # fmt: skip


def places(value, path=()):
    """The paths of all entries of nested JSON; of lists of numbers the first and the last."""
    members = []
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list) and value:
        members = {0: value[0], len(value) - 1: value[-1]}.items()
    for key, member in members:
        yield (*path, key)
        yield from places(member, (*path, key))


def edited(content, path, wrong):
    """A copy of the document with one entry replaced or removed."""
    copy = json.loads(json.dumps(content))
    *parents, last = path
    inner = copy
    for key in parents:
        inner = inner[key]
    if wrong is REMOVED:
        del inner[last]
    else:
        inner[last] = wrong
    return copy


@pytest.mark.parametrize(("calibrator", "X", "y"), ALL, ids=IDS)
def test_a_wrong_entry_is_refused_or_does_no_harm(calibrator, X, y, tmp_path):
    path = tmp_path / "edited.json"
    clone(calibrator).fit(X, y).save(path)
    saved = json.loads(path.read_text())
    n_refused = 0
    for place in places(saved["content"], ("content",)):
        for wrong in WRONG:
            path.write_text(json.dumps(edited(saved, place, wrong)))
            try:
                loaded = calibrant.load(path)
            except ValueError:
                n_refused += 1
                continue
            if place != ("content", "fitted") or wrong is not REMOVED:
                prob = loaded.predict_proba(X)
                assert prob.shape == X.shape, (place, wrong)
                assert ((prob >= 0) & (prob <= 1)).all(), (place, wrong)
    assert n_refused > 100


@pytest.mark.parametrize(
    ("calibrator", "place", "wrong", "message"),
    [
        (PlattScaling(), "slope_", "x", r"slope_ must be a finite number, got 'x'"),
        (PlattScaling(), "n_iter_", -1, r"n_iter_ must be an integer of at least 0, got -1"),
        (PlattScaling(), "slope_", REMOVED, r"the entry 'slope_' is missing from fitted of Platt"),
        (PlattScaling(), "n_features_in_", 3, r"n_features_in_ must be an integer .* at most 2"),
        (
            IsotonicCalibration(),
            "y_thresholds_",
            {"dtype": "f8", "array": [0.5]},
            r"y_thresholds_ must be an array of shape \(m,\), .* where K = 2, m = \d+, but has sh",
        ),
        (
            HistogramBinning(n_bins=2),
            "bin_values_",
            {"dtype": "f8", "array": [0.5, 1.5]},
            r"bin_values_ must be an array .* in \[0, 1\], but entry \[1\] is 1\.5",
        ),
        (
            HistogramBinning(n_bins=2),
            "bin_edges_",
            {"dtype": "f8", "array": [0.0, 0.7, 0.3]},
            r"bin_edges_ must be .*, ascending, but entry \[2\] is 0\.3",
        ),
        (
            HistogramBinning(),
            "classes_",
            {"dtype": "i8", "array": [0, 1, 2]},
            r"classes_ must hold 2 labels, since n_features_in_ is 1, but has 3",
        ),
        (
            HistogramBinning(),
            "classes_",
            {"dtype": "i8", "array": [1, 1]},
            r"classes_ must be an array of at least two distinct labels, got \[1, 1\]",
        ),
    ],
)
def test_the_message_names_the_file_and_the_entry(calibrator, place, wrong, message, tmp_path):
    path = tmp_path / "edited.json"
    clone(calibrator).fit(P, Y).save(path)
    saved = json.loads(path.read_text())
    path.write_text(json.dumps(edited(saved, ("content", "fitted", place), wrong)))
    with pytest.raises(ValueError, match=rf"edited\.json is damaged or was edited.*: {message}"):
        calibrant.load(path)


def test_the_message_names_the_entry_inside_of_a_nested_calibrator(tmp_path):
    path = tmp_path / "edited.json"
    CrossValidated(OneVsRest(PlattScaling()), cv=3, random_state=0).fit(P3, WORDS).save(path)
    saved = json.loads(path.read_text())
    inner = ("content", "fitted", "calibrator_", "content", "fitted", "calibrators_")
    path.write_text(json.dumps(edited(saved, (*inner, 1, "content", "fitted", "slope_"), "x")))
    with pytest.raises(ValueError, match=r"calibrator_: calibrators_\[1\]: slope_ must be a fini"):
        calibrant.load(path)
    path.write_text(json.dumps(edited(saved, (*inner, 2), REMOVED)))
    with pytest.raises(ValueError, match="an entry for each of the 3 classes, but has 2"):
        calibrant.load(path)


def test_from_dict_names_the_entry():
    content = BetaCalibration().fit(P, Y).to_dict()
    content["params"]["eps"] = "x"
    with pytest.raises(ValueError, match=r"eps must be a number in \(0, 0\.5\).*, got 'x'"):
        BetaCalibration.from_dict(content)
    for wrong in (None, 1, [content], "x"):
        with pytest.raises(ValueError, match="must be an object with named entries"):
            BetaCalibration.from_dict(wrong)


@pytest.mark.parametrize("entry", ["note", "fited"])
def test_from_dict_refuses_entries_that_it_does_not_know(entry):
    content = BetaCalibration().fit(P, Y).to_dict()
    with pytest.raises(ValueError, match=f"BetaCalibration has the unknown entry '{entry}'"):
        BetaCalibration.from_dict({**content, entry: 1})


def test_params_that_are_no_object():
    with pytest.raises(ValueError, match="params of PlattScaling must be an object with named"):
        PlattScaling.from_dict({"params": None})


def test_what_was_not_fitted_is_not_loaded(tmp_path):
    path = tmp_path / "c.json"
    for fitted in (PlattScaling().fit(P, Y), AverageRecalibration().fit(Normal(P, 1.0), P)):
        fitted.save(path, overwrite=True)
        saved = json.loads(path.read_text())
        path.write_text(json.dumps(edited(saved, ("content", "fitted"), REMOVED)))
        with pytest.raises(ValueError, match="the entry 'fitted' is missing from content"):
            calibrant.load(path)


def test_classes_of_other_people_are_not_saved(tmp_path):
    class Own(PlattScaling):
        pass

    for fitted in (Own().fit(P, Y), OneVsRest(Own()).fit(P3, WORDS)):
        with pytest.raises(ValueError, match="Own is a class of your own"):
            fitted.save(tmp_path / "c.json")
    assert list(tmp_path.iterdir()) == []


def test_calibrators_nested_too_deeply(tmp_path):
    path = tmp_path / "c.json"
    OneVsRest(PlattScaling()).fit(P3, WORDS).save(path)
    saved = json.loads(path.read_text())
    base = saved["content"]["params"]["base"]
    for _ in range(250):
        base = {"type": "OneVsRest", "content": {"params": {"base": base}}}
    path.write_text(json.dumps(edited(saved, ("content", "params", "base"), base)))
    with pytest.raises(ValueError, match="damaged or was edited by hand"):
        calibrant.load(path)


def test_a_deeply_nested_file(tmp_path):
    path = tmp_path / "deep.json"
    path.write_text("[" * 200_000 + "]" * 200_000)
    with pytest.raises(ValueError, match=r"deep\.json is not a complete JSON file"):
        calibrant.load(path)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("kind",), "ternary", "kind must be"),
        (("strategy",), 3, "strategy must be"),
        (("classes",), [1, 1], "classes must be"),
        (("count",), [1, -1], "count must be"),
        (("count",), [[1], [1]], "count must be"),
        (("edges",), [[0.0, 0.5, 1.0], [0.0, 0.5, 1.0]], "columns of a table with 4 bins|2 panels"),
        (("edges", 0, 0), 0.1, "must go from 0 to 1"),
        (("edges", 0, 1), 2.0, r"edges\[0\] must be"),
        (("sum_true", 0), [99.0], r"sum_true\[0\] is 99.0"),
        (("sum_prob", 1), [-1.0], r"sum_prob\[1\] is -1.0"),
    ],
)
def test_tables_whose_parts_do_not_fit_are_refused(path, value, message, tmp_path):
    file = tmp_path / "table.json"
    reliability_table(Y, P, n_bins=2).save(file)
    saved = json.loads(file.read_text())
    file.write_text(json.dumps(edited(saved, ("content", *path), value)))
    with pytest.raises(ValueError, match=message):
        calibrant.load(file)


@pytest.mark.parametrize("wrong", [None, "x", [], 3, -1, {"a": 1}, [None], [["x"]]])
def test_tables_of_wrong_types_are_refused(wrong, tmp_path):
    path = tmp_path / "table.json"
    reliability_table(Y, P).save(path)
    saved = json.loads(path.read_text())
    for name in ("edges", "count", "sum_weight", "sum_prob", "sum_true"):
        path.write_text(json.dumps(edited(saved, ("content", name), wrong)))
        with pytest.raises(ValueError, match=r"table\.json"):
            calibrant.load(path)
