"""Roles of operands: within the domain of a function, small enough for integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from onnx import TensorProto

from reference import dtypes
from suites.cases.node import Node, Tensor
from suites.cases.recipes import Draw, carrier, integer_range, scatter, specials
from suites.cases.roles.role import Array, Role, in_turn, is_integer
from suites.cases.terms import TERMS


def at_least_one(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Magnitudes plus 1; special values stay."""
    return values if node.recipe == "special" else 1 + np.abs(values)


def around_one(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Factors of long products: reals 1 + x/8 of either sign, integers -1, 1 and few others; special values stay."""
    if is_integer(tensor):
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
    return np.where(values == 0, 3, values).astype(values.dtype) if is_integer(tensor) else values


def not_lowest(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Signed integers without the smallest, whose negative and whose quotient by -1 do not fit."""
    if not is_integer(tensor) or tensor.dtype.startswith("uint"):
        return values
    return np.maximum(values, integer_range(tensor.dtype)[0] + 1)


def shift_amount(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Below the width of the type."""
    width = integer_range(tensor.dtype)[1].bit_length()
    return draw.below(values.size, width).reshape(values.shape).astype(carrier(tensor.dtype))


def power_base(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Integers from 0 to 7, for recipe uniform as far as their 7th power fits the type and 53 bits; reals as they are made."""
    if not is_integer(tensor):
        return values
    limit = 2 ** (min(integer_range(tensor.dtype)[1].bit_length(), 53) // 7) if node.recipe == "uniform" else 8
    return (values % limit).astype(values.dtype)


def power_exponent(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Integers from 0 to 4, for recipe uniform to 7; reals halved, whole numbers among them, so that negative bases have
    results.
    """
    if is_integer(tensor):
        return draw.below(values.size, 8 if node.recipe == "uniform" else 5).reshape(values.shape).astype(carrier(tensor.dtype))
    if node.recipe in ("special", "extreme"):
        return values
    whole = draw.below(values.size, 2).reshape(values.shape) == 0
    return np.where(whole, np.rint(values), values / 2)


def headroom(bits: Callable[[int, int], int]) -> Role:
    """Integers shifted right until no result of the operator overflows: by `bits(width, K)` bits for a type of `width`
    value bits and sums of K terms. Recipe wrap is there to overflow, and floating-point values stay.
    """

    def role(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
        if not is_integer(tensor) or node.recipe in ("lattice", "wrap"):
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
    if not is_integer(tensor) or node.recipe == "wrap":
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


_EITHER_HEADROOM = {"a": headroom(_one_bit), "b": headroom(_one_bit)}
_PRODUCT_HEADROOM = {name: headroom(_sum_of_products) for name in ("a", "b", "c")}
_SUM_HEADROOM = {"data": headroom(_sum)}

ROLES: Mapping[str, Mapping[str, Role]] = {
    "Abs": {"x": not_lowest},
    "Acosh": {"input": at_least_one},
    "Add": _EITHER_HEADROOM,
    "BatchNormalization": {"input_var": positive_variance, "var": positive_variance},
    "BitShift": {"y": shift_amount},
    "Cast": {"input": in_target_range},
    "CastLike": {"input": in_target_range},
    "Conv": {"x": few_specials, "w": no_specials},
    "CumProd": {"x": around_one},
    "CumSum": {"x": headroom(_sum)},
    "Div": {"a": not_lowest, "b": not_zero},
    "Einsum": {f"inputs{i}": headroom(_sum_of_products) for i in range(3)},
    "Gemm": _PRODUCT_HEADROOM,
    "MatMul": {
        "a": in_turn(few_specials, headroom(_sum_of_products)),
        "b": in_turn(no_specials, headroom(_sum_of_products)),
    },
    "Mod": {"a": not_lowest, "b": not_zero},
    "Mul": {"a": headroom(_half_of_bits), "b": headroom(_half_of_bits)},
    "Neg": {"x": not_lowest},
    "PRelu": {"x": headroom(_half_of_bits), "slope": headroom(_half_of_bits)},
    "Pow": {"x": power_base, "y": power_exponent},
    "ReduceL1": {"data": in_turn(not_lowest, headroom(_sum))},
    "ReduceMean": _SUM_HEADROOM,
    "ReduceProd": {"data": around_one},
    "ReduceSum": _SUM_HEADROOM,
    "ReduceSumSquare": {"data": headroom(_sum_of_products)},
    "Sub": {"a": minuend, "b": headroom(_one_bit)},
}
"""Operator → tensor → role."""
