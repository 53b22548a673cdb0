"""logit and inv_logit against their formulas and the reference values."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import inv_logit, logit

EPS = float(np.finfo(float).eps)
BINARY_FILES = [
    "b200", "b50_ties", "b63_sensitive", "b120_zero_one", "b1000_rare", "b2000", "b201_odd",
    "b150_calibrated",
]  # fmt: skip


@pytest.mark.parametrize("name", BINARY_FILES)
def test_reference(reference, name):
    case = reference(f"binary_{name}")
    inputs, expected = case["inputs"], case["transforms"]
    np.testing.assert_allclose(logit(inputs["p"]), expected["logit"], atol=1e-12, rtol=0)
    np.testing.assert_allclose(logit(inputs["p_new"]), expected["logit_new"], atol=1e-12, rtol=0)
    np.testing.assert_allclose(
        inv_logit(expected["logit"]), expected["inv_logit_of_logit"], atol=1e-12, rtol=0
    )
    np.testing.assert_allclose(
        inv_logit(inputs["score_new"]), expected["inv_logit_score_new"], atol=1e-12, rtol=0
    )


def test_reference_scores(reference):
    case = reference("scores_s150")
    np.testing.assert_allclose(
        inv_logit(case["inputs"]["score"]), case["transforms"]["inv_logit"], atol=1e-12, rtol=0
    )


@given(st.floats(-700, 700))
def test_inv_logit_is_the_logistic_function(x):
    expected = 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
    assert inv_logit(x) == pytest.approx(expected, rel=1e-14)


@given(st.floats(0, 1))
def test_logit_clips_and_inverts(p):
    clipped = min(max(p, EPS), 1 - EPS)
    assert logit(p) == pytest.approx(math.log(clipped) - math.log1p(-clipped), rel=1e-14, abs=1e-15)
    assert inv_logit(logit(p)) == pytest.approx(clipped, rel=1e-13)


def test_shape_is_kept_and_ends_are_finite():
    assert logit([[0.0, 1.0], [0.5, 0.5]]).shape == (2, 2)
    np.testing.assert_allclose(
        logit([0.0, 1.0], eps=1e-3), [math.log(1e-3 / 0.999)] * np.array([1, -1])
    )
    assert inv_logit([-1e5, 1e5]).tolist() == [0.0, 1.0]
    assert logit(np.float32([0.1])).dtype == np.float64
    assert logit(pd.Series([0.25], index=[7])) == pytest.approx([math.log(0.25 / 0.75)], rel=1e-14)
    assert logit([]).shape == (0,)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: logit([0.5, 1.2]), r"p\[1\] is 1.2, not a probability: above 1 by 0.2"),
        (lambda: logit([[0.5], [-1]]), r"p\[1, 0\] is -1.0.*below 0"),
        (lambda: logit([np.nan]), r"p\[0\] is nan"),
        (lambda: logit([0.5], eps=0.0), "eps must be a number in"),
        (lambda: logit([0.5], eps=0.5), "eps must be a number in"),
        (lambda: logit(["a"]), "p has dtype <U1"),
        (lambda: inv_logit([0, np.inf]), r"x\[1\] is inf, not a number"),
        (lambda: inv_logit([1j]), "x is complex"),
    ],
)
def test_bad_input(call, expected):
    with pytest.raises(ValueError, match=expected):
        call()
