"""Rows drawn with replacement, and sums over such resamples, of which no copy is made.

A resample is a multiplicity m for each row: how often it was drawn. Replicates run abreast, so that
a row is read once for all of them; `m` has a row for each row of the data and a column for each
replicate. A multiplicity above 255 would not fit, but has a probability below 1e-500.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.bins import bin_of
from calibrant.kernels.compiling import kernel
from calibrant.kernels.simplex import STEP, strip, terms_of_rows
from calibrant.kernels.vectors import WIDTH, aligned

# Enough for the compiler to run them through vector registers.
N_ABREAST = 32

# Rows drawn from at a time: their multiplicities stay in the cache, and 16 bits name a row.
BLOCK = 1 << 13

# What is summed of the rows of a bin, apart for those with y = 0 and y = 1: the weights w, and w p.
WEIGHT, PROB = 0, 1

# What is summed of kernel terms h_ij of rows that count u_i: u_i u_j h_ij over pairs i < j,
# u_i^2 h_ii, u_i h_ii and u_i.
PAIRS, SQUARED, SINGLE, TOTAL = 0, 1, 2, 3


@kernel
def scrambled(counter: Any) -> Any:
    """Random bits from a counter in steps of the golden ratio: the SplitMix64 generator."""
    z = (counter ^ (counter >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def draw_rows(seeds: Any, n_draws: Any, m: Any) -> None:
    """Draw from the rows of a block, for replicate r n_draws[r] times with the seed seeds[r]."""
    m[:] = 0
    rows = np.uint64(len(m))
    mask = np.uint64(1)
    while mask < rows:
        mask <<= np.uint64(1)
    mask -= np.uint64(1)
    for r in range(m.shape[1]):
        counter = seeds[r]
        left = n_draws[r]
        while left > 0:
            counter += np.uint64(0x9E3779B97F4A7C15)
            bits = scrambled(counter)
            for _ in range(4):
                row = bits & mask
                bits >>= np.uint64(16)
                # Numbers beyond the last row are drawn anew: all rows stay equally likely.
                if row < rows and left > 0:
                    m[row, r] += np.uint8(1)
                    left -= 1


@kernel
def add_binned_rows(
    prob: Any, target: Any, weight: Any, codes: Any, lower: Any, grid: Any,
    start: Any, m: Any, sums: Any,
) -> None:  # fmt: skip
    """Add rows start, start + 1, ... to sums (bins, 2, 2, N_ABREAST), by bin and outcome.

    Panel k holds column k of `prob` (n, K) against the event target == codes[k]; bins of all
    panels are numbered through, as in `bins`.
    """
    for j in range(len(m)):
        i = start + j
        w = 1.0
        if weight is not None:
            w = weight[i]
        for k in range(prob.shape[1]):
            p = np.float64(prob[i, k])
            b = bin_of(p, lower, grid[k])
            y = int(target[i] == codes[k])
            for r in range(N_ABREAST):
                u = w * m[j, r]
                sums[b, y, WEIGHT, r] += u
                sums[b, y, PROB, r] += u * p


@kernel
def add_runs(prob: Any, hit: Any, weight: Any, starts: Any, sums: Any) -> None:
    """Add sorted rows to sums (bins, 2, 2), those from starts[b] to starts[b + 1] to bin b."""
    for b in range(len(starts) - 1):
        for i in range(starts[b], starts[b + 1]):
            sums[b, hit[i], WEIGHT] += weight[i]
            sums[b, hit[i], PROB] += weight[i] * prob[i]


@kernel
def add_sorted_rows(
    decay: Any, residual: Any, weight: Any, m: Any, running: Any, sums: Any
) -> None:
    """Take the next rows into the sums (4, N_ABREAST) of scalar terms, as explained in `laplace`.

    `running` carries the sum over earlier rows.
    """
    for i in range(len(m)):
        d = decay[i]
        e = residual[i]
        w = 1.0
        if weight is not None:
            w = weight[i]
        for r in range(N_ABREAST):
            u = w * m[i, r]
            x = u * e
            earlier = d * running[r]
            running[r] = earlier + x
            sums[PAIRS, r] += x * earlier
            sums[SQUARED, r] += x * x
            sums[SINGLE, r] += x * e
            sums[TOTAL, r] += u


@kernel
def add_diagonal(diagonal: Any, weight: Any, m: Any, sums: Any) -> None:
    """Add terms h_ii of all rows to the sums (4, B) but PAIRS."""
    for i in range(len(m)):
        h = diagonal[i]
        w = 1.0
        if weight is not None:
            w = weight[i]
        for r in range(m.shape[1]):
            u = w * m[i, r]
            sums[SQUARED, r] += u * u * h
            sums[SINGLE, r] += u * h
            sums[TOTAL, r] += u


@kernel
def add_strip(
    prob: Any, codes: Any, weight: Any, bandwidth: Any, first: Any, m: Any, pairs: Any
) -> None:
    """Add the pairs i < j of vector terms with j in a strip that begins at `first`; see `simplex`.

    pairs (B,) collects u_i u_j h_ij for each replicate.
    """
    columns, residuals, width = strip(prob, codes, first)
    terms = aligned(STEP)
    counts = np.zeros((STEP, m.shape[1]))
    sums = np.zeros((WIDTH, m.shape[1]))
    stop = first + width
    for start in range(0, stop, STEP):
        terms_of_rows(prob, codes, weight, bandwidth, start, first, columns, residuals, terms)
        rows = min(STEP, stop - start)
        counts[:rows] = m[start : start + rows]
        add_products(terms, counts, sums)
    for c in range(width):
        for r in range(len(pairs)):
            pairs[r] += m[first + c, r] * sums[c, r]


@kernel
def add_products(terms: Any, counts: Any, sums: Any) -> None:
    """sums (WIDTH, B) += the transposed terms (STEP, WIDTH) times counts (STEP, B)."""
    for c in range(WIDTH):
        for i in range(0, STEP, 4):
            t0, t1, t2, t3 = terms[i, c], terms[i + 1, c], terms[i + 2, c], terms[i + 3, c]
            for r in range(counts.shape[1]):
                sums[c, r] += (t0 * counts[i, r] + t1 * counts[i + 1, r]) + (
                    t2 * counts[i + 2, r] + t3 * counts[i + 3, r]
                )
