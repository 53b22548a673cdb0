"""Bootstrap resamples of rows as multiplicities: how often each row was drawn in each replicate."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from calibrant.parallel import Progress, in_order

Multiplicities = NDArray[np.uint8]
Floats = NDArray[np.float64]


class Resamples:
    """`n_resamples` draws of n of n rows with replacement, all rows equally likely.

    How many draws fall on each block of rows, and the seed of those draws, are fixed here for every
    replicate. So its multiplicities can be made anew anywhere, at any time, by any thread.
    """

    def __init__(
        self, n: int, n_resamples: int, rng: np.random.Generator, progress: Progress | None
    ) -> None:
        from calibrant.kernels import resampling

        self.n = n
        self.n_resamples = n_resamples
        self.progress = progress
        # Replicates run abreast in groups that are always full; the last ones may be surplus.
        n_replicates = -(-n_resamples // resampling.N_ABREAST) * resampling.N_ABREAST
        self._starts = range(0, n, resampling.BLOCK)
        sizes = np.diff([*self._starts, n])
        self._n_draws = np.ascontiguousarray(rng.multinomial(n, sizes / n, size=n_replicates).T)
        self._seeds = rng.integers(0, 2**64, self._n_draws.shape, dtype=np.uint64)

    def blocks(self, replicates: slice) -> Iterator[tuple[slice, Multiplicities]]:
        """Consecutive rows and their multiplicities (rows, replicates), all in the same memory."""
        from calibrant.kernels import resampling

        seeds, n_draws = self._seeds[:, replicates], self._n_draws[:, replicates]
        buffer = np.empty((min(self.n, resampling.BLOCK), seeds.shape[1]), dtype=np.uint8)
        for block, start in enumerate(self._starts):
            rows = slice(start, min(start + resampling.BLOCK, self.n))
            m = buffer[: rows.stop - start]
            resampling.draw_rows(seeds[block], n_draws[block], m)
            yield rows, m

    def multiplicities(self, replicates: slice) -> Multiplicities:
        """Those of all rows, (n, replicates)."""
        return np.concatenate([m.copy() for _, m in self.blocks(replicates)])

    def pairs(self, replicate: int) -> NDArray[np.int64]:
        """n // 2 random pairs of rows, (2, n // 2), in place of multiplicities."""
        rng = np.random.default_rng(self._seeds[0, replicate])
        return rng.integers(self.n, size=(2, self.n // 2))

    def evaluate(self, statistic: Callable[[slice], Floats], n_abreast: int) -> Floats:
        """The statistic of all replicates, (n_resamples,), of `n_abreast` replicates at a time."""
        groups = [
            slice(start, start + n_abreast) for start in range(0, self.n_resamples, n_abreast)
        ]
        values = list(in_order(statistic, groups, self.progress))
        return np.concatenate(values)[: self.n_resamples]
