"""Roles: what operators need of their inputs whatever the recipe, as a data table.

A role is `role(values, draw, node, tensor) -> values`: it gets what the recipe made (float64, int64 or uint64, in the
tensor's shape) and returns what the operator may be given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from reference import dtypes
from suites.cases.node import Node, Parameter, Tensor
from suites.cases.recipes import Draw, carrier, integer_range, scatter, specials
from suites.cases.terms import TERMS

Array = NDArray[Any]
Role = Callable[[Array, Draw, Node, Tensor], Array]


def _is_integer(tensor: Tensor) -> bool:
    return not dtypes.is_float(tensor.dtype) and tensor.dtype not in ("bool", "str")


# Indices.


def _axis(node: Node, data: str, default: int = 0) -> int:
    rank = len(node.shape(data))
    axis = int(node.attribute("axis", default))
    return axis + rank if axis < 0 else axis


def index_along(data: str) -> Role:
    """Within [-n, n), n the length of `data` along the node's axis."""

    def role(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
        length = node.shape(data)[_axis(node, data)]
        return (draw.below(values.size, 2 * length) - length).reshape(tensor.shape)

    return role


def scattered_along(data: str) -> Role:
    """As `index_along`, but without repetition along the axis, since ONNX leaves the result of those open;
    repetition is wanted where a reduction combines them.
    """

    def role(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
        if node.attribute("reduction", "none") != "none":
            return index_along(data)(values, draw, node, tensor)
        axis = _axis(node, data)
        length = node.shape(data)[axis]
        shape = list(tensor.shape)
        shape[axis] = length
        order = np.argsort(draw.words(math.prod(shape)).reshape(shape), axis=axis, kind="stable")
        indices = np.take(order, range(tensor.shape[axis]), axis=axis)
        return indices - length * draw.below(values.size, 2).reshape(tensor.shape)

    return role


def index_tuples(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """GatherND: the last dimension holds one index for each of the leading dimensions of data after the batch."""
    batch = int(node.attribute("batch_dims", 0))
    lengths = np.array(node.shape("data")[batch : batch + tensor.shape[-1]], np.int64)
    words = (draw.words(values.size) >> np.uint64(1)).astype(np.int64).reshape(tensor.shape)
    return words % np.maximum(2 * lengths, 1) - lengths


def scattered_tuples(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """ScatterND: index tuples without repetition, with repetition where a reduction combines them."""
    lengths = node.shape("data")[: tensor.shape[-1]]
    rows, cells = math.prod(tensor.shape[:-1]), math.prod(lengths)
    combined = node.attribute("reduction", "none") != "none"
    flat = draw.below(rows, cells) if combined else draw.permutation(cells)[:rows]
    return np.stack(np.unravel_index(flat, lengths), axis=-1).reshape(tensor.shape).astype(np.int64)


def class_numbers(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """OneHot: within [-depth, depth), and a few outside, which give the off value."""
    depth = node.input("depth")
    assert isinstance(depth, Parameter)
    assert not isinstance(depth.values, tuple)
    count = int(depth.values)
    if tensor.dtype.startswith("uint"):
        return draw.below(values.size, count + 2).reshape(tensor.shape).astype(carrier(tensor.dtype))
    return (draw.below(values.size, 2 * count + 4) - count - 2).reshape(tensor.shape).astype(carrier(tensor.dtype))


# Domains of functions and of integer arithmetic.


def at_least_one(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Magnitudes plus 1; special values stay."""
    return values if node.recipe == "special" else 1 + np.abs(values)


def around_one(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Factors of long products: reals 1 + x/8 of either sign, integers -1, 1 and few others; special values stay."""
    if _is_integer(tensor):
        factors = np.where(values % 8 == 3, 2, 1).astype(carrier(tensor.dtype))
        return factors if tensor.dtype.startswith("uint") else factors * np.where(values % 2 == 0, -1, 1)
    if node.recipe in ("special", "extreme", "zero"):
        return values
    sign = 1.0 - 2.0 * draw.below(values.size, 2).reshape(values.shape)
    if node.recipe == "lattice":
        return sign * np.where(draw.below(values.size, 8).reshape(values.shape) == 0, 2.0, 1.0)
    return sign * (1 + values / 8)


def positive_variance(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """From 1/4 to 4."""
    return np.ldexp(1 + draw.fraction(values.size), draw.below(values.size, 4) - 2).reshape(values.shape)


def not_zero(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Integer divisors: 3 in place of 0."""
    return np.where(values == 0, 3, values).astype(values.dtype) if _is_integer(tensor) else values


def not_lowest(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Signed integers without the smallest, whose negative and whose quotient by -1 do not fit."""
    if not _is_integer(tensor) or tensor.dtype.startswith("uint"):
        return values
    return np.maximum(values, integer_range(tensor.dtype)[0] + 1)


def shift_amount(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Below the width of the type."""
    width = integer_range(tensor.dtype)[1].bit_length()
    return draw.below(values.size, width).reshape(values.shape).astype(carrier(tensor.dtype))


def power_base(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Integers of magnitude 7 at most; reals as the recipe makes them."""
    return (values % 8).astype(values.dtype) if _is_integer(tensor) else values


def power_exponent(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Integers from 0 to 4; reals halved, whole numbers among them, so that negative bases have results."""
    if _is_integer(tensor):
        return draw.below(values.size, 5).reshape(values.shape).astype(carrier(tensor.dtype))
    if node.recipe in ("special", "extreme"):
        return values
    whole = draw.below(values.size, 2).reshape(values.shape) == 0
    return np.where(whole, np.rint(values), values / 2)


def headroom(bits: Callable[[int, int], int]) -> Role:
    """Integers shifted right until no result of the operator overflows: by `bits(width, K)` bits for a type of `width`
    value bits and sums of K terms. Recipe wrap is there to overflow, and floating-point values stay.
    """

    def role(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
        if not _is_integer(tensor) or node.recipe in ("lattice", "wrap"):
            return values
        terms = TERMS[node.operator](node)[0] if node.operator in TERMS else 1
        width = integer_range(tensor.dtype)[1].bit_length()
        return np.asarray(values >> np.array(min(bits(width, terms), width), values.dtype))

    return role


def _one_bit(width: int, terms: int) -> int:
    return 1


def _half_of_bits(width: int, terms: int) -> int:
    return (width + 1) // 2


def _sum(width: int, terms: int) -> int:
    return (max(terms, 1) - 1).bit_length()


def _sum_of_products(width: int, terms: int) -> int:
    return (width + 1) // 2 + (terms.bit_length() + 1) // 2


def minuend(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """One bit of headroom; unsigned types get their upper half, so that no difference is negative."""
    if not _is_integer(tensor) or node.recipe == "wrap":
        return values
    shifted: Array = values >> np.array(1, values.dtype)
    if not tensor.dtype.startswith("uint") or node.recipe == "lattice":
        return shifted
    return np.add(shifted, integer_range(tensor.dtype)[1] // 2 + 1, dtype=values.dtype)


def in_target_range(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Cast of reals to integers: within the target, since ONNX leaves what lies outside open."""
    target = node.input("target_type")
    to = target.dtype if target is not None else dtypes.NAMES[int(node.attribute("to", TensorProto.FLOAT))]
    if not dtypes.is_float(tensor.dtype) or dtypes.is_float(to) or to in ("bool", "str") or to.startswith("complex"):
        return values
    low, high = integer_range(to)
    edge = float(min(high, 2 ** min(dtypes.FLOATS[tensor.dtype].precision, 24) - 1))
    scaled = np.nan_to_num(values, nan=0.0, posinf=edge, neginf=-edge) * 8
    return np.asarray(np.clip(np.abs(scaled) if low == 0 else scaled, max(float(low), -edge), edge))


def few_specials(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Special values once each: more would make every sum of a linear operator NaN."""
    if node.recipe != "special":
        return values
    placed = specials(tensor.dtype)
    return scatter(draw, draw.normal(values.size), placed, len(placed)).reshape(values.shape)


def no_specials(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Normal where the recipe has special values, for the second factor of a linear operator."""
    return draw.normal(values.size).reshape(values.shape) if node.recipe == "special" else values


# Quantisation.


def scale(exponent: int) -> Role:
    """Positive and not dyadic: a 24-bit mantissa in [1, 2) times 2^exponent, rounded to the type; 1 under the recipe
    "half", so that x/scale lies half-way.
    """

    def role(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
        mantissa = (1 + draw.fraction(values.size)).reshape(values.shape)
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


def in_turn(*roles: Role) -> Role:
    """Several roles, one after the other."""

    def role(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
        for each in roles:
            values = each(values, draw, node, tensor)
        return values

    return role


_EITHER_HEADROOM = {"a": headroom(_one_bit), "b": headroom(_one_bit)}
_PRODUCT_HEADROOM = {name: headroom(_sum_of_products) for name in ("a", "b", "c")}
_SUM_HEADROOM = {"data": headroom(_sum)}
_QUANTIZED_MATRIX = {"a_scale": scale(-6), "b_scale": scale(-6), "y_scale": requantizing_scale}

ROLES: Mapping[str, Mapping[str, Role]] = {
    "Abs": {"x": not_lowest},
    "Acosh": {"input": at_least_one},
    "Add": _EITHER_HEADROOM,
    "BatchNormalization": {"input_var": positive_variance},
    "BitShift": {"y": shift_amount},
    "Cast": {"input": in_target_range},
    "CastLike": {"input": in_target_range},
    "Conv": {"x": few_specials, "w": no_specials},
    "ConvInteger": {"x_zero_point": zero_point, "w_zero_point": weight_zero_point},
    "CumSum": {"x": headroom(_sum)},
    "DequantizeLinear": {"x_scale": scale(-6), "x_zero_point": zero_point},
    "Div": {"a": not_lowest, "b": not_zero},
    "Einsum": {f"inputs{i}": headroom(_sum_of_products) for i in range(3)},
    "Gather": {"indices": index_along("data")},
    "GatherElements": {"indices": index_along("data")},
    "GatherND": {"indices": index_tuples},
    "Gemm": _PRODUCT_HEADROOM,
    "MatMul": {
        "a": in_turn(few_specials, headroom(_sum_of_products)),
        "b": in_turn(no_specials, headroom(_sum_of_products)),
    },
    "MatMulInteger": {"a_zero_point": zero_point, "b_zero_point": weight_zero_point},
    "Mod": {"a": not_lowest, "b": not_zero},
    "Mul": {"a": headroom(_half_of_bits), "b": headroom(_half_of_bits)},
    "Neg": {"x": not_lowest},
    "OneHot": {"indices": class_numbers},
    "PRelu": {"x": headroom(_half_of_bits), "slope": headroom(_half_of_bits)},
    "Pow": {"x": power_base, "y": power_exponent},
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
    "ReduceL1": {"data": in_turn(not_lowest, headroom(_sum))},
    "ReduceMean": _SUM_HEADROOM,
    "ReduceProd": {"data": around_one},
    "ReduceSum": _SUM_HEADROOM,
    "ReduceSumSquare": {"data": headroom(_sum_of_products)},
    "ScatterElements": {"indices": scattered_along("data")},
    "ScatterND": {"indices": scattered_tuples},
    "Sub": {"a": minuend, "b": headroom(_one_bit)},
}
"""Operator → tensor → role."""


def role_of(node: Node, name: str) -> Role | None:
    """The role of a tensor, None if the recipe's values are fit for it."""
    return ROLES.get(node.operator, {}).get(name)
