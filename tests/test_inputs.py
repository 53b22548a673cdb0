"""What public functions accept, and the one clear error each kind of bad input gets."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calibrant
from calibrant import (
    HistogramBinning,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    ece,
    reliability_table,
)

Y = [0, 1, 1, 0, 1, 0, 0, 1]
P = [0.1, 0.8, 0.6, 0.3, 0.9, 0.45, 0.2, 0.55]
BINARY = ece(np.array(Y), np.array(P))

Y3 = [0, 1, 2, 2, 1, 0]
P3 = [
    [0.7, 0.2, 0.1],
    [0.1, 0.8, 0.1],
    [0.3, 0.3, 0.4],
    [0.2, 0.2, 0.6],
    [0.25, 0.5, 0.25],
    [0.5, 0.25, 0.25],
]
MULTI = ece(np.array(Y3), np.array(P3))


# ---------------------------------------------------------------- what is accepted


@pytest.mark.parametrize(
    "y",
    [
        Y,
        tuple(Y),
        np.array(Y, dtype=np.uint8),
        np.array(Y, dtype=float),
        np.array(Y, dtype=bool),
        pd.Series(Y, index=range(100, 108)),
        pd.Series(Y, dtype="Int64"),
        pd.Series(list(map(bool, Y)), dtype="boolean"),
        pd.Series(Y).astype("category"),
        pd.Series(Y, dtype="int64[pyarrow]"),
        pl.Series(Y),
        pl.Series(list(map(bool, Y))),
        pa.array(Y),
        pa.chunked_array([Y[:3], Y[3:]]),
        np.array(Y, dtype=object),
    ],
    ids=lambda y: f"{type(y).__module__.split('.')[0]}-{getattr(y, 'dtype', 'list')}",
)
@pytest.mark.parametrize(
    "p",
    [
        P,
        np.array(P),
        np.array(P)[::-1][::-1],
        np.asfortranarray(np.column_stack([1 - np.array(P), P])),
        pd.Series(P, index=list("hgfedcba")),
        pd.Series(P, dtype="Float64"),
        pd.DataFrame({"no": 1 - np.array(P), "yes": P}),
        pl.Series(P),
        pl.DataFrame({"no": 1 - np.array(P), "yes": P}),
        pa.array(P),
        pa.table({"no": 1 - np.array(P), "yes": P}),
        np.array(P, dtype=">f8"),
    ],
    ids=lambda p: f"{type(p).__module__.split('.')[0]}-{np.ndim(p)}d",
)
def test_every_container_gives_the_same_number(y, p):
    assert ece(y, p) == BINARY


@pytest.mark.parametrize(
    "p",
    [
        P3,
        np.array(P3),
        pd.DataFrame(P3),
        pd.DataFrame(P3, dtype="Float64"),
        pl.DataFrame(P3, orient="row"),
        pa.table({f"p{k}": [row[k] for row in P3] for k in range(3)}),
    ],
    ids=lambda p: type(p).__module__.split(".")[0],
)
def test_every_container_of_a_matrix(p):
    assert ece(Y3, p) == MULTI


def test_torch_tensors_on_the_cpu():
    torch = pytest.importorskip("torch")
    assert ece(torch.tensor(Y), torch.tensor(P, dtype=torch.float64)) == BINARY
    with pytest.raises(ValueError, match="y_prob cannot be read as an array"):
        ece(Y, torch.tensor(P, requires_grad=True))


class Tensor:
    """Anything that can turn itself into an array, as tensors do."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


def test_whatever_has_the_array_protocol():
    assert ece(Tensor(Y), Tensor(P)) == BINARY


def test_float16_and_integers_become_float64():
    assert ece([0, 1], np.array([0.25, 0.5], dtype=np.float16)) == ece([0, 1], [0.25, 0.5])
    assert ece([0, 1], [0, 1]) == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_rows_of_coarse_floats_may_be_off_by_their_rounding(dtype):
    eps = float(np.finfo(dtype).eps)
    rows = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]])
    ece([0, 1, 2], (rows * (1 + eps)).astype(dtype))
    with pytest.raises(ValueError, match=re.escape("y_prob[1] sums to")):
        ece([0, 1, 2], (rows * [[1], [1 - 64 * eps], [1]]).astype(dtype))


def test_float64_rows_may_be_off_by_one_in_a_million():
    rows = np.array(P3)
    ece(Y3, rows * (1 + 9e-7))
    with pytest.raises(ValueError, match=r"y_prob\[0\] sums to 1.0000011"):
        ece(Y3, rows * (1 + 1.1e-6))


@pytest.mark.parametrize(
    ("y", "options"),
    [
        (["no", "yes"], {"pos_label": "yes"}),
        (["no", "yes"], {"labels": ["no", "yes"]}),
        (np.array(["no", "yes"], dtype=object), {"pos_label": "yes"}),
        (pd.Series(["no", "yes"], dtype="category"), {"pos_label": "yes"}),
        (pl.Series(["no", "yes"], dtype=pl.Categorical), {"pos_label": "yes"}),
        (pl.Series(["no", "yes"], dtype=pl.Enum(["yes", "no"])), {"pos_label": "yes"}),
        (pa.array(["no", "yes"]), {"pos_label": "yes"}),
        ([-1, 1], {"pos_label": 1}),
        ([1, 2], {"pos_label": 2}),
        ([5, 5000], {"pos_label": 5000}),
        ([2**62, -(2**62)], {"labels": [2**62, -(2**62)]}),
        ([1, 0], {"pos_label": 0}),
        ([True, False], {"pos_label": False}),
    ],
)
def test_labels_of_any_kind(y, options):
    assert ece(y, [0.1, 0.8], **options) == ece([0, 1], [0.1, 0.8])


def test_columns_follow_the_sorted_labels():
    shuffled = [["dog", "ant", "cat"][c] for c in Y3]
    order = [1, 2, 0]  # ant, cat, dog
    assert ece(shuffled, np.array(P3)[:, order]) == pytest.approx(MULTI, abs=1e-15)


def test_columns_follow_labels_when_given():
    shuffled = [["dog", "ant", "cat"][c] for c in Y3]
    assert ece(shuffled, P3, labels=["dog", "ant", "cat"]) == MULTI


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_follow_the_names_of_a_frame_when_these_are_the_labels(frame):
    names = ["dog", "ant", "cat"]
    columns = {name: np.array(P3)[:, k] for k, name in enumerate(names)}
    assert ece([names[c] for c in Y3], frame(columns)) == MULTI
    table = reliability_table(["dog", "ant"], frame({k: v[:2] for k, v in columns.items()}))
    assert list(table.classes) == names  # "cat" never happened; the frame names it


def test_names_of_whole_number_labels():
    columns = {"2": np.array(P3)[:, 2], "0": np.array(P3)[:, 0], "1": np.array(P3)[:, 1]}
    assert ece(Y3, pl.DataFrame(columns)) == pytest.approx(MULTI, abs=1e-15)


def test_names_that_are_not_the_labels_do_not_count():
    columns = {f"p{k}": np.array(P3)[:, k] for k in range(3)}
    assert ece(Y3, pl.DataFrame(columns)) == MULTI


def test_positive_class_of_two_columns():
    p2 = np.column_stack([1 - np.array(P), P])
    words = np.array(["no", "yes"])[Y]
    assert ece(words, p2) == BINARY
    assert ece(words, p2, pos_label="yes") == BINARY
    assert ece(words, p2, pos_label="no") == ece(1 - np.array(Y), 1 - np.array(P))


def test_one_class_only_where_the_maths_allows_it():
    assert ece([1, 1], [0.75, 0.75]) == 0.25
    assert ece([False, False], [[0.75, 0.25], [0.75, 0.25]]) == 0.25
    assert ece(["a", "a"], [0.75, 0.75], labels=["b", "a"]) == 0.25
    assert ece([0, 1], P3[:2], labels=[0, 1, 2]) > 0


def test_one_row_is_enough_to_measure():
    assert ece([1], [0.75]) == 0.25
    assert ece([2], [[0.25, 0.25, 0.5]], labels=range(3)) == pytest.approx((0.25 + 0.25 + 0.5) / 3)


def test_weights_of_any_container():
    w = [1, 2, 0, 1, 3, 1, 1, 2]
    expected = ece(np.repeat(Y, w), np.repeat(P, w))
    for weight in (w, np.array(w, dtype=np.float32), pd.Series(w), pl.Series(w), pa.array(w)):
        assert ece(Y, P, sample_weight=weight) == pytest.approx(expected, abs=1e-15)


# ---------------------------------------------------------------- what is refused

NAN, INF = float("nan"), float("inf")

BAD_PREDICTIONS = {
    "nan": ([0, 1, 1], [0.1, NAN, NAN], r"y_prob\[1\] is nan.*2 such entries.*drop"),
    "infinity": ([0, 1], [0.1, INF], r"y_prob\[1\] is inf"),
    "minus infinity": ([0, 1], [-INF, 0.2], r"y_prob\[0\] is -inf"),
    "below 0": ([0, 1], [0.2, -0.05], r"y_prob\[1\] is -0.05.*below 0 by 0.05"),
    "above 1": ([0, 1], [0.2, 1.25], r"y_prob\[1\] is 1.25.*above 1 by 0.25"),
    "barely above 1": ([0, 1], [0.2, 1 + 1e-9], r"above 1 by 1e-09"),
    "percentages": ([0, 1], [20.0, 80.0], "rescale percentages"),
    "nan in a matrix": ([0, 1, 2], [[1, 0, 0], [0, NAN, 1], [0, 0, 1]], r"y_prob\[1, 1\] is nan"),
    "rows off": ([0, 1, 2], [[1, 0, 0], [0.2, 0.2, 0.2], [0, 0, 1]], r"y_prob\[1\] sums to 0.6"),
    "empty": ([], [], "y_true is empty"),
    "empty matrix": ([0], np.empty((0, 3)), "y_prob is empty"),
    "lengths": ([0, 1, 1], [0.1, 0.2], "y_true has 3 rows but y_prob has 2"),
    "complex": ([0, 1], [0.1 + 0j, 0.2], "y_prob is complex"),
    "object": ([0, 1], np.array([0.1, None]), "y_prob has dtype object such as 0.1"),
    "text": ([0, 1], ["0.1", "0.2"], "y_prob has dtype <U3 such as .*convert it to floats"),
    "dates": ([0, 1], np.array(["2020-01-01"] * 2, dtype="M8[D]"), "y_prob has dtype datetime64"),
    "3-d": ([0, 1], np.full((2, 2, 1), 0.5), "y_prob has 3 dimensions, shape"),
    "0-d": ([0], 0.5, "y_prob has 0 dimensions"),
    "one column": ([0, 1], [[0.1], [0.2]], r"y_prob has shape \(2, 1\).*one-dimensional"),
    "ragged": ([0, 1], [[0.1, 0.9], [0.2]], "y_prob cannot be read as an array"),
    "labels 2-d": ([[0], [1]], [0.1, 0.2], r"y_true has shape \(2, 1\)"),
    "one-hot": ([[0, 1], [1, 0]], [0.1, 0.2], r"y_true has shape \(2, 2\).*order of arguments"),
    "swapped": ([0.3, 0.8], [0, 1], "y_true and y_prob look swapped"),
    "swapped text": ([0.3, 0.8], ["no", "yes"], "y_true and y_prob look swapped"),
    "labels for both": ([0, 1], ["no", "yes"], r"y_prob has dtype <U3.*\(y_true, y_prob\)"),
    "nan label": ([0, NAN], [0.1, 0.2], r"y_true\[1\] is nan"),
    "infinite label": ([0, INF], [0.1, 0.2], r"y_true\[1\] is inf"),
    "fractional label": ([0, 2.5], [0.1, 0.2], r"y_true\[1\] is 2.5, which is no label"),
    "missing label": (["a", None], [0.1, 0.2], r"y_true\[1\] is missing"),
    "mixed labels": (np.array(["a", 1], dtype=object), [0.1, 0.2], "y_true mixes types"),
    "objects as labels": (np.array([{}, {}]), [0.1, 0.2], "y_true holds objects such as {}"),
    "date labels": (np.array(["2020-01-01"] * 2, dtype="M8[D]"), [0.1, 0.2], "labels are whole"),
    "text without pos_label": (["a", "b"], [0.1, 0.2], r"\['a', 'b'\].*pass pos_label="),
    "1/2 without pos_label": ([1, 2], [0.1, 0.2], r"\[1, 2\].*pass pos_label="),
    "three labels": ([0, 1, 2], [0.1, 0.2, 0.3], "3 distinct labels .* matrix with a column"),
    "too many labels": ([0, 1, 2, 3], np.eye(3)[[0, 1, 2, 2]],
                        r"y_true has 4 distinct labels \[0, 1, 2, 3\], but there are 3 columns"),
    "class that never occurs": ([0, 1], P3[:2], r"2 distinct labels.*3 columns.*pass labels="),
    "masked": ([0, 1], np.ma.masked_array([0.1, 0.2], mask=[0, 1]), "y_prob is a masked array"),
    "lazy": ([0, 1], pl.LazyFrame({"a": [0.1, 0.2]}), "y_prob is a lazy frame: collect"),
    "null": ([0, 1], pl.Series([0.1, None]), r"y_prob\[1\] is missing"),
    "NA": ([0, 1], pd.Series([0.1, pd.NA], dtype="Float64"), r"y_prob\[1\] is missing"),
    "null label": (pd.Series([1, None], dtype="Int64"), [0.1, 0.2], r"y_true\[1\] is missing"),
    "null in a frame": ([0, 1], pl.DataFrame({"a": [0.1, 0.2], "b": [0.9, None]}),
                        r"y_prob\['b'\]\[1\] is missing"),
    "text in a frame": ([0, 1], pd.DataFrame({"a": [0.1, 0.2], "b": ["x", "y"]}),
                        r"y_prob\['b'\] does not hold numbers"),
    "frame without columns": ([0, 1], pd.DataFrame(index=[0, 1]), "without columns"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_PREDICTIONS)
def test_bad_predictions(case):
    y, p, expected = BAD_PREDICTIONS[case]
    with pytest.raises(ValueError, match=expected):
        ece(y, p)


BAD_OPTIONS = {
    "unknown pos_label": (
        {"y_true": ["a", "b"], "pos_label": "c"}, r"pos_label='c' is not among.*\['a', 'b'\]"
    ),
    "single text label": ({"y_true": ["a", "a"], "pos_label": "a"}, "single label .*pass labels="),
    "labels too few": ({"labels": [1]}, "labels has 1 entries .*2 classes"),
    "labels repeated": ({"labels": [1, 1]}, "labels names a class twice"),
    "label not in labels": ({"labels": [1, 2]}, r"y_true\[0\] is 0, which is not among .*\[1, 2\]"),
    "negative weight": ({"sample_weight": [1, -2]}, r"sample_weight\[1\] is -2.0.*below 0 by 2"),
    "nan weight": ({"sample_weight": [NAN, 1]}, r"sample_weight\[0\] is nan"),
    "zero weights": ({"sample_weight": [0, 0]}, "sample_weight is zero in every row"),
    "weights too few": ({"sample_weight": [1]}, "sample_weight has 1 entries for 2 rows"),
    "weights 2-d": ({"sample_weight": [[1], [1]]}, r"sample_weight has shape \(2, 1\)"),
    "weights text": ({"sample_weight": ["1", "2"]}, "sample_weight has dtype <U1"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_bad_options(case):
    options, expected = BAD_OPTIONS[case]
    with pytest.raises(ValueError, match=expected):
        ece(**({"y_true": [0, 1], "y_prob": [0.2, 0.7]} | options))


def test_pos_label_is_for_two_classes():
    with pytest.raises(ValueError, match="pos_label=1 is for two classes, but y_prob has 3"):
        ece(Y3, P3, pos_label=1)


def test_label_that_labels_do_not_name():
    with pytest.raises(ValueError, match=r"y_true\[2\] is 2, which is not among the labels"):
        ece(Y3, P3, labels=[0, 1, 3])


def test_data_after_the_first_two_arguments_is_keyword_only():
    with pytest.raises(TypeError):
        ece(Y, P, 10)


# ---------------------------------------------------------------- calibrators read the same way


@pytest.mark.parametrize("calibrator", [PlattScaling(), IsotonicCalibration(), HistogramBinning()])
def test_calibrators_need_both_classes(calibrator):
    with pytest.raises(ValueError, match=f"{type(calibrator).__name__} needs both classes, but 0"):
        calibrator.fit([0.2, 0.4], [1, 1])
    with pytest.raises(ValueError, match="needs both classes, but 1 does not occur"):
        calibrator.fit([0.2, 0.4], [0, 1], sample_weight=[1, 0])


def test_calibrators_refuse_more_columns():
    with pytest.raises(ValueError, match=r"two classes, but X has 3 columns: use OneVsRest\("):
        IsotonicCalibration().fit(P3, Y3)


def test_two_columns_of_scores_are_ambiguous():
    with pytest.raises(ValueError, match=r"X\[0, 0\] is 2.0, not a probability"):
        PlattScaling().fit([[2.0, -1.0], [0.5, 1.5]], [0, 1])


def test_two_columns_come_back_as_two():
    p2 = np.column_stack([1 - np.array(P), P])
    for calibrator in (PlattScaling(), IsotonicCalibration()):
        one = calibrator.fit(P, Y).predict_proba(P)
        two = calibrator.fit(p2, Y).predict_proba(p2)
        np.testing.assert_allclose(two, np.column_stack([1 - one, one]), atol=1e-15)


def test_classes_follow_scikit_learns_rule_or_labels():
    words = np.array(["no", "yes"])[Y]
    assert list(PlattScaling().fit(P, words).classes_) == ["no", "yes"]
    flipped = PlattScaling().fit(P, words, labels=["yes", "no"])
    np.testing.assert_allclose(
        flipped.predict_proba(P), 1 - PlattScaling().fit(P, words).predict_proba(P), atol=1e-12
    )


def test_prediction_of_another_shape_than_fitted():
    fitted = IsotonicCalibration().fit(P, Y)
    with pytest.raises(ValueError, match=r"X has shape \(8, 2\).*fitted on shape \(n,\)"):
        fitted.predict_proba(np.column_stack([1 - np.array(P), P]))
    with pytest.raises(ValueError, match=r"X\[0\] is 1.5, not a probability"):
        fitted.predict_proba([1.5])


def test_columns_in_another_order_than_fitted():
    frame = pd.DataFrame(P3, columns=["ant", "cat", "dog"])
    fitted = OneVsRest(IsotonicCalibration()).fit(frame, [["ant", "cat", "dog"][c] for c in Y3])
    with pytest.raises(ValueError, match="put the columns in that order"):
        fitted.predict_proba(frame[["dog", "cat", "ant"]])


def test_one_vs_rest_names_the_absent_class():
    with pytest.raises(ValueError, match="2 does not occur in y"):
        OneVsRest(PlattScaling()).fit(P3[:2], [0, 1], labels=[0, 1, 2])


def test_scores_must_be_finite():
    with pytest.raises(ValueError, match=r"X\[1\] is nan, not a score"):
        PlattScaling().fit([0.1, NAN], [0, 1])


def test_lengths_of_fit():
    with pytest.raises(ValueError, match="X has 3 rows but y has 2"):
        PlattScaling().fit([0.1, 0.2, 0.3], [0, 1])


def isotonic(y, p, sample_weight):
    return calibrant.IsotonicCalibration().fit(p, y, sample_weight=sample_weight)


@pytest.mark.parametrize(
    "measure", [calibrant.ece, calibrant.brier_score, calibrant.log_loss, isotonic]
)
@pytest.mark.parametrize("weight", [np.full(4, 1e308), np.full(4, 1e308).tolist()])
def test_weights_whose_sum_is_infinite(measure, weight):
    with pytest.raises(ValueError, match="sample_weight adds up to more than a float64 can hold"):
        measure([0, 1, 1, 0], [0.1, 0.6, 0.8, 0.3], sample_weight=weight)
    measure([0, 1, 1, 0], [0.1, 0.6, 0.8, 0.3], sample_weight=np.full(4, 1e30, dtype=np.float32))
