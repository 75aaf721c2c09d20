"""Bounds of products of quantised matrices whose result is real: sums of integers times scales, plus a bias.

The sums are exact in the 32 bits of MatMulInteger, but no text of these operators asks for that: a unit may as well dequantise
both matrices and multiply reals (OpenVINO), so that every product is rounded. Sources: ONNX Runtime's docs/ContribOperators.md.
"""

from __future__ import annotations

import numpy as np

from reference import magnitudes
from reference.dtypes import FLOATS, is_float
from reference.node import Array, Node
from reference.ops import qlinear, quantization
from reference.verify.setting import Setting

SCALES = 4
"""Roundings beside those of the sum: of the sum's conversion and of a factor made of two scales and alpha."""


def _sum(left: Array, right: Array, scale: Array, bias: Array | None, roundings: int, setting: Setting) -> Array:
    """Error of scale·Σ left·right, all of them magnitudes (M, K), (K, N) and (N) or scalar, and of adding the bias. Two scales
    are converted, and may underflow on that way. Infinite where a sum of integers or of reals overflows the unit's format."""
    integers = np.matmul(left, right)
    size = integers * scale + (0.0 if bias is None else np.abs(bias))
    terms = left.shape[-1] + roundings + (bias is not None)
    relative = setting.gamma(terms) + 2 * setting.u_in
    error = relative * size + setting.eta_in * (2 * integers + 1) + terms * setting.eta
    return np.where(np.maximum(integers, size) > FLOATS[setting.arithmetic.compute].largest, np.inf, error)


def _input(node: Node, index: int) -> Array | None:
    return node.real(index) if node.given(index) else None


def _centred(x: Array, zero_point: Array | None) -> Array:
    """|x − zero point|."""
    return np.abs(x if zero_point is None else x - zero_point)


def qgemm(node: Node, setting: Setting) -> list[Array]:
    """QGemm without y_scale: C is an integer of the sum's own scale, one term more."""
    if not is_float(node.output_types[0]):
        return []
    a, b = node.real(0), node.real(3)
    left = _centred(a.T if node.attribute("transA", 0) else a, node.real(2))
    right = _centred(b.T if node.attribute("transB", 0) else b, node.real(5))
    scale = np.abs(float(node.attribute("alpha", 1.0)) * node.real(1).reshape(()) * node.real(4))
    c = _input(node, 6)
    return [_sum(left, right, scale, None if c is None else c * scale, SCALES + 1, setting)]


def matmul_integer_to_float(node: Node, setting: Setting) -> list[Array]:
    """MatMulIntegerToFloat; scales per column of a stand inside the sums."""
    a, b, a_scale, b_scale = (node.real(i) for i in range(4))
    left, right = _centred(a, _input(node, 4)), _centred(b, _input(node, 5))
    if a_scale.size > 1:
        left, a_scale = left * np.abs(a_scale), np.ones(())
    return [_sum(left, right, np.abs(a_scale.reshape(()) * b_scale), _input(node, 6), SCALES, setting)]


def dynamic_quantize_matmul(node: Node, setting: Setting) -> list[Array]:
    """DynamicQuantizeMatMul: two roundings more in the scale of a, and what elements of a next to a half-way can change."""
    a, b, b_scale = (node.real(i) for i in range(3))
    real = quantization.dynamic_quantize_linear_real(a)
    q, a_scale, a_zero_point = quantization.dynamic_quantize_linear(a)
    left, right = _centred(q.astype(np.float64), a_zero_point.astype(np.float64)), _centred(b, _input(node, 3))
    scale = np.abs(a_scale * b_scale)
    distance = np.maximum(qlinear.SINGLE_PRECISION_TIE, (4 * setting.u + 2 * setting.u_in) * np.abs(real - a_zero_point))
    steps = np.where(np.abs(real - np.floor(real) - 0.5) <= distance, 1.0 + np.floor(distance), 0.0)
    moved = np.matmul(steps, right) * scale
    return [_sum(left, right, scale, _input(node, 4), SCALES + 2, setting) + moved]


def qlinear_matmul(node: Node, setting: Setting) -> list[Array]:
    """QLinearMatMul with a floating-point result: what is rounded to it is a sum times a factor of three scales."""
    if not is_float(node.output_types[0]):
        return []
    sizes = magnitudes.of(node)
    assert sizes is not None
    y_scale = node.real(6)
    size = sizes.B / np.abs(y_scale[:, None] if y_scale.ndim == 1 and y_scale.size > 1 else y_scale)
    return [(setting.gamma(sizes.terms + SCALES + 1) + 3 * setting.u_in) * size]
