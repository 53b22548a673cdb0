"""The table of decision makers: reference, the public functions one by one, bootstrap twin."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from calibrant.decisions import (
    ThresholdLoss,
    decision_loss,
    decision_table,
    predicted_loss,
    reliability_gap,
)
from calibrant.forecasts import Ensemble, Normal

FROZEN = Path(__file__).parents[3] / "shared" / "data" / "forecasts"

MATRICES = ("predicted_loss", "decision_loss", "difference", "reliability_gap", "low", "high")


def paper_thresholds(y):
    return np.linspace(y.min(), min(10.0, y.max()), 50)


def sample(n=400, seed=0, spread=0.6):
    rng = np.random.default_rng(seed)
    mu = rng.normal(size=n)
    return Normal(mu, spread), rng.normal(mu, 1.0)


# ---------------------------------------------------------------------- reference


@pytest.mark.parametrize("strict", [True, False])
def test_simulation_of_the_reference(case, strict):
    content, forecast, y = case
    events = "le" if not strict else "lt_left" if isinstance(forecast, Ensemble) else "lt"
    expected = content["simulation"][events]
    table = decision_table(
        forecast, y, thresholds=paper_thresholds(y), strict=strict, n_resamples=0
    )
    assert table.thresholds[0] == content["simulation"]["y0_first"]
    overall, by_y0, by_c = table.overall(), table.by_threshold(), table.by_cost_ratio()
    for name in ("decision_loss", "reliability_gap"):
        assert overall[name] == pytest.approx(expected[f"{name}_mean"], abs=1e-12, rel=0)
        assert_allclose(by_y0[name], expected[f"{name}_by_y0"], rtol=0, atol=1e-12)
        assert_allclose(by_c[name], expected[f"{name}_by_c"], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("dataset", "family_name", "seed"),
    [
        ("naval", "gaussian", 0),
        ("crime", "mixture", 3),
        ("protein", "mixture", 1),
        ("los_support2", "gaussian", 2),
        ("dhs_wealth", "gaussian", 1),
    ],
)
def test_whole_frozen_sets(threshold_reference, family, dataset, family_name, seed):
    if not FROZEN.is_dir():
        pytest.skip(f"the frozen forecasts are not at hand: no folder {FROZEN}")
    frame = pl.read_parquet(FROZEN / f"{dataset}_{family_name}_seed{seed}.parquet")
    rows = frame.filter(pl.col("split").cast(pl.String) == "test")
    columns = {
        name: rows[name].to_numpy().astype(np.float64) for name in rows.columns if name != "split"
    }
    y = columns.pop("y")
    overall = decision_table(
        family(family_name)(**columns), y, thresholds=paper_thresholds(y), n_resamples=0
    ).overall()
    (expected,) = (
        entry["none"]
        for entry in threshold_reference("frozen_full")["results"]
        if (entry["dataset"], entry["family"], entry["seed"]) == (dataset, family_name, seed)
    )
    assert overall["reliability_gap"] == pytest.approx(expected["reliability_gap"], abs=1e-9)
    assert overall["decision_loss"] == pytest.approx(expected["decision_loss"], abs=1e-9)


# ---------------------------------------------------------------------- each maker


@pytest.mark.parametrize("strict", [True, False])
def test_each_cell_is_what_the_functions_give(tied, strict):
    forecast, y = tied
    weight = np.arange(12) % 4 + 0.5
    thresholds, ratios, levels = [0.5, -1.0, 0.25], [0.5, 0.0, 0.25, 1.0], [0.75, 0.25, 0.3]
    table = decision_table(
        forecast, y, thresholds=thresholds, cost_ratios=ratios, levels=levels, total=4.0,
        strict=strict, n_resamples=0, sample_weight=weight,
    )  # fmt: skip
    losses = [
        ThresholdLoss.from_cost_ratio(t, c, total=4.0, strict=strict)
        for t in thresholds
        for c in ratios
    ]
    weighted = {"sample_weight": weight}
    for matrix, values in (
        (table.predicted_loss, predicted_loss(forecast, losses, **weighted)),
        (table.decision_loss, decision_loss(forecast, y, losses, **weighted)),
        (table.reliability_gap, reliability_gap(forecast, y, losses, levels=levels, **weighted)),
    ):
        assert_allclose(matrix, np.reshape(values, (3, 4)), rtol=0, atol=1e-12)
    assert_array_equal(table.difference, table.predicted_loss - table.decision_loss)


def test_grids_by_default_are_those_of_the_paper():
    forecast, y = sample()
    table = decision_table(forecast, y, n_resamples=0)
    assert_array_equal(table.thresholds, np.linspace(y.min(), y.max(), 50))
    assert_array_equal(table.cost_ratios, np.linspace(0.05, 0.95, 50))
    assert_array_equal(table.levels, np.linspace(0.05, 0.95, 50))
    assert (table.total, table.strict, table.n) == (10.0, True, 400)
    few = decision_table(forecast, y, thresholds=3, cost_ratios=4, levels=2, n_resamples=0)
    assert few.predicted_loss.shape == (3, 4)
    assert_array_equal(few.levels, [0.05, 0.95])


def test_weight_zero_is_a_row_left_out():
    forecast, y = sample(60)
    weight = np.tile([1.0, 0.0, 2.0], 20)
    rows = weight > 0
    options = {"thresholds": 4, "n_resamples": 99, "random_state": 3}
    table = decision_table(forecast, y, sample_weight=weight, **options)
    shorter = decision_table(forecast[rows], y[rows], sample_weight=weight[rows], **options)
    assert table.n == 40
    for name in MATRICES:
        assert_array_equal(getattr(table, name), getattr(shorter, name))


def test_whole_weights_are_repeated_rows():
    forecast, y = sample(60)
    weight = np.arange(60) % 3 + 1
    rows = np.repeat(np.arange(60), weight)
    table = decision_table(forecast, y, thresholds=4, sample_weight=weight, n_resamples=0)
    repeated = decision_table(forecast[rows], y[rows], thresholds=4, n_resamples=0)
    for name in ("predicted_loss", "decision_loss", "reliability_gap"):
        assert_allclose(getattr(table, name), getattr(repeated, name), rtol=0, atol=1e-12)


# ---------------------------------------------------------------------- intervals


@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_of_a_twin_that_draws_rows(weighted):
    forecast, y = sample(300)
    weight = np.where(np.arange(300) < 100, 3.0, 1.0) if weighted else np.ones(300)
    thresholds, ratios = np.array([-1.0, 0.0, 0.5]), np.array([0.2, 0.6])
    table = decision_table(
        forecast, y, thresholds=thresholds, cost_ratios=ratios, n_resamples=4000,
        confidence_level=0.9, random_state=0, sample_weight=weight if weighted else None,
    )  # fmt: skip

    terms = np.empty((3, 2, 300))
    for t, threshold in enumerate(thresholds):
        prob, below = forecast.cdf(threshold), y < threshold
        for c, ratio in enumerate(ratios):
            act = prob >= ratio
            cost = np.where(act, -10 * ratio, 10 * (1 - ratio))
            terms[t, c] = cost * (prob - below)
    rng = np.random.default_rng(1)
    drawn = np.empty((4000, 3, 2))
    for b in range(4000):
        rows = rng.integers(300, size=300)
        drawn[b] = terms[..., rows] @ weight[rows] / weight[rows].sum()

    def check(found, values):
        low, high = np.quantile(values, [0.05, 0.95], axis=0)
        assert_allclose(found["low"], low, rtol=0, atol=0.07 * np.max(high - low))
        assert_allclose(found["high"], high, rtol=0, atol=0.07 * np.max(high - low))

    check({"low": table.low, "high": table.high}, drawn)
    check(table.by_threshold(), drawn.mean(axis=2))
    check(table.by_cost_ratio(), drawn.mean(axis=1))
    check(table.overall(), drawn.mean(axis=(1, 2)))


def test_intervals_hold_the_estimate_and_grow_with_the_level():
    forecast, y = sample()
    options = {"thresholds": 5, "cost_ratios": 5, "random_state": 0}
    wide = decision_table(forecast, y, confidence_level=0.99, **options)
    narrow = decision_table(forecast, y, confidence_level=0.5, **options)
    for table in (wide, narrow):
        assert (table.low <= table.difference).all()
        assert (table.difference <= table.high).all()
    assert (wide.low <= narrow.low).all()
    assert (wide.high >= narrow.high).all()
    assert (wide.high - wide.low > narrow.high - narrow.low).any()


def test_same_seed_same_table_whatever_the_threads_and_blocks(monkeypatch):
    forecast, y = sample(20_000)
    options = {"thresholds": 5, "cost_ratios": 6, "n_resamples": 70}
    table = decision_table(forecast, y, random_state=4, **options)
    monkeypatch.setattr("calibrant.parallel.n_processors", lambda: 1)
    monkeypatch.setattr("calibrant.decisions.makers._MAX_ENTRIES", 2 * 20_000)
    again = decision_table(forecast, y, random_state=np.random.default_rng(4), **options)
    other = decision_table(forecast, y, random_state=5, **options)
    for name in MATRICES:
        assert_array_equal(getattr(table, name), getattr(again, name))
    assert (table.low != other.low).any()


def test_progress_counts_up_to_the_last_step(monkeypatch):
    monkeypatch.setattr("calibrant.decisions.makers._MAX_ENTRIES", 2 * 100)
    forecast, y = sample(100)
    calls = []
    decision_table(
        forecast, y, thresholds=5, n_resamples=70, random_state=0,
        progress=lambda *step: calls.append(step),
    )  # fmt: skip
    n_steps = calls[-1][1]
    assert calls == [(k, n_steps) for k in range(1, n_steps + 1)]


# ---------------------------------------------------------------------- what comes back


def test_means_over_the_makers():
    table = decision_table(*sample(), thresholds=4, cost_ratios=3, random_state=0)
    by_y0, by_c, overall = table.by_threshold(), table.by_cost_ratio(), table.overall()
    assert_array_equal(by_y0["threshold"], table.thresholds)
    assert_array_equal(by_c["cost_ratio"], table.cost_ratios)
    for name in ("predicted_loss", "decision_loss", "difference", "reliability_gap"):
        matrix = getattr(table, name)
        assert_allclose(by_y0[name], matrix.mean(axis=1), rtol=0, atol=1e-15)
        assert_allclose(by_c[name], matrix.mean(axis=0), rtol=0, atol=1e-15)
        assert overall[name] == pytest.approx(matrix.mean(), abs=1e-15)
        assert type(overall[name]) is float
    for means in (by_y0, by_c, overall):
        assert np.all(means["low"] <= means["difference"])
        assert np.all(means["difference"] <= means["high"])


def test_without_resamples_there_are_no_intervals():
    table = decision_table(*sample(), thresholds=3, n_resamples=0)
    assert table.low is None
    assert table.high is None
    for means in (table.by_threshold(), table.by_cost_ratio(), table.overall()):
        assert "low" not in means
    assert "low" not in table.to_frame("polars").columns
    assert table.to_dict()["low"] is None
    assert "Intervals" not in repr(table)


def test_a_frame_has_a_row_for_each_maker():
    table = decision_table(*sample(), thresholds=4, cost_ratios=3, random_state=0)
    frame = table.to_frame("polars")
    assert frame.columns == [
        "threshold", "cost_ratio", "predicted_loss", "decision_loss", "difference", "low", "high",
        "reliability_gap",
    ]  # fmt: skip
    assert frame.height == 12
    row = frame.row(7, named=True)  # threshold 2, ratio 1
    assert row["threshold"] == table.thresholds[2]
    assert row["cost_ratio"] == table.cost_ratios[1]
    for name in MATRICES:
        assert row[name] == getattr(table, name)[2, 1]
    assert isinstance(table.to_frame("pandas"), pd.DataFrame)


def test_a_dictionary_of_plain_values():
    table = decision_table(*sample(), thresholds=3, cost_ratios=2, random_state=0)
    content = table.to_dict()
    assert content["n"] == 400
    assert content["low"] == table.low.tolist()
    assert content["difference"] == table.difference.tolist()
    assert content["levels"] == table.levels.tolist()


def test_the_table_in_words():
    text = repr(decision_table(*sample(), random_state=0))
    assert text.startswith("DecisionTable: 50 thresholds x 50 cost ratios, 400 rows, total cost 10")
    assert "of 2500 decision makers" in text
    assert text.endswith("... and 30 more thresholds")


def test_resamples_are_weighted_means_of_their_own_rows():
    # All rows are off by the same, so every weighted mean is.
    weight = np.arange(1, 31)
    table = decision_table(
        Normal(np.zeros(30), 1.0), np.full(30, 0.5), thresholds=[0.0, 1.0], n_resamples=99,
        random_state=0, sample_weight=weight,
    )  # fmt: skip
    assert np.abs(table.difference).min() > 0.01
    assert_allclose(table.low, table.difference, rtol=0, atol=1e-12)
    assert_allclose(table.high, table.difference, rtol=0, atol=1e-12)


def test_one_row_and_one_outcome():
    table = decision_table(Normal([0.0], 1.0), [0.5], n_resamples=40, random_state=0)
    assert_array_equal(table.thresholds, 0.5)
    assert_allclose(table.low, table.difference, atol=1e-15)


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"thresholds": 1}, "thresholds is 1: it must be a number of values of at least 2"),
        ({"thresholds": 2.5}, "thresholds has shape ()"),
        ({"thresholds": []}, "thresholds has shape (0,)"),
        ({"thresholds": [0.0, np.inf]}, "thresholds[1] is inf"),
        ({"cost_ratios": [0.5, 1.5]}, "cost_ratios[1] is 1.5"),
        ({"cost_ratios": 0}, "cost_ratios is 0"),
        ({"levels": [-0.5]}, "levels[0] is -0.5"),
        ({"total": -1.0}, "total must be positive, got -1.0"),
        ({"strict": 1}, "strict must be True or False, got 1"),
        ({"confidence_level": 95}, "confidence_level must be a number between 0 and 1"),
        ({"n_resamples": -1}, "n_resamples must be an integer"),
        ({"n_resamples": False}, "n_resamples must be an integer"),
        ({"n_resamples": 10.5}, "n_resamples must be an integer"),
        ({"random_state": "x"}, "random_state must be None"),
        ({"sample_weight": np.zeros(400)}, "sample_weight is zero in every row"),
        ({"y": None}, "y is None"),
        ({"y": [0.0]}, "1"),
        ({"y": np.full(400, np.nan)}, "y[0] is nan"),
    ],
)
def test_bad_input(options, message):
    forecast, y = sample()
    with pytest.raises(ValueError, match=re.escape(message)):
        decision_table(forecast, options.pop("y", y), **options)
