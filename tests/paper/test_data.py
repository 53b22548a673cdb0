"""Rows, features and splits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from paper.sets import SETS, DataSet

from paper import data

SHARED = Path(__file__).parents[3] / "shared" / "data"


def test_random_rows():
    rows = data.random_rows(100, 3)
    assert [len(rows[split]) for split in data.SPLITS] == [63, 7, 30]
    assert sorted(np.concatenate(list(rows.values()))) == list(range(100))
    np.testing.assert_array_equal(rows["test"], np.random.RandomState(3).permutation(100)[70:])
    assert set(rows["test"]) != set(data.random_rows(100, 4)["test"])


def test_groups_stay_whole():
    group = np.repeat(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"], 10)
    rows = data.grouped_rows(group, 0)
    assert sorted(np.concatenate(list(rows.values()))) == list(range(100))
    found = [set(group[rows[split]]) for split in data.SPLITS]
    assert [len(groups) for groups in found] == [6, 1, 3]
    assert sum(map(len, found)) == 10


def test_features():
    frame = pl.DataFrame(
        {
            "number": [1.0, None, 5.0, 3.0],
            "word": ["b", "a", None, "b"],
            "flag": [True, False, True, True],
            "y": [0.0] * 4,
        }
    )
    data_set = DataSet("", "y", "")
    # Words are indicators of "a" and "b"; the median of the first three rows is 3.
    np.testing.assert_array_equal(
        data.features(frame, data_set, np.arange(3)),
        [[1, 0, 0, 1, 0, 1], [3, 1, 1, 0, 0, 0], [5, 0, 0, 0, 1, 1], [3, 0, 0, 1, 0, 1]],
    )
    complete = DataSet("", "y", "", complete_only=True)
    np.testing.assert_array_equal(
        data.features(frame, complete, np.arange(3)), [[1], [0], [1], [1]]
    )


def test_standardised_by_the_training_rows(crime):
    data_set = SETS["crime"]
    frame = data.read(crime, "crime", data_set)
    parts = data.parts(frame, data_set, 0)
    train = parts["train"]
    assert train.x.shape == (126, 1)  # the identifying and the incomplete columns are left out
    assert train.x.dtype == train.y.dtype == np.float32
    for values in (train.x[:, 0], train.y):
        assert values.mean() == pytest.approx(0.0, abs=1e-6)
        assert values.std() == pytest.approx(1.0, abs=1e-6)
    assert abs(parts["test"].y.mean()) > 1e-3


def test_constant_features_stay_finite():
    values = np.column_stack([np.ones(5), np.arange(5.0)])
    found = data.standardised(values, np.arange(5))
    np.testing.assert_array_equal(found[:, 0], 0.0)


def test_missing_file_says_where_to_get_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"archive\.ics\.uci\.edu/dataset/265.*--data"):
        data.read(tmp_path, "protein", SETS["protein"])


def test_wrong_file_names_the_column(tmp_path):
    (tmp_path / "naval").mkdir()
    pl.DataFrame({"x": [1.0]}).write_parquet(tmp_path / "naval" / "naval.parquet")
    with pytest.raises(ValueError, match="no column 'lp'"):
        data.read(tmp_path, "naval", SETS["naval"])


@pytest.mark.skipif(not SHARED.is_dir(), reason="the data are not beside the checkout")
@pytest.mark.parametrize("name", ["crime", "energy", "dhs_wealth", "los_support2"])
def test_same_outcomes_as_the_frozen_forecasts(name):
    frame = data.read(SHARED, name, SETS[name])
    for seed in (0, 3):
        frozen = pl.read_parquet(SHARED / "forecasts" / f"{name}_gaussian_seed{seed}.parquet")
        for split, part in data.parts(frame, SETS[name], seed).items():
            expected = frozen.filter(pl.col("split").cast(pl.String) == split)["y"]
            np.testing.assert_array_equal(part.y, expected)
