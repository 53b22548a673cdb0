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

WIDTH = 32
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
def inner_products(row: Any, code: Any, residuals: Any, products: Any) -> None:
    """Inner products of the residual of a row, whose class is `code`, with those of the strip."""
    products[:] = 0.0
    for k in range(len(row)):
        e = (k == code) - np.float64(row[k])
        for c in range(WIDTH):
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
def add_strip(
    prob: Any, codes: Any, weight: Any, bandwidth: Any, first: Any,
    row_sums: Any, signs: Any, quadratic: Any,
) -> None:  # fmt: skip
    """Add the pairs i < j with j in first, ..., first + WIDTH - 1.

    row_sums[i] collects w_i w_j h_ij over the other rows j. With signs (n / STEP, B), quadratic
    (B,) collects for each replicate the sum over pairs of its sign_i sign_j h_ij.
    """
    columns = np.zeros((prob.shape[1], WIDTH))
    residuals = np.zeros((prob.shape[1], WIDTH))
    width = transpose(prob, first, columns)
    for c in range(width):
        for k in range(prob.shape[1]):
            residuals[k, c] = (k == codes[first + c]) - columns[k, c]
    squares = np.empty(WIDTH)
    products = np.empty(WIDTH)
    terms = np.empty((STEP, WIDTH))
    if signs is not None:
        sums = np.zeros((signs.shape[1], WIDTH))
        table = np.empty((STEP // 4, _PATTERNS, WIDTH))
    for start in range(0, first + width, STEP):
        terms[:] = 0.0
        for i in range(start, min(start + STEP, first + width)):
            squared_distances(prob[i], columns, squares)
            inner_products(prob[i], codes[i], residuals, products)
            for c in range(max(0, i + 1 - first), width):
                term = math.exp(-math.sqrt(squares[c]) / bandwidth) * products[c]
                if weight is not None:
                    term *= weight[i] * weight[first + c]
                terms[i - start, c] = term
                row_sums[i] += term
                row_sums[first + c] += term
        if signs is not None:
            add_signed_terms(terms, signs[start // STEP], table, sums)
    if signs is not None:
        for c in range(width):
            word, bit = signs[(first + c) // STEP], 1 << (first + c) % STEP
            for r in range(len(quadratic)):
                quadratic[r] += sums[r, c] if (word[r] & bit) != 0 else -sums[r, c]


@kernel
def add_signed_terms(terms: Any, words: Any, table: Any, sums: Any) -> None:
    """sums[r] += the sum over STEP rows of the sign in replicate r times the row's terms."""
    for q in range(STEP // 4):
        for c in range(WIDTH):
            table[q, 0, c] = -(
                terms[4 * q, c] + terms[4 * q + 1, c] + terms[4 * q + 2, c] + terms[4 * q + 3, c]
            )
        for a in range(4):
            for pattern in range(1 << a):
                for c in range(WIDTH):
                    table[q, (1 << a) + pattern, c] = (
                        table[q, pattern, c] + 2.0 * terms[4 * q + a, c]
                    )
    for r in range(len(sums)):
        word = np.int64(words[r])
        a = table[0, word & 15]
        b = table[1, (word >> 4) & 15]
        c = table[2, (word >> 8) & 15]
        d = table[3, word >> 12]
        for column in range(WIDTH):
            sums[r, column] += (a[column] + b[column]) + (c[column] + d[column])


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
