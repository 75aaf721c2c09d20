"""Quantising operators: sums in integers, requantised in single or double precision or in fixed point."""

from __future__ import annotations

import functools

import numpy as np

from reference.dtypes import numpy_dtype
from reference.node import Array, Node
from tests.verification.correct.kind import Implementation
from tests.verification.correct.windows import columns
from tests.verification.units import UNITS, Unit, add, divide, multiply

SINGLE = UNITS["fp32"]


def saturated(whole: Array, dtype: str) -> Array:
    """Whole numbers clipped to an integer type."""
    info = np.iinfo(dtype)
    return np.clip(whole, info.min, info.max).astype(numpy_dtype(dtype))


def _spread(parameter: Array, rank: int, axis: int) -> Array:
    """A scale or zero point per channel, shaped so that it broadcasts along `axis`; float64."""
    p = parameter.astype(np.float64)
    return p.reshape(-1, *[1] * (rank - 1 - axis % rank)) if p.ndim == 1 else p


def quantize_linear(node: Node, unit: Unit, way: str) -> list[Array]:
    """QuantizeLinear: a division, or a product with the reciprocal, in single precision; or in double."""
    x, axis = node.real(0), node.attribute("axis", 1)
    scale = _spread(node.real(1), x.ndim, axis)
    zero = _spread(node.real(2), x.ndim, axis) if node.given(2) else np.zeros(())
    if way == "double":
        quotient = x / scale
    elif way == "single":
        quotient = divide(x, scale, SINGLE)
    else:
        quotient = multiply(x, divide(np.ones(()), scale, SINGLE), SINGLE)
    return [saturated(np.rint(quotient) + zero, node.output_types[0])]


def dequantize_linear(node: Node, unit: Unit, way: str) -> list[Array]:
    """DequantizeLinear: (x − zero point)·scale, or x·scale − zero point·scale where that is exact enough: not here."""
    x, axis = node.real(0), node.attribute("axis", 1)
    scale = _spread(node.real(1), x.ndim, axis)
    zero = _spread(node.real(2), x.ndim, axis) if node.given(2) else np.zeros(())
    y = multiply(x - zero, scale, SINGLE) if way == "single" else (x - zero) * scale
    return [y.astype(numpy_dtype(node.output_types[0]))]


def requantised(sums: Array, factor: Array, zero: Array, dtype: str, way: str) -> Array:
    """sums·factor + zero point as integers. `factor` is exact; "fixed point": a multiplier of 31 bits and one rounding
    shift, half up; "single": the factor and the product are rounded to single precision."""
    if way == "single":
        scaled = multiply(add(sums, np.zeros(()), SINGLE), add(factor, np.zeros(()), SINGLE), SINGLE)
        return saturated(np.rint(scaled) + zero, dtype)
    if way == "double":
        return saturated(np.rint(sums * factor) + zero, dtype)
    fraction, exponent = np.frexp(factor)
    multiplier = np.rint(fraction * 2.0**31).astype(np.int64)
    shift = (31 - exponent).astype(np.int64)
    product = sums.astype(np.int64) * multiplier
    return saturated(((product + (np.int64(1) << (shift - 1))) >> shift) + zero, dtype)


def qlinear_matmul(node: Node, unit: Unit, way: str) -> list[Array]:
    """QLinearMatMul; parameters of b may be per column."""
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (node.real(i) for i in range(8))
    sums = (a - a_zero) @ (b - b_zero)
    return [requantised(sums, a_scale * b_scale / y_scale, y_zero, node.output_types[0], way)]


def qlinear_conv(node: Node, unit: Unit, way: str) -> list[Array]:
    """QLinearConv of one group in two dimensions; parameters of w may be per channel."""
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (node.real(i) for i in range(8))
    found = columns(node, x - x_zero, w.shape[2:])
    matrix = found.values.reshape(len(x), -1, found.values.shape[-1])
    sums = (w - _spread(w_zero, 4, 0)).reshape(len(w), -1) @ matrix
    if node.given(8):
        sums = sums + node.real(8)[:, None]
    factor = _spread(x_scale * w_scale / y_scale, 2, 0)
    y = requantised(sums, factor, y_zero, node.output_types[0], way)
    return [y.reshape(node.results[0].shape)]


def matmul_integer(node: Node, unit: Unit) -> list[Array]:
    """MatMulInteger without zero points."""
    return [(node.real(0) @ node.real(1)).astype(np.int64).astype(np.int32)]


_WAYS = ("single", "double", "fixed point")

IMPLEMENTATIONS: dict[str, dict[str, Implementation]] = {
    "DequantizeLinear": {way: functools.partial(dequantize_linear, way=way) for way in ("single", "double")},
    "MatMulInteger": {"plain": matmul_integer},
    "QLinearConv": {way: functools.partial(qlinear_conv, way=way) for way in _WAYS},
    "QLinearMatMul": {way: functools.partial(qlinear_matmul, way=way) for way in _WAYS},
    "QuantizeLinear": {way: functools.partial(quantize_linear, way=way) for way in ("single", "reciprocal", "double")},
}
"""Operator → algorithm → implementation."""
