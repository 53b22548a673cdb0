"""Sums of a bin are exact: compared with fractions, over the whole range of doubles."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import reliability_table

probability = st.floats(0, 1) | st.sampled_from([0.0, -0.0, 1.0, 5e-324, 2.2e-308, 1e-300, 0.5])
weight = st.floats(0, 1e305) | st.sampled_from([5e-324, 2.2250738585072014e-308, 1.0, 1e305])
modest = settings(deadline=None, max_examples=100)


def exact(values: list[float]) -> Fraction:
    return sum(map(Fraction, values), Fraction(0))


def of_parts(parts: list[float]) -> Fraction:
    return exact(parts)


@modest
@given(st.lists(probability, min_size=1, max_size=50))
def test_the_sum_of_predictions(p: list[float]) -> None:
    table = reliability_table([1] * len(p), p, n_bins=1)
    assert of_parts(table.to_dict()["sum_prob"][0]) == exact(p)
    assert table.sum_prob[0] == math.fsum(p)
    assert table.mean_prob[0] == float(exact(p) / len(p))


@modest
@given(st.lists(st.tuples(probability, weight, st.booleans()), min_size=1, max_size=50))
def test_weighted_sums(rows: list[tuple[float, float, bool]]) -> None:
    rows.append((0.5, 1.0, True))
    p, w, y = (list(column) for column in zip(*rows, strict=True))
    content = reliability_table(y, p, n_bins=1, sample_weight=w).to_dict()
    assert of_parts(content["sum_weight"][0]) == exact(w)
    assert of_parts(content["sum_prob"][0]) == exact([a * b for a, b in zip(p, w, strict=True)])
    assert of_parts(content["sum_true"][0]) == exact(
        [b for b, hit in zip(w, y, strict=True) if hit]
    )


def test_many_rows_carry() -> None:
    n = 300_000
    p = np.nextafter(1.0, 0.0)
    table = reliability_table(np.ones(n), np.full(n, p), n_bins=1)
    assert of_parts(table.to_dict()["sum_prob"][0]) == n * Fraction(p)


@pytest.mark.parametrize("bits", range(0, 1074, 31))
def test_every_place_of_the_digits(bits: int) -> None:
    p = [math.ldexp(1.0 - 2**-53, -bits), math.ldexp(1.0, -bits), math.ldexp(0.75, -bits)] * 3
    table = reliability_table([1] * len(p), p, n_bins=1)
    assert of_parts(table.to_dict()["sum_prob"][0]) == exact(p)
