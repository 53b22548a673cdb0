"""How the kernels are compiled: without the GIL, and cached on disk where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile a loop with numba; cached on disk unless no cache folder can be written."""
    try:
        compiled: F = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:
        # A read-only install of a user without a writable home: compile anew in each process.
        compiled = numba.njit(nogil=True)(function)
    return compiled
