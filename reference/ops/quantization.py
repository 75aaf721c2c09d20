"""ONNX's quantisation. Rounding decisions are exact: round half to even of the real quotient, not of its float64 neighbour.

Every quantising operator has a companion `<operator>_real`: the real value r + zero point before rounding and
saturation, float64, around which the verifier lays its interval.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import dtypes as types
from reference.exact import two_product, two_sum
from reference.ops import convolution, matrix
from reference.ops.arguments import axis_in, single
from reference.ops.requantization import TIE_DISTANCE, Quotient, Terms, near_tie, real, round_quotient, saturated, stored

Array = NDArray[Any]


def _zero(zero_point: Array | None) -> Array:
    return np.zeros(()) if zero_point is None else zero_point.astype(np.float64)


def spread(parameter: Array, shape: tuple[int, ...], axis: int = 1, block_size: int = 0) -> Array:
    """A scale or zero point (a single one, one per index of `axis`, or one per block) made to broadcast to `shape`.

    Raises ValueError where its shape is none of these.
    """
    if parameter.size == 1:
        return parameter.reshape(())
    axis = axis_in(axis, len(shape))
    if block_size:
        blocks = (*shape[:axis], -(-shape[axis] // block_size), *shape[axis + 1 :])
        if parameter.shape != blocks:
            raise ValueError(f"a scale or zero point has shape {parameter.shape}, blocks of {block_size} need {blocks}")
        return np.repeat(parameter, block_size, axis=axis)[(slice(None),) * axis + (slice(0, shape[axis]),)]
    if parameter.shape != (shape[axis],):
        raise ValueError(f"a scale or zero point has shape {parameter.shape}, axis {axis} needs {(shape[axis],)}")
    return parameter.reshape((-1, *[1] * (len(shape) - 1 - axis)))


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
    """x/y_scale + y_zero_point, float64, x's shape, whatever the `precision`; neither rounded nor saturated."""
    scale, zero = (spread(p, x.shape, axis, block_size) for p in (y_scale, _zero(y_zero_point)))
    with np.errstate(all="ignore"):
        return np.asarray(x / scale + zero)


def quantize_ties(
    x: Array,
    y_scale: Array,
    y_zero_point: Array | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    dtypes: tuple[str | None, ...] = (),
    **attributes: Any,
) -> Array:
    """Mask of the elements of QuantizeLinear whose quotient x/y_scale is half-way between two values of y's type or within
    2^-20 of that."""
    name = _quantised_type(y_zero_point, attributes.get("output_dtype", 0), dtypes)
    quotient = quantize_linear_real(x, y_scale, axis=axis, block_size=block_size)
    if not types.is_float(name):
        return near_tie(quotient)
    low, high = (types.round_to(quotient * (1 + move), name) for move in (-TIE_DISTANCE, TIE_DISTANCE))
    return np.asarray((low != high) & ~(np.isnan(low) & np.isnan(high)))


def division_type(precision: int, dtypes: tuple[str | None, ...]) -> str | None:
    """The type that QuantizeLinear divides in: that of `precision`, else a narrower one of y_scale than x has. None for
    a division that may be exact. Raises ValueError where `precision` is no floating-point type."""
    if precision:
        name = types.NAMES.get(precision, "")
        if not types.is_float(name):
            raise ValueError(f"precision is a floating-point type, not {name or precision}")
        return name
    data, scale = dtypes[:2] if len(dtypes) > 1 else (None, None)
    return scale if scale in ("float16", "bfloat16") and scale != data else None


def _divided(x: Array, scale: Array, name: str | None) -> tuple[Terms, Terms]:
    """Numerator and divisor of x/scale. Operands and result are rounded to the type that is named."""
    if name is None:
        return (x,), (scale,)
    with np.errstate(all="ignore"):
        # float64 holds the quotient of two numbers of that type closely enough to be rounded a second time without harm
        quotient = types.round_to(types.round_to(x, name) / types.round_to(scale, name), name)
    return (quotient,), (np.ones(()),)


def _quantised_type(y_zero_point: Array | None, output_dtype: int, dtypes: tuple[str | None, ...]) -> str:
    """The type of y: y_zero_point's, else `output_dtype`, else uint8. Raises ValueError where both are there and differ."""
    if y_zero_point is None:
        return types.NAMES[output_dtype] if output_dtype else "uint8"
    name = (dtypes[2] if len(dtypes) > 2 else None) or types.name_of(y_zero_point.dtype)
    if output_dtype and types.NAMES[output_dtype] != name:
        raise ValueError(f"output_dtype is {types.NAMES[output_dtype]}, but y_zero_point is {name}")
    return name


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
    """QuantizeLinear-28 (10 to 25 with their attributes and types): saturate(round half even(x/y_scale) + y_zero_point).

    y_scale: a single one, (length of `axis`), or with `block_size` one per block along `axis`; y_zero_point alike, and
    of y's type, else `output_dtype`, else uint8. Floating-point y are rounded to nearest even in their type, and beyond
    its largest number saturated unless `saturate` is 0 and the type has something beyond. From 23 on the division has
    the type that `precision` names, else y_scale's; it is exact here unless that is narrower than x. Open in ONNX: NaN
    (0 here, before the zero point). Raises ValueError for parameters that fit neither x nor each other.
    """
    name = _quantised_type(y_zero_point, output_dtype, dtypes)
    scale, zero = (spread(p.astype(np.float64), x.shape, axis, block_size) for p in (y_scale, _zero(y_zero_point)))
    numerator, divisor = _divided(np.asarray(x, np.float64), scale, division_type(precision, dtypes))
    if types.is_float(name):
        with np.errstate(all="ignore"):
            return types.round_to(numerator[0] / divisor[0] + zero, name, saturate=bool(saturate))
    return Quotient(numerator, divisor, zero.astype(types.numpy_dtype(name))).stored()


def dequantize_linear(
    x: Array,
    x_scale: Array,
    x_zero_point: Array | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Array:
    """DequantizeLinear-28 (10 to 25 with their attributes and types): (x - x_zero_point)·x_scale, float64, x's shape.

    Parameters as QuantizeLinear's, with its errors. `output_dtype` (23 on), else x_scale's type, is what the caller rounds to.
    """
    scale, zero = (spread(p, x.shape, axis, block_size) for p in (x_scale, _zero(x_zero_point)))
    y = x.astype(np.float64)
    y -= zero
    y *= scale
    return y


def _dynamic_range(x: Array) -> tuple[Array, Terms]:
    """The minimum of the data widened to include 0, and the width of that range."""
    low, high = (np.asarray(bound) for bound in (x.min(initial=0.0), x.max(initial=0.0)))
    return low, two_sum(high, -low)


def dynamic_quantize_linear_zero_point_real(x: Array) -> Array:
    """0 - min(0, x)/y_scale, float64 scalar: what y_zero_point rounds. A tie for ranges as wide below 0 as above."""
    low, width = _dynamic_range(x)
    return np.asarray(-low * 255 / (width[0] if width[0] else 1.0))


def dynamic_quantize_linear_real(x: Array) -> Array:
    """x/y_scale + y_zero_point, float64, x's shape, with the real y_scale and the whole y_zero_point."""
    low, width = _dynamic_range(x)
    return np.asarray(x * 255 / (width[0] if width[0] else 1.0) + round_quotient((-low * 255,), width))


def dynamic_quantize_linear(x: Array) -> tuple[Array, Array, Array]:
    """DynamicQuantizeLinear-11: y uint8 of x's shape, y_scale (real, unrounded) and y_zero_point uint8, both scalars.

    y_scale spreads [min(0, x), max(0, x)] over [0, 255]. All zeros (or no element): scale 0 as the formula says, then y
    and zero point 0; ONNX leaves that open (ONNX's own reference returns 1/255 as the scale, ONNX Runtime 1). Open too:
    NaN and infinities. float32 data: 255·x is exact.
    """
    low, width = _dynamic_range(x)
    zero = saturated(round_quotient((-low * 255,), width), np.dtype(np.uint8))
    return Quotient((x * 255,), width, zero).stored(), np.asarray(width[0] / 255), zero


def _qlinear_conv(
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
) -> Quotient:
    """QLinearConv-10: 8-bit x, w and attributes as Conv's → (N, M, outputs) in y_zero_point's type.

    w_scale and w_zero_point are scalar or (M); b is int32, of scale x_scale·w_scale.
    """
    sums = convolution.integer_accumulator(x, w, x_zero_point, w_zero_point, **attributes)
    column = (-1, *[1] * (x.ndim - 2))
    if b is not None:
        sums = sums + b.astype(np.float64).reshape(column)
    factor = single(x_scale, "x_scale") * w_scale.reshape(column)
    return Quotient(two_product(sums, factor), (single(y_scale, "y_scale"),), single(y_zero_point, "y_zero_point"))


qlinear_conv = stored(_qlinear_conv)
qlinear_conv_real = real(_qlinear_conv)


def _rows(parameter: Array) -> Array:
    """One value, or a vector of row values (M) as a column (M, 1); full-rank tensors as they are."""
    if parameter.size == 1:
        return parameter.reshape(())
    return parameter[:, None] if parameter.ndim == 1 else parameter


def _product(a: Array, a_zero_point: Array, b: Array, b_zero_point: Array) -> Array:
    """Σ(a - a_zero_point)(b - b_zero_point), float64: exact for integers."""
    if a.dtype.kind in "iu" and b.dtype.kind in "iu":
        return matrix.integer_accumulator(a, b, a_zero_point, b_zero_point)
    return matrix.matmul(a.astype(np.float64) - _rows(_zero(a_zero_point)), b.astype(np.float64) - _zero(b_zero_point))


def _qlinear_matmul(
    a: Array,
    a_scale: Array,
    a_zero_point: Array,
    b: Array,
    b_scale: Array,
    b_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
) -> Quotient:
    """sums·a_scale·b_scale/y_scale + y_zero_point of QLinearMatMul."""
    sums = _product(a, a_zero_point, b, b_zero_point)
    factor = _rows(a_scale) * (b_scale.reshape(()) if b_scale.size == 1 else b_scale)
    return Quotient(two_product(sums, factor), (_rows(y_scale),), _rows(y_zero_point))


qlinear_matmul_real = real(_qlinear_matmul)


def qlinear_matmul(
    a: Array,
    a_scale: Array,
    a_zero_point: Array,
    b: Array,
    b_scale: Array,
    b_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
    *,
    dtypes: tuple[str | None, ...] = (),
) -> Array:
    """QLinearMatMul-21 (10 alike): 8-bit matrices; parameters scalar, per row of a (and y) or per column of b.

    Floating-point y (21 on): the real value, saturated to its type's range. Integer y of floating-point matrices is
    decided by their float64 sums.
    """
    exact = _qlinear_matmul(a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point)
    name = (dtypes[7] if len(dtypes) > 7 else None) or types.name_of(y_zero_point.dtype)
    if types.is_float(name):
        largest = types.FLOATS[name].largest
        return np.clip(exact.real(), -largest, largest)
    return exact.stored()
