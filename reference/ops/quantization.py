"""Quantisation. Rounding decisions are exact: round half to even of the real quotient, not of its float64 neighbour.

Every quantising operator has a companion `<operator>_real`: the real value r + zero point before rounding and
saturation, float64, around which the verifier lays its interval.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from reference import dtypes as types
from reference.ops import convolution, matrix

Array = NDArray[Any]

BEYOND = 2.0**24
"""Quotients are clipped to ±BEYOND before rounding: far outside every quantised type, and products with a scale stay
exact.
"""


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a·b = high + low exactly (Dekker 1971), for finite float64 without overflow."""

    def halves(x: Array) -> tuple[Array, Array]:
        shifted = x * 134217729.0  # 2^27 + 1
        upper = shifted - (shifted - x)
        return upper, x - upper

    high = a * b
    a1, a2 = halves(a)
    b1, b2 = halves(b)
    return high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2


def _round_quotient(high: Array, low: Array, divisor: Array) -> Array:
    """(high + low)/divisor, rounded half to even exactly and clipped to ±BEYOND.

    Next to a half-way point m + 1/2 the difference high - (m + 1/2)·divisor is exact (Sterbenz), so its sign is the
    truth, for divisors of at most 26 significant bits (a float32 has 24); for others the decision is as good as
    float64. NaN becomes 0: ONNX leaves it open.
    """
    with np.errstate(all="ignore"):
        quotient = np.clip(np.nan_to_num(high / divisor, nan=0.0, posinf=BEYOND, neginf=-BEYOND), -BEYOND, BEYOND)
        whole = np.floor(quotient)
        sign = np.sign(divisor)
        # a quotient just below a whole number may have been rounded up to it
        whole = whole - (sign * ((high - whole * divisor) + low) < 0)
        side = sign * ((high - (whole + 0.5) * divisor) + low)
        upward = (side > 0) | ((side == 0) & (whole % 2 == 1))
        return np.where(np.abs(quotient) >= BEYOND, quotient, whole + upward)


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    limits: Any = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    return int(limits.min), int(limits.max)


def _saturated(values: Array, dtype: np.dtype[Any]) -> Array:
    low, high = _limits(dtype)
    return np.clip(values, low, high).astype(np.int32).astype(dtype)


def _zero(zero_point: Array | None) -> Array:
    return np.zeros(()) if zero_point is None else zero_point.astype(np.float64)


def spread(parameter: Array, shape: tuple[int, ...], axis: int = 1, block_size: int = 0) -> Array:
    """A scale or zero point (scalar, one per index of `axis`, or one per block) made to broadcast to `shape`."""
    if block_size and parameter.ndim:
        whole = np.repeat(parameter, block_size, axis=axis)
        return whole[(slice(None),) * (axis % len(shape)) + (slice(0, shape[axis]),)]
    if parameter.size == 1:
        return parameter.reshape(())
    lengths = [1] * len(shape)
    lengths[axis] = parameter.size
    return parameter.reshape(lengths)


def quantize_linear_real(
    x: Array,
    y_scale: Array,
    y_zero_point: Array | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Array:
    """x/y_scale + y_zero_point, float64, x's shape."""
    scale, zero = (spread(p, x.shape, axis, block_size) for p in (y_scale, _zero(y_zero_point)))
    with np.errstate(all="ignore"):
        return np.asarray(x / scale + zero)


def quantize_linear(
    x: Array,
    y_scale: Array,
    y_zero_point: Array | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
    dtypes: tuple[str | None, ...] = (),
) -> Array:
    """QuantizeLinear-25 (10 to 24 with their attributes): saturate(round half even(x/y_scale) + y_zero_point).

    The type is y_zero_point's, else `output_dtype`, else uint8; for the float8 and float4 types the real quotient is
    returned, as for every float result. `precision` names the division's precision and so changes no real value.
    """
    name = types.NAMES[output_dtype] if output_dtype else "uint8"
    if y_zero_point is not None:
        name = (dtypes[2] if len(dtypes) > 2 else None) or types.name_of(y_zero_point.dtype)
    if types.is_float(name):
        quotient = quantize_linear_real(x, y_scale, y_zero_point, axis=axis, block_size=block_size)
        largest = types.FLOATS[name].largest if saturate or not types.FLOATS[name].has_nan else np.inf
        return np.clip(quotient, -largest, largest)
    scale, zero = (spread(p, x.shape, axis, block_size) for p in (y_scale, _zero(y_zero_point)))
    whole = _round_quotient(x.astype(np.float64), np.zeros(()), scale)
    return _saturated(whole + zero, types.numpy_dtype(name))


def dequantize_linear(
    x: Array,
    x_scale: Array,
    x_zero_point: Array | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Array:
    """DequantizeLinear-25 (10 to 24 with their attributes): (x - x_zero_point)·x_scale, float64, x's shape."""
    scale, zero = (spread(p, x.shape, axis, block_size) for p in (x_scale, _zero(x_zero_point)))
    return np.asarray((x.astype(np.float64) - zero) * scale)


def _dynamic_range(x: Array) -> tuple[Array, Array]:
    """(minimum, width) of the range of the data widened to include 0."""
    low, high = x.min(initial=0.0), x.max(initial=0.0)
    return np.asarray(low), np.asarray(high - low)


def _dynamic_zero_point(low: Array, width: Array) -> Array:
    return _round_quotient(-low * 255, np.zeros(()), width)


def dynamic_quantize_linear_real(x: Array) -> Array:
    """x/y_scale + y_zero_point, float64, x's shape, with the real y_scale and the whole y_zero_point."""
    low, width = _dynamic_range(x)
    return np.asarray(x * 255 / (width if width else 1.0) + _dynamic_zero_point(low, width))


def dynamic_quantize_linear(x: Array) -> tuple[Array, Array, Array]:
    """DynamicQuantizeLinear-11: y uint8 of x's shape, y_scale (real, unrounded) and y_zero_point uint8, both scalars.

    y_scale spreads [min(0, x), max(0, x)] over [0, 255]. All zeros (or no element): scale 0 as the formula says, then y
    and zero point 0; ONNX leaves that open (ONNX's own reference returns 1/255 as the scale, ONNX Runtime 1).
    """
    low, width = _dynamic_range(x)
    zero = _dynamic_zero_point(low, width)
    y = _saturated(_round_quotient(x * 255, np.zeros(()), width) + zero, np.dtype(np.uint8))
    return y, np.asarray(width / 255), _saturated(zero, np.dtype(np.uint8))


def _requantised(sums: Array, factor: Array, y_scale: Array, y_zero_point: Array) -> Array:
    """saturate(round half even(sums·factor/y_scale) + y_zero_point) in y_zero_point's type."""
    high, low = _two_product(sums, factor)
    return _saturated(_round_quotient(high, low, y_scale) + _zero(y_zero_point), y_zero_point.dtype)


def _convolved(
    x: Array,
    x_scale: Array,
    x_zero_point: Array,
    w: Array,
    w_scale: Array,
    w_zero_point: Array,
    b: Array | None,
    attributes: dict[str, Any],
) -> tuple[Array, Array]:
    """Exact integer sums, bias included, and the factor that makes them real, broadcastable to them."""
    sums = convolution.integer_accumulator(x, w, x_zero_point, w_zero_point, **attributes)
    column = (-1, *[1] * (x.ndim - 2))
    if b is not None:
        sums = sums + b.astype(np.float64).reshape(column)
    return sums, x_scale.reshape(()) * w_scale.reshape(column)


def qlinear_conv_real(
    x: Array,
    x_scale: Array,
    x_zero_point: Array,
    w: Array,
    w_scale: Array,
    w_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
    b: Array | None = None,
    **attributes: Any,
) -> Array:
    """QLinearConv before rounding: sums·x_scale·w_scale/y_scale + y_zero_point, float64 (N, M, outputs)."""
    sums, factor = _convolved(x, x_scale, x_zero_point, w, w_scale, w_zero_point, b, attributes)
    return np.asarray(sums * factor / y_scale.reshape(()) + _zero(y_zero_point).reshape(()))


def qlinear_conv(
    x: Array,
    x_scale: Array,
    x_zero_point: Array,
    w: Array,
    w_scale: Array,
    w_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
    b: Array | None = None,
    **attributes: Any,
) -> Array:
    """QLinearConv-10: 8-bit x, w and attributes as Conv's → (N, M, outputs) in y_zero_point's type.

    w_scale and w_zero_point are scalar or (M); b is int32, of scale x_scale·w_scale.
    """
    sums, factor = _convolved(x, x_scale, x_zero_point, w, w_scale, w_zero_point, b, attributes)
    return _requantised(sums, factor, y_scale.reshape(()), y_zero_point.reshape(()))


def _rows(parameter: Array) -> Array:
    """One value, or a vector of row values (M) as a column (M, 1); full-rank tensors as they are."""
    if parameter.size == 1:
        return parameter.reshape(())
    return parameter[:, None] if parameter.ndim == 1 else parameter


def _factor(a_scale: Array, b_scale: Array) -> Array:
    return np.asarray(_rows(a_scale) * (b_scale.reshape(()) if b_scale.size == 1 else b_scale))


def qlinear_matmul_real(
    a: Array,
    a_scale: Array,
    a_zero_point: Array,
    b: Array,
    b_scale: Array,
    b_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
) -> Array:
    """QLinearMatMul before rounding: sums·a_scale·b_scale/y_scale + y_zero_point, float64, shape of the product."""
    sums = matrix.integer_accumulator(a, b, a_zero_point, b_zero_point)
    return np.asarray(sums * _factor(a_scale, b_scale) / _rows(y_scale) + _rows(_zero(y_zero_point)))


def qlinear_matmul(
    a: Array,
    a_scale: Array,
    a_zero_point: Array,
    b: Array,
    b_scale: Array,
    b_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
) -> Array:
    """QLinearMatMul-21 (10 alike): 8-bit matrices; parameters scalar, per row of a (and y) or per column of b."""
    sums = matrix.integer_accumulator(a, b, a_zero_point, b_zero_point)
    return _requantised(sums, _factor(a_scale, b_scale), _rows(y_scale), _rows(y_zero_point))
