"""Arithmetic that runs through the widest vector registers, where the compiler would not."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from calibrant.kernels.compiling import kernel
from calibrant.kernels.exact_sums import bits_of

# Numbers that are worked on together: some registers full.
WIDTH = 32

# Doubles in a register of 64 bytes; where registers are smaller, several take its place.
_LANES = 8
ROW_BYTES = 8 * WIDTH

# exp(-708) is about the smallest normal double.
_LOWEST = -708.0
_LOG2_E = 1.4426950408889634
# ln 2 in two parts, the first with so few bits that its small multiples are exact.
_LN2_HIGH, _LN2_LOW = 0.69314718036912381649, 1.90821492927058770002e-10
# A double near this has its integer part in its lowest bits.
_ROUNDING = 6755399441055744.0


@intrinsic
def double_of(typing_context: Any, bits: Any) -> Any:
    """The double that an integer of 64 bits holds."""

    def bitcast(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), bitcast


@intrinsic
def add_four_rows(typing_context: Any, total: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """total += (a + b) + (c + d), each the address of WIDTH doubles that `aligned` gave.

    The compiler by itself shuns the largest registers, and does not know of the alignment, without
    which they would be of no use: this is twice as fast.
    """
    vector = ir.VectorType(ir.DoubleType(), _LANES)

    def add(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows = [builder.inttoptr(address, vector.as_pointer()) for address in arguments]
        for lane in range(WIDTH // _LANES):
            place = [ir.Constant(ir.IntType(64), lane)]
            parts = [builder.gep(row, place) for row in rows]
            t, a, b, c, d = (builder.load(part, align=8 * _LANES) for part in parts)
            more = builder.fadd(builder.fadd(a, b), builder.fadd(c, d))
            builder.store(builder.fadd(t, more), parts[0], align=8 * _LANES)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), add


@kernel
def aligned(n_rows: Any) -> Any:
    """Zeros (n_rows, WIDTH) that begin at a multiple of 64 bytes."""
    memory = np.zeros(n_rows * WIDTH + _LANES)
    start = (-memory.ctypes.data % 64) // 8
    return memory[start : start + n_rows * WIDTH].reshape(n_rows, WIDTH)


@kernel
def exp_in_place(values: Any) -> None:
    """Exponentials of WIDTH numbers up to 0, with an error of 2 ulp; 0 below the normal doubles."""
    for c in range(WIDTH):
        x = values[c]
        rounded = x * _LOG2_E + _ROUNDING
        n = rounded - _ROUNDING
        r = (x - n * _LN2_HIGH) - n * _LN2_LOW
        # The series of exp(r), |r| <= ln(2) / 2, times 2 ** n by an addition to the exponent.
        p = 1 / 6227020800
        p = p * r + 1 / 479001600
        p = p * r + 1 / 39916800
        p = p * r + 1 / 3628800
        p = p * r + 1 / 362880
        p = p * r + 1 / 40320
        p = p * r + 1 / 5040
        p = p * r + 1 / 720
        p = p * r + 1 / 120
        p = p * r + 1 / 24
        p = p * r + 1 / 6
        p = p * r + 1 / 2
        p = p * r + 1.0
        p = p * r + 1.0
        scaled = double_of(bits_of(p) + (bits_of(rounded) << 52))
        values[c] = scaled if x > _LOWEST else 0.0


@kernel
def total(values: Any, halves: Any) -> Any:
    """The sum of WIDTH numbers; `halves` is memory for half as many."""
    for c in range(16):
        halves[c] = values[c] + values[c + 16]
    for c in range(8):
        halves[c] += halves[c + 8]
    for c in range(4):
        halves[c] += halves[c + 4]
    return (halves[0] + halves[2]) + (halves[1] + halves[3])
