"""Threshold losses: level and direction against the reference and expected costs, bad input."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant
from calibrant.decisions import ThresholdLoss, bayes_decision
from calibrant.forecasts import Ensemble

COSTS = st.integers(-40, 40).map(lambda k: k / 10)


def loss_of(entry, threshold):
    return ThresholdLoss(
        threshold, below=(entry["c10"], entry["c11"]), above=(entry["c00"], entry["c01"])
    )


def test_level_direction_and_constant_action_of_the_reference(threshold_reference):
    for entry in threshold_reference("gaussian_120")["threshold_losses"]:
        loss = loss_of(entry, 0.0)
        assert loss.direction == entry["direction"], entry["name"]
        assert loss.constant_action == entry["constant_action"], entry["name"]
        if entry["alpha_star"] is None:
            assert loss.level is None
        else:
            assert loss.level == pytest.approx(entry["alpha_star"], abs=1e-12)


@given(COSTS, COSTS, COSTS, COSTS, st.integers(1, 20), st.data())
def test_the_bayes_rule_takes_the_cheaper_action_and_ties_act(b0, b1, a0, a1, m, data):
    # Exactly k of m members are below; costs are tenths: both expected costs are exact fractions.
    k = data.draw(st.integers(0, m))
    forecast = Ensemble([[0.0] * k + [2.0] * (m - k)])
    p = Fraction(k, m)
    b0_, b1_, a0_, a1_ = (Fraction(round(10 * cost), 10) for cost in (b0, b1, a0, a1))
    act = p * b1_ + (1 - p) * a1_ <= p * b0_ + (1 - p) * a0_
    loss = ThresholdLoss(1.0, (b0, b1), (a0, a1))
    assert bayes_decision(forecast, loss) == [int(act)]
    if loss.constant_action is not None:
        assert loss.constant_action == int(act)


@given(COSTS, COSTS, COSTS, COSTS)
def test_constant_action_is_none_only_where_some_probability_changes_the_action(b0, b1, a0, a1):
    loss = ThresholdLoss(1.0, (b0, b1), (a0, a1))
    forecast = Ensemble([[0.0], [2.0]])
    ends = set(bayes_decision(forecast, loss))
    assert (loss.constant_action is None) == (len(ends) == 2)


def test_errors_cost_where_the_bet_on_below_is_wrong():
    loss = ThresholdLoss.from_errors(5.0, false_positive=3.0, false_negative=7.0)
    assert loss == ThresholdLoss(5.0, below=(7.0, 0.0), above=(0.0, 3.0))
    assert (loss.level, loss.direction) == (0.3, "ge")


@pytest.mark.parametrize("m", [10, 20, 50, 100])
def test_the_cost_ratio_is_the_level_to_the_last_bit(m):
    for k in range(m + 1):
        loss = ThresholdLoss.from_cost_ratio(0.0, k / m)
        assert loss.level == k / m
        assert loss.above[1] + loss.below[0] == pytest.approx(10.0, abs=1e-12)


def test_the_total_scales_both_errors():
    loss = ThresholdLoss.from_cost_ratio(1.0, 0.25, total=4.0, strict=True)
    assert loss == ThresholdLoss(1.0, (3.0, 0.0), (0.0, 1.0), strict=True)


def test_costs_count_as_the_decimals_they_print_as():
    # 0.3 - 0.1 and 0.2 differ as doubles.
    assert ThresholdLoss(0.0, (0.1, 0.3), (0.0, 0.2)).direction == "constant"


def test_levels_beyond_the_doubles_are_infinite():
    forecast = Ensemble([[0.0], [2.0]])
    for below, above, level in (
        ((0.0, 1e308), (1e-300, 1e308), -np.inf),
        ((1e-300, 1e308), (0.0, 1e308), np.inf),
    ):
        loss = ThresholdLoss(1.0, below, above)
        assert loss.level == level
        assert loss.constant_action == 0
        np.testing.assert_array_equal(bayes_decision(forecast, loss), 0)


def test_numpy_numbers_and_lists_become_plain_values():
    loss = ThresholdLoss(np.float32(0.5), [np.int64(1), 0], np.array([0.0, 2.0]), strict=np.True_)
    assert loss == ThresholdLoss(0.5, (1.0, 0.0), (0.0, 2.0), strict=True)
    assert hash(loss) == hash(ThresholdLoss(0.5, (1.0, 0.0), (0.0, 2.0), strict=True))
    assert type(loss.threshold) is float
    assert type(loss.strict) is bool


def test_saved_and_loaded_it_is_the_same(tmp_path):
    loss = ThresholdLoss(0.1, (0.7, 0.1), (-2.0, 1 / 3), strict=True)
    loss.save(tmp_path / "loss.json")
    assert calibrant.load(tmp_path / "loss.json") == loss
    assert ThresholdLoss.from_dict(loss.to_dict()) == loss


def test_it_cannot_be_changed():
    with pytest.raises(AttributeError):
        ThresholdLoss(0.0, (1, 0), (0, 1)).threshold = 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": "5"}, "threshold must be a number, got '5'"),
        ({"threshold": True}, "threshold must be a number, got True"),
        ({"threshold": np.nan}, "threshold is nan: it must be a finite number"),
        ({"threshold": np.inf}, "threshold is inf: it must be a finite number"),
        ({"below": 1.0}, "below must hold two costs, that of action 0 and that of action 1"),
        ({"below": (1.0,)}, "below must hold two costs"),
        ({"above": (1, 2, 3)}, "above must hold two costs"),
        ({"above": "12"}, "above must hold two costs"),
        ({"below": (1.0, None)}, "below[1] must be a number, got None"),
        ({"above": (np.inf, 0.0)}, "above[0] is inf: it must be a finite number"),
        ({"strict": "no"}, "strict must be True or False, got 'no'"),
    ],
)
def test_bad_losses(arguments, message):
    given = {"threshold": 0.0, "below": (1.0, 0.0), "above": (0.0, 1.0)} | arguments
    with pytest.raises(ValueError, match=re.escape(message)):
        ThresholdLoss(**given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ratio": 1.5}, "ratio must be between 0 and 1, got 1.5"),
        ({"ratio": -0.1}, "ratio must be between 0 and 1, got -0.1"),
        ({"ratio": None}, "ratio must be a number, got None"),
        ({"ratio": 0.5, "total": 0.0}, "total must be positive, got 0.0"),
        ({"ratio": 0.5, "total": np.nan}, "total is nan"),
    ],
)
def test_bad_cost_ratios(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        ThresholdLoss.from_cost_ratio(0.0, **arguments)


@pytest.mark.parametrize("name", ["false_positive", "false_negative"])
def test_bad_errors_are_named(name):
    costs = {"false_positive": 1.0, "false_negative": 1.0, name: np.nan}
    with pytest.raises(ValueError, match=f"{name} is nan: it must be a finite number"):
        ThresholdLoss.from_errors(0.0, **costs)
