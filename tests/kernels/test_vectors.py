"""Arithmetic in vector registers, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.kernels import vectors
from calibrant.kernels.compiling import kernel

WIDTH = vectors.WIDTH


def exponentials(x):
    values = np.zeros(-(-len(x) // WIDTH) * WIDTH)
    values[: len(x)] = x
    for block in values.reshape(-1, WIDTH):
        vectors.exp_in_place(block)
    return values[: len(x)]


def test_exponentials():
    rng = np.random.default_rng(0)
    for scale in (1e-300, 1e-9, 0.1, 1.0, 30.0, 700.0):
        x = -scale * rng.random(20_000)
        np.testing.assert_array_max_ulp(exponentials(x), np.exp(x), maxulp=2)


def test_exponentials_of_multiples_of_ln_2():
    x = -np.log(2) * np.arange(1020) / 2
    for near in (x, np.nextafter(x, -1), np.nextafter(x, 0)):
        np.testing.assert_array_max_ulp(exponentials(near), np.exp(near), maxulp=2)


def test_exponentials_at_the_ends():
    x = np.array([0.0, -0.0, -5e-324, -707.9, -708.1, -745.0, -1e10, -1e308, -np.inf])
    np.testing.assert_allclose(exponentials(x), np.exp(x), rtol=1e-15, atol=1e-307)


@kernel
def _added(total, parts):
    rows = vectors.aligned(5)
    rows[0] = total
    rows[1:] = parts
    start = np.int64(rows.ctypes.data)
    size = vectors.ROW_BYTES
    vectors.add_four_rows(start, start + size, start + 2 * size, start + 3 * size, start + 4 * size)
    return rows, start


def test_sums_of_rows():
    rng = np.random.default_rng(0)
    for _ in range(20):
        total, parts = rng.normal(size=WIDTH), rng.normal(size=(4, WIDTH))
        rows, start = _added(total, parts)
        assert start % 64 == 0
        a, b, c, d = parts
        np.testing.assert_array_equal(rows[0], total + ((a + b) + (c + d)))
        np.testing.assert_array_equal(rows[1:], parts)


def test_the_total():
    values = np.random.default_rng(0).normal(size=WIDTH)
    assert vectors.total(values, np.empty(WIDTH // 2)) == pytest.approx(values.sum(), rel=1e-14)
