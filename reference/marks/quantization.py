"""What quantising operators leave open, and results next to a half-way between two integers; see `reference.marks`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from reference import dtypes
from reference.node import Array, Node
from reference.ops import qlinear, quantization
from reference.ops.qlinear import SINGLE_PRECISION_TIE
from reference.ops.requantization import near_tie

Mask = Array | None


def no_range(node: Node) -> Mask:
    """DynamicQuantizeLinear of zeros alone, whose scale is 0 by the formula, or of none: then x / y_scale is 0/0."""
    return None if node.real(0).any() else np.ones((), bool)


def half_ways(real: Callable[..., Array]) -> Callable[[Node], Mask]:
    """The rule for an operator with that result before rounding: what single precision may take to the other side."""

    def rule(node: Node) -> Mask:
        if not dtypes.is_integer(node.output_types[0]):
            return None
        with np.errstate(all="ignore"):
            return near_tie(real(*node.inputs, **node.attributes), SINGLE_PRECISION_TIE)

    return rule


def dynamic_half_ways(node: Node) -> Sequence[Mask]:
    """DynamicQuantizeLinear: its zero point and, with it or by themselves, its quotients half-way between two integers."""
    x = node.real(0)
    of_zero = near_tie(quantization.dynamic_quantize_linear_zero_point_real(x), SINGLE_PRECISION_TIE)
    return [near_tie(quantization.dynamic_quantize_linear_real(x), SINGLE_PRECISION_TIE) | of_zero, None, of_zero]


def dynamic_products(node: Node) -> Mask:
    """DynamicQuantizeMatMul: products with an element of a next to a half-way, all of them if the zero point is."""
    a, *others = node.inputs
    of_zero = near_tie(quantization.dynamic_quantize_linear_zero_point_real(node.real(0)), SINGLE_PRECISION_TIE)
    slack: Callable[..., Array] = qlinear.dynamic_quantize_matmul_slack
    return of_zero | (slack(a, *others) > 0)


REQUANTISED: Mapping[str, Callable[..., Array]] = {
    "QGemm": qlinear.qgemm_real,
    "QLinearAdd": qlinear.qlinear_add_real,
    "QLinearAveragePool": qlinear.qlinear_average_pool_real,
    "QLinearConcat": qlinear.qlinear_concat_real,
    "QLinearConv": quantization.qlinear_conv_real,
    "QLinearGlobalAveragePool": qlinear.qlinear_global_average_pool_real,
    "QLinearLeakyRelu": qlinear.qlinear_leaky_relu_real,
    "QLinearMatMul": quantization.qlinear_matmul_real,
    "QLinearMul": qlinear.qlinear_mul_real,
    "QLinearSigmoid": qlinear.qlinear_sigmoid_real,
    "QLinearSoftmax": qlinear.qlinear_softmax_real,
}
"""Operator → its result before rounding to an integer."""

TIES: Mapping[str, Callable[[Node], Mask | Sequence[Mask]]] = {
    "DynamicQuantizeLinear": dynamic_half_ways,
    "DynamicQuantizeMatMul": dynamic_products,
    **{name: half_ways(real) for name, real in REQUANTISED.items()},
}
