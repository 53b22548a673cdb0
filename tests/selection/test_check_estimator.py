"""scikit-learn's checks of estimators, as far as they are about calibrators.

The checks fit features of any number and any scale. A calibrator's X are the probabilities, or
logits, of the classes: a column for each, or one for two classes. So the checks that fit a model to
such data cannot pass; those of parameters, cloning, tags and error messages do.
`CalibratedClassifier`, which does take features, passes all.
"""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import check_estimator

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
from calibrant.selection import AutoCalibration

COLUMNS = "fits X with other columns than one for each class in y"
WORDS = "expects scikit-learn's words in the message; ours says the same and what to do"
PROBABILITIES = "fits X that are no probabilities"

ANY_CALIBRATOR = {
    "check_estimators_overwrite_params": COLUMNS,
    "check_estimators_fit_returns_self": COLUMNS,
    "check_readonly_memmap_input": COLUMNS,
    "check_n_features_in_after_fitting": COLUMNS,
    "check_positive_only_tag_during_fit": COLUMNS,
    "check_estimators_dtypes": COLUMNS,
    "check_all_zero_sample_weights_error": COLUMNS,
    "check_sample_weight_equivalence_on_dense_data": COLUMNS,
    "check_estimators_nan_inf": COLUMNS,
    "check_estimators_pickle": COLUMNS,
    "check_pipeline_consistency": COLUMNS,
    "check_dtype_object": "an array of objects is refused, whatever it holds",
    "check_complex_data": WORDS,
    "check_estimators_empty_data_messages": WORDS,
    "check_fit2d_1sample": WORDS,
    "check_fit2d_1feature": WORDS,
    "check_fit2d_predict1d": WORDS,
}

OF_PROBABILITIES = dict.fromkeys(
    [
        "check_all_zero_sample_weights_error", "check_dict_unchanged",
        "check_dont_overwrite_parameters", "check_f_contiguous_array_estimator",
        "check_fit_check_is_fitted", "check_fit_idempotent", "check_fit_score_takes_y",
        "check_methods_sample_order_invariance", "check_methods_subset_invariance",
        "check_n_features_in", "check_sample_weights_list", "check_sample_weights_not_an_array",
        "check_sample_weights_not_overwritten", "check_sample_weights_pandas_series",
        "check_sample_weights_shape",
    ],
    PROBABILITIES,
)  # fmt: skip


@pytest.mark.parametrize(
    "calibrator",
    [TemperatureScaling(), VectorScaling(), OneVsRest(PlattScaling())],
    ids=lambda calibrator: type(calibrator).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_calibrators_of_scores(calibrator):
    check(calibrator, ANY_CALIBRATOR)


@pytest.mark.parametrize(
    "calibrator",
    [
        PlattScaling(), BetaCalibration(), IsotonicCalibration(), HistogramBinning(),
        DirichletCalibration(), CrossValidated(PlattScaling()), AutoCalibration(),
    ],
    ids=lambda calibrator: type(calibrator).__name__,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_calibrators_of_probabilities_or_one_column(calibrator):
    check(calibrator, ANY_CALIBRATOR | OF_PROBABILITIES)


def check(calibrator, expected):
    results = check_estimator(calibrator, expected_failed_checks=expected, on_fail=None)
    assert {
        one["check_name"]: one["exception"] for one in results if one["status"] == "failed"
    } == {}
    assert sum(one["status"] == "passed" for one in results) >= 15
