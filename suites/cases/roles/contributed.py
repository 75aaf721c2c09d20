"""Roles of quantised operators of com.microsoft."""

from __future__ import annotations

from collections.abc import Mapping

from suites.cases.node import Node, Tensor
from suites.cases.recipes import Draw, carrier
from suites.cases.roles.quantization import integer_bias, requantizing_scale, scale, weight_zero_point, zero_point
from suites.cases.roles.role import Array, Role


def any_byte(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Uniform: numbers of few bits, packed."""
    return draw.below(values.size, 256).reshape(values.shape)


def block_scale(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Of either sign, so that numbers of few bits lie within a few units."""
    sign = 1 - 2 * draw.below(values.size, 2).reshape(values.shape)
    return sign * scale(2 - int(node.attribute("bits", 4)))(values, draw, node, tensor)


def block_zero_point(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Packed numbers, or whole reals of as many bits."""
    if tensor.dtype == "uint8":
        return any_byte(values, draw, node, tensor)
    return draw.below(values.size, 2 ** int(node.attribute("bits", 4))).reshape(values.shape).astype(carrier(tensor.dtype))


def block_of_column(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """MatMulNBits' g_idx: any of the blocks along K."""
    return draw.below(values.size, node.shape("b")[1]).reshape(values.shape)


_OPERANDS = {"a_scale": scale(-6), "a_zero_point": zero_point, "b_scale": scale(-6)}
_ELEMENTWISE = {**_OPERANDS, "b_zero_point": zero_point, "c_scale": scale(-5), "c_zero_point": zero_point}
_MATRICES = {**_OPERANDS, "b_zero_point": weight_zero_point}
_PARTS: Mapping[str, Role] = {f"inputs{i}": (scale(-6), zero_point)[i % 3 - 1] for i in range(30) if i % 3}


def _unary(x_exponent: int, y_exponent: int) -> Mapping[str, Role]:
    """Scales of an operator from x to y."""
    return {
        "x_scale": scale(x_exponent),
        "x_zero_point": zero_point,
        "y_scale": scale(y_exponent),
        "y_zero_point": zero_point,
    }


ROLES: Mapping[str, Mapping[str, Role]] = {
    "DynamicQuantizeMatMul": _MATRICES,
    "MatMulIntegerToFloat": _MATRICES,
    "MatMulNBits": {"b": any_byte, "scales": block_scale, "zero_points": block_zero_point, "g_idx": block_of_column},
    "QGemm": {**_MATRICES, "c": integer_bias, "y_scale": requantizing_scale, "y_zero_point": zero_point},
    "QLinearAdd": _ELEMENTWISE,
    "QLinearAveragePool": _unary(-6, -7),
    "QLinearConcat": {"y_scale": scale(-6), "y_zero_point": zero_point, **_PARTS},
    "QLinearGlobalAveragePool": _unary(-6, -9),
    "QLinearLeakyRelu": _unary(-6, -6),
    "QLinearMul": _ELEMENTWISE,
    "QLinearSigmoid": _unary(-5, -8),
    "QLinearSoftmax": _unary(-5, -8),
}
"""Operator → tensor → role."""
