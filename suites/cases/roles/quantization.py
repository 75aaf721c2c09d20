"""Roles of quantisation: scales, zero points and biases that fit together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import TensorProto

from reference import dtypes
from suites.cases.node import Node, Tensor
from suites.cases.recipes import Draw, carrier, integer_range
from suites.cases.roles.role import Array, Role
from suites.cases.terms import TERMS


def scale(exponent: int) -> Role:
    """Positive and not dyadic: a 24-bit mantissa in (1, 2), so far from either that no type rounds it there, times 2^exponent,
    rounded to the type; 1 under the recipe "half", so that x/scale lies half-way.
    """

    def role(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
        mantissa = np.clip(1 + draw.fraction(values.size), 1 + 2.0**-6, 2 - 2.0**-6).reshape(values.shape)
        return np.ones(values.shape) if node.recipe == "half" else np.ldexp(mantissa, exponent)

    return role


def quantizing_scale(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Scale under which a normal input fills the output type, with a few percent beyond it."""
    zero_point = node.input("y_zero_point")
    to = zero_point.dtype if zero_point is not None else dtypes.NAMES[int(node.attribute("output_dtype", TensorProto.UINT8))]
    bits = 8 if dtypes.is_float(to) else (integer_range(to)[1] - integer_range(to)[0]).bit_length()
    return scale(2 - bits)(values, draw, node, tensor)


def requantizing_scale(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Output scale of a quantised product: inputs of 8 bits and scales of 2^-6 to 2^-5 then fill the output, and the
    multiplier stays below 2^-6.
    """
    terms = TERMS[node.operator](node)[0]
    return scale(-12 + 8 + terms.bit_length() // 2)(values, draw, node, tensor)


def zero_point(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """In the middle half of the type; 0 for int32 and floating-point types, as ONNX demands."""
    if dtypes.is_float(tensor.dtype) or tensor.dtype == "int32":
        return np.zeros(values.shape, carrier(tensor.dtype))
    low, high = integer_range(tensor.dtype)
    quarter = (high - low + 1) // 4
    return low + quarter + draw.below(values.size, 2 * quarter).reshape(values.shape)


def weight_zero_point(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """0 for signed weights, as symmetric quantisation has it and many runtimes demand; else in the middle half."""
    if not tensor.dtype.startswith("uint"):
        return np.zeros(values.shape, carrier(tensor.dtype))
    return zero_point(values, draw, node, tensor)


def integer_bias(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """int32 bias of a quantised convolution, of the size of its sums."""
    return (draw.below(values.size, 8192) - 4096).reshape(values.shape)


_QUANTIZED_MATRIX = {"a_scale": scale(-6), "b_scale": scale(-6), "y_scale": requantizing_scale}

ROLES: Mapping[str, Mapping[str, Role]] = {
    "ConvInteger": {"x_zero_point": zero_point, "w_zero_point": weight_zero_point},
    "DequantizeLinear": {"x_scale": scale(-6), "x_zero_point": zero_point},
    "MatMulInteger": {"a_zero_point": zero_point, "b_zero_point": weight_zero_point},
    "QLinearConv": {
        "x_scale": scale(-6),
        "x_zero_point": zero_point,
        "w_scale": scale(-6),
        "w_zero_point": weight_zero_point,
        "y_scale": requantizing_scale,
        "y_zero_point": zero_point,
        "b": integer_bias,
    },
    "QLinearMatMul": {
        **_QUANTIZED_MATRIX,
        "a_zero_point": zero_point,
        "b_zero_point": weight_zero_point,
        "y_zero_point": zero_point,
    },
    "QuantizeLinear": {"y_scale": quantizing_scale, "y_zero_point": zero_point},
}
"""Operator → tensor → role."""
