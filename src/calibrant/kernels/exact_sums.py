"""Sums of non-negative doubles without any rounding, whatever their order.

Every finite double is a whole multiple of 2**-1074. A sum is kept as one wide whole number in that
unit: 32-bit digits, the lowest first, each in an int64 that leaves room for the carries of
MAX_TERMS additions. The idea is Neal's superaccumulator (2015, arXiv:1505.05571).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from calibrant.kernels.compiling import kernel

# A term adds less than 2**32 to a digit: so many terms are far from overflowing an int64.
MAX_TERMS = 2**30


def n_digits(largest: float) -> int:
    """Digits that hold a sum of MAX_TERMS terms up to `largest`."""
    _, exponent = math.frexp(largest)
    n_bits = 1074 + max(exponent, -1021) + 30
    return n_bits // 32 + 1


@intrinsic
def bits_of(typing_context: Any, value: Any) -> Any:
    """The 64 bits of a double as an integer."""

    def bitcast(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), bitcast


@kernel
def add_exactly(digits: Any, value: Any) -> None:
    """Add a non-negative double to a row of digits."""
    bits = bits_of(value)
    exponent = (bits >> 52) & 0x7FF  # without the sign, which -0.0 has
    significand = bits & 0xFFFFFFFFFFFFF
    if exponent > 0:
        significand |= 1 << 52
        exponent -= 1
    # Unsigned, so that numba need not allow for an index from the end.
    first = np.uint64(exponent >> 5)
    shift = exponent & 31
    # The 53 bits, moved up by `shift`, fall on up to three digits.
    digits[first] += (significand << shift) & 0xFFFFFFFF
    digits[first + np.uint64(1)] += (significand >> (32 - shift)) & 0xFFFFFFFF
    digits[first + np.uint64(2)] += (significand >> 32) >> (32 - shift)


def whole_numbers(digits: NDArray[np.int64]) -> list[int]:
    """The sums held in the rows of (m, n_digits) as whole numbers of 2**-1074."""
    carry = np.zeros(len(digits), dtype=np.int64)
    low = np.empty(digits.shape, dtype="<u4")
    for j in range(digits.shape[1]):
        total = digits[:, j] + carry
        low[:, j] = total & 0xFFFFFFFF
        carry = total >> 32
    return [int.from_bytes(row.tobytes(), "little") for row in low]
