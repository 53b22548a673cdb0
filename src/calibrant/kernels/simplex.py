"""Sums over all pairs of rows of exp(-||p_i - p_j|| / h) <e_i, e_j>, for rows p on the simplex.

Pairs are visited in strips of WIDTH columns j, against all rows i < j, STEP rows at a time; nothing
of the size n x n is held. Distances are sums of squared differences, since those from a matrix
product would lose the distances of nearly equal rows to cancellation.

Signs w of wild-bootstrap replicates are bits, STEP rows to a word. Sums with signs are looked up:
four rows have only sixteen signed sums, which all replicates share.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrant.kernels.compiling import kernel
from calibrant.kernels.exact_sums import bits_of
from calibrant.kernels.vectors import (
    ROW_BYTES,
    WIDTH,
    add_four_rows,
    aligned,
    exp_in_place,
    total,
)

STEP = 16
_PATTERNS = 16
# Pairs worth a thread's attention: some milliseconds, or some tens of them with signs.
_PAIRS_PER_PIECE = 1 << 20


def pieces(n: int) -> list[range]:
    """The first columns of all strips of n rows, cut into pieces of work."""
    size = WIDTH * max(1, _PAIRS_PER_PIECE // (WIDTH * n))
    return [range(start, min(start + size, n), WIDTH) for start in range(0, n, size)]


@kernel
def transpose(prob: Any, first: Any, columns: Any) -> Any:
    """Copy rows first, first + 1, ... into the columns of (K, WIDTH); how many there were."""
    width = min(WIDTH, len(prob) - first)
    for k in range(prob.shape[1]):
        for c in range(width):
            columns[k, c] = prob[first + c, k]
    return width


@kernel
def squared_distances(row: Any, columns: Any, squares: Any) -> None:
    """Squared Euclidean distances between a row (K,) and the columns of (K, WIDTH)."""
    squares[:] = 0.0
    for k in range(len(row)):
        p = np.float64(row[k])
        for c in range(WIDTH):
            difference = p - columns[k, c]
            squares[c] += difference * difference


@kernel
def distances_and_products(
    row: Any, code: Any, columns: Any, residuals: Any, squares: Any, products: Any
) -> None:
    """`squared_distances`, and inner products of the residual of the row, of class `code`, too.

    Both in one pass over the classes: half the time of two.
    """
    squares[:] = 0.0
    products[:] = 0.0
    for k in range(len(row)):
        p = np.float64(row[k])
        e = (k == code) - p
        for c in range(WIDTH):
            difference = p - columns[k, c]
            squares[c] += difference * difference
            products[c] += e * residuals[k, c]


@kernel
def terms_of_pairs(
    prob: Any, codes: Any, bandwidth: Any, rows: Any, others: Any, terms: Any
) -> None:
    """The terms of the given pairs of rows."""
    for m in range(len(terms)):
        i, j = rows[m], others[m]
        square = 0.0
        product = 0.0
        for k in range(prob.shape[1]):
            p, q = np.float64(prob[i, k]), np.float64(prob[j, k])
            square += (p - q) * (p - q)
            product += ((k == codes[i]) - p) * ((k == codes[j]) - q)
        terms[m] = math.exp(-math.sqrt(square) / bandwidth) * product


@kernel
def strip(prob: Any, codes: Any, first: Any) -> Any:
    """The columns and residuals (K, WIDTH) of a strip, 0 beyond the last row, and its width."""
    columns = aligned(prob.shape[1])
    residuals = aligned(prob.shape[1])
    width = transpose(prob, first, columns)
    for c in range(width):
        for k in range(prob.shape[1]):
            residuals[k, c] = (k == codes[first + c]) - columns[k, c]
    return columns, residuals, width


@kernel
def terms_of_rows(
    prob: Any, codes: Any, weight: Any, bandwidth: Any, start: Any, first: Any,
    columns: Any, residuals: Any, terms: Any,
) -> None:  # fmt: skip
    """Terms (STEP, WIDTH) of rows start, start + 1, ... with those after them in a strip."""
    squares = np.empty(WIDTH)
    products = np.empty(WIDTH)
    terms[:] = 0.0
    for i in range(start, min(start + STEP, first + WIDTH, len(prob))):
        distances_and_products(prob[i], codes[i], columns, residuals, squares, products)
        for c in range(WIDTH):
            squares[c] = -math.sqrt(squares[c]) / bandwidth
        exp_in_place(squares)
        # Beyond the last row the products are 0.
        for c in range(WIDTH):
            terms[i - start, c] = squares[c] * products[c] if c > i - first else 0.0
        if weight is not None:
            for c in range(min(WIDTH, len(prob) - first)):
                terms[i - start, c] *= weight[i] * weight[first + c]


@kernel
def add_strip(
    prob: Any, codes: Any, weight: Any, bandwidth: Any, first: Any,
    row_sums: Any, signs: Any, quadratic: Any,
) -> None:  # fmt: skip
    """Add the pairs i < j with j in first, ..., first + WIDTH - 1.

    row_sums[i] collects w_i w_j h_ij over the other rows j. With signs (n / STEP, B), quadratic
    (B,) collects for each replicate the sum over pairs of its sign_i sign_j h_ij.
    """
    columns, residuals, width = strip(prob, codes, first)
    terms = aligned(STEP)
    column_sums = np.zeros(WIDTH)
    halves = np.empty(WIDTH // 2)
    if signs is not None:
        sums = aligned(signs.shape[1])
        table = aligned(STEP // 4 * _PATTERNS)
    for start in range(0, first + width, STEP):
        terms_of_rows(prob, codes, weight, bandwidth, start, first, columns, residuals, terms)
        for i in range(start, min(start + STEP, first + width)):
            row_sums[i] += total(terms[i - start], halves)
            for c in range(WIDTH):
                column_sums[c] += terms[i - start, c]
        if signs is not None:
            add_signed_terms(terms, signs[start // STEP], table, sums)
    for c in range(width):
        row_sums[first + c] += column_sums[c]
    if signs is not None:
        for c in range(width):
            word, bit = signs[(first + c) // STEP], 1 << (first + c) % STEP
            for r in range(len(quadratic)):
                quadratic[r] += sums[r, c] if (word[r] & bit) != 0 else -sums[r, c]


@kernel
def add_signed_terms(terms: Any, words: Any, table: Any, sums: Any) -> None:
    """sums[r] += the sum over STEP rows of the sign in replicate r times the row's terms.

    `table` and `sums` are memory that `aligned` gave.
    """
    for q in range(STEP // 4):
        signed = table[q * _PATTERNS : (q + 1) * _PATTERNS]
        for c in range(WIDTH):
            signed[0, c] = -(
                terms[4 * q, c] + terms[4 * q + 1, c] + terms[4 * q + 2, c] + terms[4 * q + 3, c]
            )
        for a in range(4):
            for pattern in range(1 << a):
                for c in range(WIDTH):
                    signed[(1 << a) + pattern, c] = signed[pattern, c] + 2.0 * terms[4 * q + a, c]
    target = np.int64(sums.ctypes.data)
    signed_sums = np.int64(table.ctypes.data)
    step = _PATTERNS * ROW_BYTES
    for r in range(len(sums)):
        word = np.int64(words[r])
        add_four_rows(
            target + r * ROW_BYTES,
            signed_sums + (word & 15) * ROW_BYTES,
            signed_sums + ((word >> 4) & 15) * ROW_BYTES + step,
            signed_sums + ((word >> 8) & 15) * ROW_BYTES + 2 * step,
            signed_sums + (word >> 12) * ROW_BYTES + 3 * step,
        )


@kernel
def add_signed_values(values: Any, signs: Any, totals: Any) -> None:
    """totals[r] += the sum over rows i of the sign of i in replicate r times values[i]."""
    for i in range(len(values)):
        words, bit = signs[i // STEP], 1 << i % STEP
        for r in range(len(totals)):
            totals[r] += values[i] if (words[r] & bit) != 0 else -values[i]


@kernel
def count_distances(
    prob: Any, weight: Any, first: Any, prefix: Any, shift: Any, counts: Any
) -> None:
    """Count the pairs of a strip by 16 bits of their distance, those above `shift`.

    Of pairs only those whose bits above these 16 equal `prefix`.
    """
    columns = np.zeros((prob.shape[1], WIDTH))
    width = transpose(prob, first, columns)
    squares = np.empty(WIDTH)
    for i in range(first + width):
        squared_distances(prob[i], columns, squares)
        for c in range(max(0, i + 1 - first), width):
            bits = bits_of(math.sqrt(squares[c])) >> shift
            if (bits >> 16) == prefix:
                pairs = 1 if weight is None else weight[i] * weight[first + c]
                counts[bits & 0xFFFF] += pairs


@kernel
def next_distance(prob: Any, first: Any, distance: Any) -> Any:
    """The smallest distance of a pair of a strip above a given one."""
    columns = np.zeros((prob.shape[1], WIDTH))
    width = transpose(prob, first, columns)
    squares = np.empty(WIDTH)
    nearest = np.inf
    for i in range(first + width):
        squared_distances(prob[i], columns, squares)
        for c in range(max(0, i + 1 - first), width):
            between = math.sqrt(squares[c])
            if distance < between < nearest:
                nearest = between
    return nearest
