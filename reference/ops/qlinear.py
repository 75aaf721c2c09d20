"""Quantised operators of ONNX Runtime's domain com.microsoft: dequantise, compute, requantise, with one rounding at the end.

Source: ONNX Runtime's docs/ContribOperators.md. Scales and zero points are scalars or hold one element unless said otherwise;
an absent zero point is 0. Every operator with a quantised result has a companion `<operator>_real`, as in `quantization`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.exact import two_product, two_sum
from reference.ops import activation, matrix
from reference.ops.arguments import single
from reference.ops.quantization import dynamic_quantize_linear, dynamic_quantize_linear_real
from reference.ops.requantization import Quotient, near_tie, real, stored, times
from reference.ops.windows import axes_of, outer, windows

Array = NDArray[Any]

SINGLE_PRECISION_TIE = 2.0**-14
"""How far from a half-way x/y_scale + y_zero_point may lie where single precision takes it for the other side: y_scale and the
quotient, up to 255, carry an error of a few 2^-24 each."""


def _centred(x: Array, zero_point: Array | None) -> Array:
    """x - zero_point, exactly, float64."""
    return x.astype(np.float64) - (0.0 if zero_point is None else single(zero_point, "a zero point").astype(np.float64))


def _dequantised(x: Array, scale: Array, zero_point: Array | None) -> Array:
    """(x - zero_point)·scale: exact for 8-bit x and scales of at most 24 bits."""
    return np.asarray(_centred(x, zero_point) * single(scale, "a scale"))


def _zero_of(zero_point: Array | None, x: Array) -> Array:
    """The result's zero point as a scalar, 0 in the type of x where it is absent."""
    return np.zeros((), x.dtype) if zero_point is None else single(zero_point, "a zero point")


def _qlinear_add(
    a: Array,
    a_scale: Array,
    a_zero_point: Array | None,
    b: Array,
    b_scale: Array,
    b_zero_point: Array | None,
    c_scale: Array,
    c_zero_point: Array | None = None,
) -> Quotient:
    """QLinearAdd-1: a + b of 8-bit tensors that broadcast, in their type."""
    terms = two_sum(_dequantised(a, a_scale, a_zero_point), _dequantised(b, b_scale, b_zero_point))
    return Quotient(terms, (single(c_scale, "c_scale"),), _zero_of(c_zero_point, a))


qlinear_add = stored(_qlinear_add)
qlinear_add_real = real(_qlinear_add)


def _qlinear_mul(
    a: Array,
    a_scale: Array,
    a_zero_point: Array | None,
    b: Array,
    b_scale: Array,
    b_zero_point: Array | None,
    c_scale: Array,
    c_zero_point: Array | None = None,
) -> Quotient:
    """QLinearMul-1: a·b of 8-bit tensors that broadcast, in their type."""
    product = _centred(a, a_zero_point) * _centred(b, b_zero_point)
    terms = two_product(product, single(a_scale, "a_scale") * single(b_scale, "b_scale"))
    return Quotient(terms, (single(c_scale, "c_scale"),), _zero_of(c_zero_point, a))


qlinear_mul = stored(_qlinear_mul)
qlinear_mul_real = real(_qlinear_mul)


def _qlinear_average_pool(
    x: Array,
    x_scale: Array,
    x_zero_point: Array | None,
    y_scale: Array,
    y_zero_point: Array | None = None,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    channels_last: int = 0,
    count_include_pad: int = 0,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Quotient:
    """QLinearAveragePool-1: 8-bit x (N, C, spatial), with `channels_last` (N, spatial, C), attributes as AveragePool's.

    Padding stands for the real value 0. A window with no element that counts gives the real value 0/0, which the text leaves
    open: y_zero_point here.
    """
    centred = _centred(np.moveaxis(x, -1, 1) if channels_last else x, x_zero_point)
    axes = axes_of(centred.shape[2:], kernel_shape, strides=strides, pads=pads, auto_pad=auto_pad, ceil_mode=ceil_mode)
    total = windows(centred, axes).sum(axis=tuple(range(-len(axes), 0)))
    # what ceil_mode adds beyond the padding never counts
    counts = outer([a.counts(-a.begin, a.size + max(a.end, 0)) if count_include_pad else a.counts() for a in axes])
    numerator = two_product(np.moveaxis(total, 1, -1) if channels_last else total, single(x_scale, "x_scale"))
    divisor = two_product(counts[..., None] if channels_last else counts, single(y_scale, "y_scale"))
    return Quotient(numerator, divisor, _zero_of(y_zero_point, x))


qlinear_average_pool = stored(_qlinear_average_pool)
qlinear_average_pool_real = real(_qlinear_average_pool)


def _qlinear_global_average_pool(
    x: Array, x_scale: Array, x_zero_point: Array, y_scale: Array, y_zero_point: Array, *, channels_last: int = 0
) -> Quotient:
    """QLinearGlobalAveragePool-1: mean over the spatial axes of 8-bit x (N, C, spatial), with `channels_last` (N, spatial, C);
    these axes stay with length 1.
    """
    spatial = tuple(range(1, x.ndim - 1)) if channels_last else tuple(range(2, x.ndim))
    total = _centred(x, x_zero_point).sum(axis=spatial, keepdims=True)
    count = np.asarray(float(math.prod(x.shape[axis] for axis in spatial)))
    numerator, divisor = two_product(total, single(x_scale, "x_scale")), two_product(count, single(y_scale, "y_scale"))
    return Quotient(numerator, divisor, single(y_zero_point, "y_zero_point"))


qlinear_global_average_pool = stored(_qlinear_global_average_pool)
qlinear_global_average_pool_real = real(_qlinear_global_average_pool)


def _qlinear_sigmoid(
    x: Array, x_scale: Array, x_zero_point: Array | None, y_scale: Array, y_zero_point: Array | None = None
) -> Quotient:
    """QLinearSigmoid-1: of 8-bit x, in its type. Only sigmoid(0) = 1/2 is rational, so nothing else is exactly half-way."""
    y = activation.sigmoid(_dequantised(x, x_scale, x_zero_point))
    return Quotient((y,), (single(y_scale, "y_scale"),), _zero_of(y_zero_point, x))


qlinear_sigmoid = stored(_qlinear_sigmoid)
qlinear_sigmoid_real = real(_qlinear_sigmoid)


def _qlinear_leaky_relu(
    x: Array,
    x_scale: Array,
    x_zero_point: Array | None,
    y_scale: Array,
    y_zero_point: Array | None = None,
    *,
    alpha: float = activation.LEAKY_SLOPE,
) -> Quotient:
    """QLinearLeakyRelu-1: of 8-bit x, in its type: alpha·x below zero, x from there on."""
    value = _dequantised(x, x_scale, x_zero_point)
    terms = two_product(value, np.where(value < 0, alpha, 1.0))
    return Quotient(terms, (single(y_scale, "y_scale"),), _zero_of(y_zero_point, x))


qlinear_leaky_relu = stored(_qlinear_leaky_relu)
qlinear_leaky_relu_real = real(_qlinear_leaky_relu)


def _qlinear_softmax(
    x: Array,
    x_scale: Array,
    x_zero_point: Array | None,
    y_scale: Array,
    y_zero_point: Array,
    *,
    opset: int,
    axis: int = -1,
) -> Quotient:
    """QLinearSoftmax-1: softmax of 8-bit x, in its type: along `axis`, before opset 13 over all axes from `axis` on.

    By Lindemann and Weierstrass only a line of equal elements, 1/n each, can be exactly half-way.
    """
    function = activation.softmax if opset >= 13 else activation.softmax_1
    y = function(_dequantised(x, x_scale, x_zero_point), axis=axis)
    return Quotient((y,), (single(y_scale, "y_scale"),), single(y_zero_point, "y_zero_point"))


qlinear_softmax = stored(_qlinear_softmax)
qlinear_softmax_real = real(_qlinear_softmax)


def _qlinear_concat(y_scale: Array, y_zero_point: Array, *inputs: Array, axis: int) -> Quotient:
    """QLinearConcat-1: y_scale, y_zero_point, then tensor, scale and zero point of each part → the parts, requantised, along
    `axis`, in y_zero_point's type. Raises ValueError for inputs that are no triples.
    """
    if not inputs or len(inputs) % 3:
        raise ValueError(f"parts are given as tensor, scale and zero point; {len(inputs)} inputs are no such triples")
    parts = [_dequantised(*inputs[i : i + 3]) for i in range(0, len(inputs), 3)]
    return Quotient((np.concatenate(parts, axis=axis),), (single(y_scale, "y_scale"),), single(y_zero_point, "y_zero_point"))


qlinear_concat = stored(_qlinear_concat)
qlinear_concat_real = real(_qlinear_concat)


def _columns(scale: Array) -> Array:
    """One scale as a scalar, one per column (N) as it is."""
    return scale.reshape(()) if scale.size == 1 else scale


def _gemm(a: Array, a_zero_point: Array, b: Array, b_zero_point: Array, c: Array | None, trans_a: int, trans_b: int) -> Array:
    """Exact integer sums of QGemm, c included, (M, N)."""
    sums = matrix.integer_accumulator(a.T if trans_a else a, b.T if trans_b else b, a_zero_point, b_zero_point)
    return sums if c is None else sums + np.broadcast_to(c, sums.shape)


def _qgemm(
    a: Array,
    a_scale: Array,
    a_zero_point: Array,
    b: Array,
    b_scale: Array,
    b_zero_point: Array,
    c: Array | None,
    y_scale: Array,
    y_zero_point: Array,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Quotient:
    """QGemm with a quantised result."""
    sums = _gemm(a, a_zero_point, b, b_zero_point, c, transA, transB)
    factor = two_product(single(a_scale, "a_scale") * _columns(b_scale), np.asarray(alpha))
    return Quotient(times(factor, sums), (single(y_scale, "y_scale"),), single(y_zero_point, "y_zero_point"))


qgemm_real = real(_qgemm)


def qgemm(
    a: Array,
    a_scale: Array,
    a_zero_point: Array,
    b: Array,
    b_scale: Array,
    b_zero_point: Array,
    c: Array | None = None,
    y_scale: Array | None = None,
    y_zero_point: Array | None = None,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Array:
    """QGemm-1: alpha·A'B' + C of 8-bit matrices, (M, K)·(K, N) + C broadcast to (M, N), in y_zero_point's type.

    b_scale and b_zero_point are scalar or (N); C is int32, of scale alpha·a_scale·b_scale. Without y_scale and y_zero_point
    the result is real. Raises ValueError where only one of these two is there, which the text leaves open.
    """
    if y_scale is not None and y_zero_point is not None:
        parameters = (a, a_scale, a_zero_point, b, b_scale, b_zero_point, c, y_scale, y_zero_point)
        return _qgemm(*parameters, alpha=alpha, transA=transA, transB=transB).stored()
    if y_scale is not None or y_zero_point is not None:
        raise ValueError("y_scale and y_zero_point are given together or not at all")
    sums = _gemm(a, a_zero_point, b, b_zero_point, c, transA, transB)
    return np.asarray(sums * (alpha * single(a_scale, "a_scale") * _columns(b_scale)))


def matmul_integer_to_float(
    a: Array,
    b: Array,
    a_scale: Array,
    b_scale: Array,
    a_zero_point: Array | None = None,
    b_zero_point: Array | None = None,
    bias: Array | None = None,
) -> Array:
    """MatMulIntegerToFloat-1: the real product of 8-bit matrices, plus bias (N).

    Parameters of a are scalar or one per column of a (K), as the text has it; those of b scalar, (N) or (..., 1, N).
    """
    left, right = (
        m.astype(np.float64) - (0.0 if zero is None else zero.astype(np.float64))
        for m, zero in ((a, a_zero_point), (b, b_zero_point))
    )
    if a_scale.size > 1:
        y = matrix.matmul(left * a_scale, right) * b_scale
    else:
        y = matrix.matmul(left, right) * (single(a_scale, "a_scale") * b_scale)
    return np.asarray(y if bias is None else y + bias)


def dynamic_quantize_matmul(
    a: Array, b: Array, b_scale: Array, b_zero_point: Array | None = None, bias: Array | None = None
) -> Array:
    """DynamicQuantizeMatMul-1: MatMulIntegerToFloat of a, quantised as DynamicQuantizeLinear does it, and 8-bit b.

    The text gives no formula; this is what the names of operator and inputs say.
    """
    q, a_scale, a_zero_point = dynamic_quantize_linear(a)
    return matmul_integer_to_float(q, b, a_scale, b_scale, a_zero_point, b_zero_point, bias)


def dynamic_quantize_matmul_slack(
    a: Array, b: Array, b_scale: Array, b_zero_point: Array | None = None, bias: Array | None = None
) -> Array:
    """How much y may change, y's shape, where elements of a next to a half-way are quantised to its other side."""
    ties = near_tie(dynamic_quantize_linear_real(a), SINGLE_PRECISION_TIE).astype(np.float64)
    _, a_scale, _ = dynamic_quantize_linear(a)
    right = b.astype(np.float64) - (0.0 if b_zero_point is None else b_zero_point.astype(np.float64))
    return np.asarray(np.matmul(ties, np.abs(right)) * np.abs(a_scale * b_scale))
