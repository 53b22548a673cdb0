"""What a benchmark case is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Data = dict[str, np.ndarray]
Outcome = dict[str, Any]


@dataclass(frozen=True)
class Contender:
    """One library's way to do a case.

    `prepare` imports the library, brings the data into the form it takes, and returns the call
    that is measured. `outcome` turns what the call returned into named arrays: those that two
    contenders both name mean the same and are compared.
    """

    name: str
    prepare: Callable[[Data], Callable[[], Any]]
    outcome: Callable[[Any, Data], Outcome]
    faster: float | None = None
    """How many times faster than this peer we aim to be."""


@dataclass(frozen=True)
class Case:
    """One job on one data set: ours, and the peers that do the same."""

    name: str
    job: str
    data: Callable[[int], Data]
    reads: tuple[str, ...]
    """The arrays that make up the input, for its size."""
    rows: int
    quick_rows: int
    ours: Contender
    peers: tuple[Contender, ...] = ()
    memory_share: float | None = None
    """Aim: our peak memory beyond the input, as a share of the input."""
    first_call: bool = True
    """Whether the first call in a fresh process is worth a figure of its own."""
