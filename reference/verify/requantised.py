"""What each requantising operator rounds: the real value, and the sizes that its roundings act on, all in steps of the output.

Sources: ONNX's text of QuantizeLinear, QLinearConv and QLinearMatMul; ONNX Runtime's docs/ContribOperators.md, which has the
pools, Sigmoid and Softmax computed in floating point between a dequantisation and a quantisation.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping

import numpy as np

from reference import dtypes, magnitudes
from reference.marks.quantization import REQUANTISED
from reference.node import Array, Node
from reference.ops import activation, matrix, quantization
from reference.ops.requantization import near_tie
from reference.verify.bounds import explicit, softmax
from reference.verify.setting import Setting

REAL: Mapping[str, Callable[..., Array]] = {
    **REQUANTISED,
    "DynamicQuantizeLinear": quantization.dynamic_quantize_linear_real,
    "QuantizeLinear": quantization.quantize_linear_real,
}
"""Operator → function that gives the real value r + zp before rounding and clipping, from the operator's own inputs."""

ZERO_POINT = {
    **dict.fromkeys(("QLinearAdd", "QLinearConv", "QLinearMatMul", "QLinearMul"), 7),
    **dict.fromkeys(("QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearLeakyRelu"), 4),
    **dict.fromkeys(("QLinearSigmoid", "QLinearSoftmax"), 4),
    "QGemm": 8,
    "QLinearConcat": 1,
    "QuantizeLinear": 2,
}
"""Operator → the input that is the output's zero point; DynamicQuantizeLinear computes its own."""

OF_REALS = ("DynamicQuantizeLinear", "QuantizeLinear")
"""Operators on real data, which the unit's floating-point arithmetic divides."""

HALF_TO_EVEN = ("QLinearMatMul", "QuantizeLinear")
"""Operators whose text asks for half-ways to even and whose quotient may be met exactly; the others' say nothing."""


@dataclasses.dataclass(frozen=True)
class Rounding:
    """What an operator rounds to its output's integers, in steps of the output; arrays broadcast to its shape.

    real: r + zero point. magnitude: R, what a relative error of the multiplier acts on. size: the sum of what each rounding on
    the way acts on, but for the last one, of `real`. inside: error of a function that is evaluated on reals. multiplier: output
    steps in one accumulator step, None where there is no accumulator. decided: whether no rounding comes before the last one,
    so that a half-way is met exactly.
    """

    real: Array
    magnitude: Array
    size: Array
    inside: Array | float = 0.0
    multiplier: Array | None = None
    decided: Array | bool = False


def of(node: Node, setting: Setting) -> Rounding:
    """What the first output rounds. Raises KeyError for an operator that requantises nothing."""
    real = real_value(node)
    with np.errstate(invalid="ignore"):
        r = np.abs(real - zero_point(node))
    found = Rounding(real, r, 4 * r)
    refine = REFINED.get(node.operator)
    return refine(node, setting, found) if refine else found


def real_value(node: Node) -> Array:
    """r + zero point of the first output, before rounding and clipping, float64."""
    return np.asarray(REAL[node.operator](*node.inputs, **node.attributes), np.float64)


def zero_point(node: Node) -> Array:
    """The zero point of the first output, broadcasting to its shape; 0 where there is none."""
    if node.operator == "DynamicQuantizeLinear":
        return node.results[2].astype(np.float64)
    index = ZERO_POINT[node.operator]
    if not node.given(index):
        return np.zeros(())
    zero = node.real(index)
    if node.operator == "QuantizeLinear":
        axis, block = int(node.attribute("axis", 1)), int(node.attribute("block_size", 0))
        return quantization.spread(zero, node.real(0).shape, axis, block)
    return matrix.per_row(zero) if zero.size > 1 else zero.reshape(())


def scale_of_reals(node: Node) -> Array:
    """y_scale of an operator on reals, broadcasting to the output's shape."""
    if node.operator == "DynamicQuantizeLinear":
        return node.results[1]
    axis, block = int(node.attribute("axis", 1)), int(node.attribute("block_size", 0))
    return quantization.spread(node.real(1), node.real(0).shape, axis, block)


def unit_roundoff(node: Node, setting: Setting) -> float:
    """u of requantisation: as declared, or if it is coarser that of the unit that divides reals, of the type that the division
    is asked for in, or of a unit that computes in the 16-bit type of the scales."""
    declared = setting.arithmetic.requantise.u
    if node.operator in OF_REALS:
        named = None
        if node.operator == "QuantizeLinear":
            named = quantization.division_type(node.attribute("precision", 0), node.types)
        return max(declared, setting.u, dtypes.FLOATS[named].unit_roundoff if named else 0.0)
    return max(declared, setting.u) if setting.dtype in ("float16", "bfloat16") else declared


def zero_point_is_open(node: Node, u: float) -> bool:
    """Whether DynamicQuantizeLinear's own zero point lies so near a half-way that roundings decide it, as for data that
    reaches as far below 0 as above."""
    real = quantization.dynamic_quantize_linear_zero_point_real(node.real(0))
    return bool(near_tie(real, 4 * u * float(real)))


def _power_of_two(x: Array) -> Array:
    return np.asarray(np.frexp(x)[0] == 0.5)


def _quantize(node: Node, setting: Setting, found: Rounding) -> Rounding:
    """x/y_scale, or x times a rounded 1/y_scale; operands may be converted first. Dividing by a power of two is exact."""
    scale = scale_of_reals(node)
    with np.errstate(all="ignore"):
        converted = 2 * setting.u_in * found.magnitude + setting.eta_in * (1 + found.magnitude) / scale
        converted = np.where(setting.u_in + setting.eta_in > 0, converted, 0.0)
    decided = np.zeros((), bool)
    if node.operator in HALF_TO_EVEN and not (setting.u_in or setting.eta_in):
        asked = quantization.division_type(node.attribute("precision", 0), node.types)
        held = True if dtypes.is_float(node.types[0] or "") else np.abs(node.real(0)) <= 2.0**24
        decided = _power_of_two(scale) & (asked is None) & held
    return dataclasses.replace(found, inside=converted, decided=decided)


def _accumulated(node: Node, setting: Setting, found: Rounding) -> Rounding:
    """QLinearConv, QLinearMatMul: an exact sum of integers, converted and multiplied by a factor of three scales; or for
    8-bit floating-point matrices a sum of rounded products."""
    if node.operator == "QLinearConv":
        column = (-1, *[1] * (node.real(0).ndim - 2))
        scales = [node.real(1), node.real(4).reshape(column), node.real(6)]
    else:
        scales = [matrix.per_row(node.real(1)), node.real(4), matrix.per_row(node.real(6))]
    left, right, out = (s.reshape(()) if s.size == 1 else s for s in scales)
    multiplier = left * right / out
    inside: Array | float = 0.0
    sizes = magnitudes.of(node) if dtypes.is_float(node.types[0] or "") else None
    if sizes is not None:
        inside = setting.gamma(sizes.terms + 2) * sizes.B / np.abs(out)
    dyadic = _power_of_two(left) & _power_of_two(right) & _power_of_two(out)
    held = found.magnitude <= 2.0**24 * multiplier  # the sum is a float32
    decided = dyadic & held & (sizes is None) & (node.operator in HALF_TO_EVEN)
    return dataclasses.replace(found, inside=inside, multiplier=multiplier, decided=decided)


def _product(node: Node, setting: Setting, found: Rounding) -> Rounding:
    """QLinearMul: an exact product of integers."""
    return dataclasses.replace(found, multiplier=(node.real(1) * node.real(4) / node.real(6)).reshape(()))


def _gemm(node: Node, setting: Setting, found: Rounding) -> Rounding:
    """QGemm: alpha costs a rounding more."""
    alpha = abs(float(node.attribute("alpha", 1.0)))
    b_scale = node.real(4)
    multiplier = alpha * node.real(1).reshape(()) * (b_scale.reshape(()) if b_scale.size == 1 else b_scale) / node.real(7)
    return dataclasses.replace(found, size=(4 + (alpha != 1)) * found.magnitude, multiplier=multiplier)


def _sum(node: Node, setting: Setting, found: Rounding) -> Rounding:
    """QLinearAdd: zero points may be folded into one constant, so that what is rounded are the integers' own multiples, the
    constant with the output's zero point, and two partial sums."""
    magnitude = np.zeros(())
    for i in (0, 3):
        zero = np.abs(node.real(i + 2)).reshape(()) if node.given(i + 2) else 0.0
        magnitude = magnitude + (np.abs(node.real(i)) + zero) * np.abs(node.real(i + 1)).reshape(())
    magnitude = np.asarray(magnitude / np.abs(node.real(6)).reshape(()))
    size = 4 * magnitude + np.abs(zero_point(node)) + np.abs(found.real)
    return dataclasses.replace(found, magnitude=magnitude, size=size)


def _pool(node: Node, setting: Setting, found: Rounding) -> Rounding:
    """QLinearAveragePool, QLinearGlobalAveragePool: K dequantised elements may be added in floating point."""
    x, x_scale, zero, y_scale = node.inputs[:4]
    assert x is not None
    centred = np.abs(x.astype(np.float64) - (0.0 if zero is None else zero.astype(np.float64).reshape(())))
    mean = REAL[node.operator](centred, x_scale, np.zeros(()), y_scale, np.zeros(()), **node.attributes)
    spatial = x.shape[1:-1] if node.attribute("channels_last", 0) else x.shape[2:]
    inside = setting.gamma(math.prod(node.attribute("kernel_shape", spatial)) + 1) * mean
    return dataclasses.replace(found, inside=np.nan_to_num(inside, nan=0.0, posinf=np.inf))


def _dequantised(node: Node) -> Array:
    zero = node.real(2).reshape(()) if node.given(2) else 0.0
    return np.asarray((node.real(0) - zero) * node.real(1).reshape(()))


def _on_reals(node: Node, setting: Setting, operator: str, version: int, y: Array, **attributes: int) -> Node:
    """The same call of the operator on reals, dequantised first."""
    kinds = (setting.dtype,)
    return Node(operator, "", version, (_dequantised(node),), kinds, attributes, kinds, (y,), ("y",))


def _sigmoid(node: Node, setting: Setting, found: Rounding) -> Rounding:
    """QLinearSigmoid: the function's own error, and that of its dequantised argument."""
    x = _dequantised(node)
    y = activation.sigmoid(x)
    (error,) = explicit.sigmoid(_on_reals(node, setting, "Sigmoid", 13, y), setting)
    error = error + 2 * setting.u * np.abs(x) * y * (1 - y)
    return dataclasses.replace(found, inside=error / np.abs(node.real(3).reshape(())))


def _softmax(node: Node, setting: Setting, found: Rounding) -> Rounding:
    """QLinearSoftmax: the function's own error, and those of its arguments: an element's own and that of the sum."""
    x, y_scale = _dequantised(node), np.abs(node.real(3).reshape(()))
    opset, axis = int(node.attributes["opset"]), int(node.attribute("axis", -1))
    y = (activation.softmax if opset >= 13 else activation.softmax_1)(x, axis=axis)
    (error,) = softmax.softmax(_on_reals(node, setting, "Softmax", opset, y, axis=axis), setting)
    error = error + 4 * setting.u * np.abs(x).max(initial=0.0) * y
    return dataclasses.replace(found, inside=np.nan_to_num(error / y_scale, nan=np.inf, posinf=np.inf))


def _leaky(node: Node, setting: Setting, found: Rounding) -> Rounding:
    """QLinearLeakyRelu: one factor on each side of 0."""
    slope = float(node.attribute("alpha", activation.LEAKY_SLOPE))
    factor = np.where(_dequantised(node) < 0, abs(slope), 1.0)
    return dataclasses.replace(found, multiplier=factor * (node.real(1) / node.real(3)).reshape(()))


REFINED: Mapping[str, Callable[[Node, Setting, Rounding], Rounding]] = {
    "DynamicQuantizeLinear": _quantize,
    "QGemm": _gemm,
    "QLinearAdd": _sum,
    "QLinearAveragePool": _pool,
    "QLinearConv": _accumulated,
    "QLinearGlobalAveragePool": _pool,
    "QLinearLeakyRelu": _leaky,
    "QLinearMatMul": _accumulated,
    "QLinearMul": _product,
    "QLinearSigmoid": _sigmoid,
    "QLinearSoftmax": _softmax,
    "QuantizeLinear": _quantize,
}
"""Operator → what it adds to four roundings of R."""
