"""Arithmetic, rounding and elementary functions, element by element, with NumPy-style broadcasting.

Real tensors come and go as float64, unrounded; integers in their own type, wrapping like two's complement hardware.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops import error_function, sums
from reference.ops.arguments import axis_in, single
from reference.ops.conversion import real_to_integer

Array = NDArray[Any]


def is_integer(x: Array) -> bool:
    """Whether x is an integer tensor (bool is not)."""
    return x.dtype.kind in "iu"


def limited_broadcast(function: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """`function` with the broadcasting of opsets 1 to 6: the shape of b is a contiguous part of the shape of a,
    starting at `axis` (None: ending where a ends), and only with broadcast=1; a b of one element always fits. Raises
    ValueError."""

    def limited(a: Array, b: Array, *, axis: int | None = None, broadcast: int = 0) -> Array:
        if a.shape == b.shape:
            return function(a, b)
        if not broadcast:
            raise ValueError(f"shapes {a.shape} and {b.shape} differ, and broadcast is not set")
        if b.size == 1:
            return function(a, b.reshape(()))
        start = max(a.ndim - b.ndim, 0) if axis is None else axis_in(axis, a.ndim)
        if a.shape[start : start + b.ndim] != b.shape:
            raise ValueError(f"shape {b.shape} is no part of {a.shape} from axis {start} on")
        return function(a, b.reshape(b.shape + (1,) * (a.ndim - start - b.ndim)))

    limited.__name__ = f"{function.__name__}_limited"
    return limited


def add(a: Array, b: Array) -> Array:
    """Add-7: a + b; integers wrap."""
    return np.asarray(np.add(a, b))


def subtract(a: Array, b: Array) -> Array:
    """Sub-7: a - b; integers wrap."""
    return np.asarray(np.subtract(a, b))


def multiply(a: Array, b: Array) -> Array:
    """Mul-7: a·b; integers wrap."""
    return np.asarray(np.multiply(a, b))


def divide(a: Array, b: Array) -> Array:
    """Div-7: a/b; integers truncate toward zero. Open in ONNX: integer x/0 is 0 here, and lowest/-1 wraps to lowest."""
    if not is_integer(a):
        return np.asarray(np.divide(a, b))
    a, b = np.broadcast_arrays(a, b)
    wraps = b == -1 if a.dtype.kind == "i" else np.zeros(b.shape, bool)
    divisor = np.where((b == 0) | wraps, a.dtype.type(1), b)  # lowest // -1 is left to NumPy's build otherwise
    floor = np.floor_divide(a, divisor)
    inexact = floor * divisor != a
    quotient = floor + (inexact & ((a < 0) != (divisor < 0))).astype(a.dtype)
    return np.where(b == 0, a.dtype.type(0), np.where(wraps, np.negative(a), quotient))


def modulo(a: Array, b: Array, *, fmod: int = 0) -> Array:
    """Mod-28 (10, 13 alike, where reals need fmod=1): a - ⌊a/b⌋·b with the sign of b, or with fmod=1 C's fmod, which has
    the sign of a. Open in ONNX: integer x mod 0 is 0 here."""
    if not is_integer(a):
        return np.asarray(np.fmod(a, b) if fmod else np.mod(a, b))
    # x mod 1 = 0, as x mod -1, whose division can trap.
    trivial = (b == 0) | (b == -1) if b.dtype.kind == "i" else b == 0
    divisor = np.where(trivial, b.dtype.type(1), b)
    return np.asarray(np.fmod(a, divisor) if fmod else np.mod(a, divisor))


def _integer_power(x: Array, y: Array) -> Array:
    """x^y for y >= 0 by squaring, modulo 2^bits; x^y for y < 0 is the truncated real value, 0 for x = 0."""
    x, y = np.broadcast_arrays(x, y)
    one = y.dtype.type(1)
    result, base, exponent = np.ones_like(x), x.copy(), np.maximum(y, y.dtype.type(0))
    while exponent.any():
        result = np.where(exponent & one, result * base, result)
        base, exponent = base * base, exponent >> one
    below_one = np.where(x == 1, 1, np.where(x == -1, np.where(y & one, -1, 1), 0)).astype(x.dtype)
    return np.where(y < 0, below_one, result)


def _integer_to_real_power(x: Array, y: Array) -> Array:
    """x^y for a real y: exact where y is whole, else the float64 power truncated toward zero, NaN as 0."""
    x, y = np.broadcast_arrays(x, y)
    root = real_to_integer(np.power(x.astype(np.float64), y), x.dtype)
    # From 2^63 on every float64 is even, and the power overflows unless |x| < 2.
    whole = np.isfinite(y) & (y == np.rint(y))
    exponent = np.where(whole, np.clip(y, -(2.0**62), 2.0**62), 0.0).astype(np.int64)
    return np.where(whole, _integer_power(x, exponent), root)


def power(x: Array, y: Array) -> Array:
    """Pow-15 (7 to 13 alike): x^y in the type of x. Real: C's pow. An integer x with a whole y is exact and wraps. Open in
    ONNX: integer overflow wraps and 0 to a negative power is 0; an integer x with a y that is not whole is the float64
    power, truncated toward zero, NaN as 0."""
    if is_integer(x):
        return _integer_power(x, y) if is_integer(y) else _integer_to_real_power(x, y)
    if not is_integer(y):
        return np.asarray(np.power(x, y))
    # A 64-bit exponent may lose its last bit in float64: take the sign from the integer.
    size = np.power(np.abs(x), y.astype(np.float64))
    odd = (y & y.dtype.type(1)) == 1
    return np.asarray(np.where(np.signbit(x) & odd, -size, size))


def negate(x: Array) -> Array:
    """Neg-1: -x; the lowest integer stays as it is."""
    return np.asarray(np.negative(x))


def absolute(x: Array) -> Array:
    """Abs-1: |x|; the lowest integer stays as it is."""
    return np.asarray(np.abs(x))


def sign(x: Array) -> Array:
    """Sign-9: -1, 0 or 1 in the type of x. Open in ONNX: NaN stays NaN."""
    return np.asarray(np.sign(x))


def minimum(*inputs: Array) -> Array:
    """Min-8: smallest of all inputs, broadcast together; NaN wins. Open in ONNX: which zero of -0 and 0."""
    return np.asarray(functools.reduce(np.minimum, inputs))


def maximum(*inputs: Array) -> Array:
    """Max-8: largest of all inputs, broadcast together; NaN wins. Open in ONNX: which zero of -0 and 0."""
    return np.asarray(functools.reduce(np.maximum, inputs))


def total(*inputs: Array) -> Array:
    """Sum-8: sum of all inputs, broadcast together."""
    return sums.of_all(*inputs)


def mean(*inputs: Array) -> Array:
    """Mean-8: sum of all inputs, broadcast together, over their number."""
    return np.asarray(total(*inputs) / len(inputs))


FLOAT32_MAX = float(np.finfo(np.float32).max)


def clip_6(x: Array, *, min: float = -FLOAT32_MAX, max: float = FLOAT32_MAX) -> Array:
    """Clip-6: x limited to [min, max] given as attributes, which default to the finite range of float32 for every
    type of x: literally, infinities become ±3.4e38. NaN stays NaN."""
    return np.asarray(np.minimum(max, np.maximum(x, min)))


def clip_1(x: Array, *, min: float | None = None, max: float | None = None) -> Array:
    """Clip-1: x limited to [min, max], attributes that default to no limit."""
    return clip(x, None if min is None else np.asarray(min), None if max is None else np.asarray(max))


def clip(x: Array, low: Array | None = None, high: Array | None = None) -> Array:
    """Clip-13: Min(high, Max(x, low)) with scalar inputs, so that low > high gives high. NaN stays NaN.
    Open in ONNX before 13: low > high. The default limits are those of the type, for which infinities are kept here."""
    if low is not None and high is not None:
        return np.asarray(np.clip(x, single(low, "min"), single(high, "max")))
    x = x if low is None else np.maximum(x, single(low, "min"))
    return np.asarray(x if high is None else np.minimum(x, single(high, "max")))


def reciprocal(x: Array) -> Array:
    """Reciprocal-1: 1/x."""
    return np.asarray(1.0 / x)


def square_root(x: Array) -> Array:
    """Sqrt-1: √x; NaN below zero, -0 stays -0."""
    return np.asarray(np.sqrt(x))


def exponential(x: Array) -> Array:
    """Exp-1: e^x."""
    return np.asarray(np.exp(x))


def logarithm(x: Array) -> Array:
    """Log-1: ln x; -inf at zero, NaN below."""
    return np.asarray(np.log(x))


def floor(x: Array) -> Array:
    """Floor-1: largest integer not above x."""
    return np.asarray(np.floor(x))


def ceil(x: Array) -> Array:
    """Ceil-1: smallest integer not below x."""
    return np.asarray(np.ceil(x))


def round_half_even(x: Array) -> Array:
    """Round-11: nearest integer, halves to the even one."""
    return np.asarray(np.rint(x))


def sine(x: Array) -> Array:
    """Sin-7: sin x, x in radians; NaN at infinity."""
    return np.asarray(np.sin(x))


def cosine(x: Array) -> Array:
    """Cos-7: cos x, x in radians; NaN at infinity."""
    return np.asarray(np.cos(x))


def tangent(x: Array) -> Array:
    """Tan-7: tan x, x in radians; NaN at infinity."""
    return np.asarray(np.tan(x))


def arc_sine(x: Array) -> Array:
    """Asin-7: in [-π/2, π/2]; NaN outside [-1, 1]."""
    return np.asarray(np.arcsin(x))


def arc_cosine(x: Array) -> Array:
    """Acos-7: in [0, π]; NaN outside [-1, 1]."""
    return np.asarray(np.arccos(x))


def arc_tangent(x: Array) -> Array:
    """Atan-7: in [-π/2, π/2]."""
    return np.asarray(np.arctan(x))


def hyperbolic_sine(x: Array) -> Array:
    """Sinh-9."""
    return np.asarray(np.sinh(x))


def hyperbolic_cosine(x: Array) -> Array:
    """Cosh-9."""
    return np.asarray(np.cosh(x))


def area_sine(x: Array) -> Array:
    """Asinh-9."""
    return np.asarray(np.arcsinh(x))


def area_cosine(x: Array) -> Array:
    """Acosh-9: NaN below 1."""
    return np.asarray(np.arccosh(x))


def area_tangent(x: Array) -> Array:
    """Atanh-9: ±inf at ±1, NaN outside."""
    return np.asarray(np.arctanh(x))


def error(x: Array) -> Array:
    """Erf-13: the error function."""
    return error_function.erf(x)


def error_9(x: Array) -> Array:
    """Erf-9: as Erf-13, also of integers. Open in ONNX: what lies between -1 and 1 is truncated to 0 for them here."""
    return np.zeros_like(x) if is_integer(x) else error(x)


def where(condition: Array, x: Array, y: Array) -> Array:
    """Where-9: x where condition, else y, the three broadcast together."""
    return np.where(condition, x, y)
