"""Requantisers as devices have them, emulated bit by bit, and faults of such: what INT_INTERVAL is proven on.

Each takes sums (integers), the scales left, right, out (float32, broadcasting to the sums) and the zero point, and gives
integers that are not saturated yet. The real value is sums·left·right/out + zero point.
Fixed point: gemmlowp's SaturatingRoundingDoublingHighMul and RoundingDivideByPOT (double rounding), and TensorFlow Lite's
variant that adds half a step once and shifts (single rounding), each with a multiplier in [1/2, 1) of 31 or 15 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reference.node import Array

Requantiser = Callable[[Array, Array, Array, Array, int], Array]


def _factor(left: Array, right: Array, out: Array) -> Array:
    return left * right / out


def single(sums: Array, left: Array, right: Array, out: Array, zero: int) -> Array:
    """float32: sum times a factor of three scales."""
    return np.rint(sums.astype(np.float32) * _factor(left, right, out)).astype(np.float64) + zero


def single_with_reciprocal(sums: Array, left: Array, right: Array, out: Array, zero: int) -> Array:
    """float32: the reciprocal of the output's scale is rounded first."""
    return np.rint(sums.astype(np.float32) * (left * right * (np.float32(1) / out))).astype(np.float64) + zero


def single_one_scale_after_the_other(sums: Array, left: Array, right: Array, out: Array, zero: int) -> Array:
    """float32: each scale rounds by itself."""
    return np.rint(sums.astype(np.float32) * left * right / out).astype(np.float64) + zero


def single_with_zero_point_inside(sums: Array, left: Array, right: Array, out: Array, zero: int) -> Array:
    """float32: the zero point is added before rounding."""
    return np.rint(sums.astype(np.float32) * _factor(left, right, out) + np.float32(zero)).astype(np.float64)


def double(sums: Array, left: Array, right: Array, out: Array, zero: int) -> Array:
    """float64 throughout."""
    return np.rint(sums * _factor(*(s.astype(np.float64) for s in (left, right, out)))) + zero


def _fixed_multiplier(left: Array, right: Array, out: Array, bits: int) -> tuple[Array, Array]:
    """(multiplier of `bits` bits, right shift) of the factor: factor ≈ multiplier·2^-(bits + shift)."""
    fraction, exponent = np.frexp(_factor(*(s.astype(np.float64) for s in (left, right, out))))
    multiplier = np.rint(fraction * 2.0**bits).astype(np.int64)
    full = multiplier == 2**bits
    return np.where(full, 2 ** (bits - 1), multiplier), -exponent - full


def _shifted(sums: Array, multiplier: Array, shift: Array) -> Array:
    """sums·multiplier/2^shift, half a step added and cut: half-ways go up."""
    return (sums.astype(np.int64) * multiplier + (np.int64(1) << (shift - 1))) >> shift


def fixed(sums: Array, left: Array, right: Array, out: Array, zero: int) -> Array:
    """31-bit multiplier, one rounding."""
    multiplier, shift = _fixed_multiplier(left, right, out, 31)
    return _shifted(sums, multiplier, shift + 31).astype(np.float64) + zero


def fixed_of_sixteen_bits(sums: Array, left: Array, right: Array, out: Array, zero: int) -> Array:
    """16-bit multiplier, its sign included, one rounding."""
    multiplier, shift = _fixed_multiplier(left, right, out, 15)
    return _shifted(sums, multiplier, shift + 15).astype(np.float64) + zero


def _divided_by_power(x: Array, shift: Array) -> Array:
    """x/2^shift, half-ways away from zero."""
    mask = (np.int64(1) << shift) - 1
    return (x >> shift) + ((x & mask) > (mask >> 1) + (x < 0))


def _doubly_rounded(sums: Array, multiplier: Array, shift: Array, bits: int) -> Array:
    """Rounded after the multiplication, half up, and after a right shift; a left shift comes before both."""
    lifted = sums.astype(np.int64) << np.maximum(-shift, 0)
    return _divided_by_power(_shifted(lifted, multiplier, np.int64(bits)), np.maximum(shift, 0))


def doubly_rounded(sums: Array, left: Array, right: Array, out: Array, zero: int) -> Array:
    """31-bit multiplier, two roundings."""
    return _doubly_rounded(sums, *_fixed_multiplier(left, right, out, 31), 31).astype(np.float64) + zero


def doubly_rounded_of_sixteen_bits(sums: Array, left: Array, right: Array, out: Array, zero: int) -> Array:
    """16-bit multiplier, two roundings."""
    return _doubly_rounded(sums, *_fixed_multiplier(left, right, out, 15), 15).astype(np.float64) + zero


def half(sums: Array, left: Array, right: Array, out: Array, zero: int) -> Array:
    """float16: the sum, a factor computed beforehand and their product are rounded, and so is the sum with the zero point."""
    product = sums.astype(np.float16) * _factor(left, right, out).astype(np.float16)
    return np.rint(product + np.float16(zero)).astype(np.float64)


CORRECT: dict[Requantiser, dict[str, Any]] = {
    single: {},
    single_with_reciprocal: {},
    single_one_scale_after_the_other: {},
    single_with_zero_point_inside: {},
    double: {"kind": "double"},
    fixed: {"kind": "fixed"},
    doubly_rounded: {"kind": "fixed-double-rounding"},
    fixed_of_sixteen_bits: {"kind": "fixed", "multiplier_bits": 16},
    doubly_rounded_of_sixteen_bits: {"kind": "fixed-double-rounding", "multiplier_bits": 16},
    half: {"in_float16": True},
}
"""Requantiser → how a device declares it."""


def _real(sums: Array, left: Array, right: Array, out: Array) -> Array:
    return sums * _factor(*(s.astype(np.float64) for s in (left, right, out)))


def truncated(sums: Array, left: Array, right: Array, out: Array, zero: int) -> Array:
    return np.trunc(_real(sums, left, right, out)) + zero


def floored(sums: Array, left: Array, right: Array, out: Array, zero: int) -> Array:
    return np.floor(_real(sums, left, right, out)) + zero


def one_step_up(sums: Array, left: Array, right: Array, out: Array, zero: int) -> Array:
    return double(sums, left, right, out, zero) + 1


def without_zero_point(sums: Array, left: Array, right: Array, out: Array, zero: int) -> Array:
    return double(sums, left, right, out, 0)


def with_one_scale_for_all(sums: Array, left: Array, right: Array, out: Array, zero: int) -> Array:
    return double(sums, left, right.flat[:1].reshape((1,) * right.ndim), out, zero)


FAULTS: tuple[Requantiser, ...] = (truncated, floored, one_step_up, without_zero_point, with_one_scale_for_all)


def away_from_zero(sums: Array, left: Array, right: Array, out: Array, zero: int) -> Array:
    """Half-ways away from zero, else right."""
    real = _real(sums, left, right, out)
    return np.trunc(real + np.copysign(0.5, real)) + zero


def saturated(y: Array, dtype: type) -> Array:
    """Integers clipped to the range of an 8-bit type."""
    info = np.iinfo(dtype)
    return np.clip(y, info.min, info.max).astype(dtype)


def wrapped(y: Array, dtype: type) -> Array:
    """Integers modulo 256, as a unit gives that does not saturate."""
    return y.astype(np.int64).astype(dtype)
