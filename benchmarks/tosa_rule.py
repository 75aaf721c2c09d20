"""The compliance tests of Arm's TOSA reference model, against float64 as theirs.

Source: TOSA 1.0, reference model of August 2025 (jerryzhao173985/reference_model 9131f8a, a copy of git.mlplatform.org's):
reference_model/src/verify/verify_{dot_product,ulp,abs_error,relative,reduce_product,exact,fp_special}.cpp and verify_utils.cpp,
verif/generator/tosa_test_gen.py (tensorComplianceMetaData, TOSA_OP_LIST), bounds in reference_model/src/ops/.
Operators that TOSA does not have (softmax, normalisations, GELU, quantisation of reals, float64) are None: TOSA tests what they
are lowered to. Gemm is CONV2D of 1 by 1 where it does not scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.operands import operand, reduced, summed
from reference import dtypes, magnitudes
from reference.node import Array, Node

TYPES = ("float32", "float16", "bfloat16")

DOT_PRODUCTS = frozenset(["AveragePool", "Conv", "ConvTranspose", "Gemm", "GlobalAveragePool", "MatMul", "ReduceSum"])

ULPS: Mapping[str, tuple[float, float]] = {
    "Add": (0.5, 0.5),
    "Cast": (1.0, 0.5),
    "Ceil": (0.5, 0.5),
    "Erf": (5.0, 5.0),
    "Floor": (0.5, 0.5),
    "Mul": (0.5, 0.5),
    "Reciprocal": (1.0, 1.0),
    "Sub": (0.5, 0.5),
}
"""Operator → ulp below and above the exact value."""

EXACT = frozenset([
    "Abs", "ArgMax", "Clip", "Concat", "ConvInteger", "Equal", "Gather", "Greater", "GreaterOrEqual", "Identity",
    "MatMulInteger", "Max", "MaxPool", "Min", "Neg", "Pad", "ReduceMax", "ReduceMin", "Relu", "Reshape", "Slice", "Split",
    "Tile", "Transpose", "Where",
])  # fmt: skip
"""Relu is CLAMP; padding with a constant only."""


def accepts(node: Node, expected: Array, got: Array, dtype: str, accumulator: str = "float32") -> bool | None:
    """Whether the output complies; None where TOSA has no such operator or type. accumulator: of sums of float16 products,
    float32 or float16; the other types have float32."""
    if any(t is not None and dtypes.is_float(t) and t not in TYPES for t in (*node.types, dtype)):
        return None
    if not _has(node):
        return None
    if not dtypes.is_float(dtype):
        return bool(np.array_equal(got, expected))
    y = got.astype(np.float64)
    if node.operator in DOT_PRODUCTS:
        return _dot_product(node, expected, y, dtype, accumulator if dtype == "float16" else "float32")
    low, high = _bounds(node, expected, dtype)
    return bool(_within(expected, y, low, high, dtype).all())


def _has(node: Node) -> bool:
    """Whether TOSA has the operator with these attributes."""
    if node.operator == "Gemm":
        return bool(node.attribute("alpha", 1.0) == 1.0 and (not node.given(2) or node.attribute("beta", 1.0) == 1.0))
    if node.operator == "Resize":
        return node.attribute("mode", "nearest") in ("nearest", "linear") and bool(np.isfinite(operand(node, 0)).all())
    if node.operator == "Pad":
        return bool(node.attribute("mode", "constant") == "constant")
    known = DOT_PRODUCTS | ULPS.keys() | EXACT | ABSOLUTE.keys() | {"ReduceProd"}
    return node.operator in known


def _fraction(dtype: str) -> int:
    """normal_frac: bits after the leading one."""
    return dtypes.FLOATS[dtype].precision - 1


def size_bound(node: Node, dtype: str, accumulator: str = "float32") -> int:
    """ksb: the number of products, divided by 2^((accumulator's − output's fraction bits)/2), and one more for a bias that is
    not 0."""
    k = summed(node) if node.operator in ("Conv", "ConvTranspose", "Gemm", "MatMul") else reduced(node)
    wider = _fraction(accumulator) - _fraction(dtype)
    bias = node.operator in ("Conv", "ConvTranspose", "Gemm") and node.given(2) and bool(np.any(operand(node, 2)))
    return math.ceil(k / math.exp2(wider / 2)) + int(bias)


def _dot_product(node: Node, expected: Array, y: Array, dtype: str, accumulator: str) -> bool:
    """|error| ≤ 2·ksb·u·B of every element, Σe² ≤ 1.6·ksb·T and, on signed data, |Σe| ≤ √(10·1.6·ksb·T), e in units of u·B."""
    if not all(x is None or np.isfinite(x).all() for x in node.inputs):
        return _special(node, dtypes.round_to(expected, dtype), y)
    sizes = magnitudes.of(node)
    assert sizes is not None
    bound = np.broadcast_to(sizes.B, y.shape)
    form, ksb = dtypes.FLOATS[dtype], size_bound(node, dtype, accumulator)
    limit, variance = 2 * ksb, 4.0 * 0.4 * ksb
    error = (y - expected) / np.maximum(bound * form.unit_roundoff, form.smallest_normal)
    free = np.isinf(dtypes.round_to(bound * (1 + limit * form.unit_roundoff), dtype))
    right = np.where(bound == 0, (y == 0) & (expected == 0), np.abs(error) <= limit) | free
    if not right.all():
        return False
    counted = np.where(free | (bound == 0), 0.0, error)
    factors = 1 if node.operator in ("AveragePool", "GlobalAveragePool", "ReduceSum") else 2
    signed = all(bool(np.any(operand(node, i) < 0)) for i in range(factors))
    if signed and abs(counted.sum()) > math.sqrt(10 * variance * y.size):
        return False
    return bool((counted * counted).sum() <= variance * y.size)


def _special(node: Node, expected: Array, y: Array) -> bool:
    """FP_SPECIAL: class and sign only. The second reference, of the operands' magnitudes, may be NaN as well."""
    absolute = [None if x is None else np.abs(x) if x.dtype.kind == "f" else x for x in node.inputs]
    other = node.again(absolute)[0]
    alike = (np.isnan(y) == np.isnan(expected)) & (np.isfinite(y) == np.isfinite(expected))
    alike &= np.signbit(y) == np.signbit(expected)
    right = ((expected == 0) & (y == 0)) | (np.isnan(y) & (np.isnan(expected) | np.isnan(other))) | alike
    return bool(right.all())


def _ulp(reference: Array, dtype: str) -> Array:
    """The ulp of the reference's binade, 0 for zero and what is not finite."""
    form = dtypes.FLOATS[dtype]
    usable = np.isfinite(reference) & (reference != 0)
    power = np.exp2(np.floor(np.log2(np.where(usable, np.abs(reference), 1.0))))
    return np.where(usable, np.maximum(power, form.smallest_normal) * 2.0 ** -_fraction(dtype), 0.0)


def _bounds(node: Node, reference: Array, dtype: str) -> tuple[Array, Array]:
    """How far below and above the reference an element may lie."""
    form = dtypes.FLOATS[dtype]
    if node.operator in ULPS:
        low, high = ULPS[node.operator]
        return low * _ulp(reference, dtype), high * _ulp(reference, dtype)
    if node.operator in ABSOLUTE:
        bound = ABSOLUTE[node.operator](node, reference, dtype)
    elif node.operator == "Resize":
        largest = float(np.abs(operand(node, 0)).max(initial=0.0))
        bound = np.maximum(0.006 * largest, 20.0 * _ulp(reference, dtype))
    elif node.operator == "ReduceProd":
        bound = np.maximum(np.abs(reference), form.smallest_normal) * np.expm1(reduced(node) * np.log1p(form.unit_roundoff))
    else:
        bound = np.zeros(reference.shape)
    return bound, bound


def _scaled(magnitude: Array, bound: Array | float, dtype: str, lower: float = 0.0, divisor: float = 1.0) -> Array:
    """ABS_ERROR: 2^-⌊fraction/divisor⌋·max(|magnitude|, smallest normal, lower/bound)·bound."""
    size = np.maximum(np.abs(magnitude), dtypes.FLOATS[dtype].smallest_normal)
    if lower:
        size = np.maximum(size, lower / bound)
    return np.asarray(math.exp2(-int(_fraction(dtype) / divisor)) * size * bound)


def _base(dtype: str) -> float:
    return 3.0 if dtype == "float32" else 1.0


def _sine(node: Node, reference: Array, dtype: str) -> Array:
    least = math.pi * dtypes.FLOATS[dtype].smallest_normal
    return np.maximum(_scaled(node.real(0), 2.0, dtype, divisor=2), least)


def _power(node: Node, reference: Array, dtype: str) -> Array:
    z = np.log(np.abs(node.real(0))) * node.real(1)
    return _scaled(reference, 7.5 * np.abs(z) + _base(dtype), dtype)


ABSOLUTE: Mapping[str, Callable[[Node, Array, str], Array]] = {
    "Cos": lambda node, y, dtype: _scaled(1 + np.abs(node.real(0)), 1.0, dtype, divisor=2),
    "Exp": lambda node, y, dtype: _scaled(y, 2 * np.abs(node.real(0)) + _base(dtype), dtype),
    "Log": lambda node, y, dtype: _scaled(y, 5.0, dtype, lower=0.5),
    "Pow": _power,
    "Sigmoid": lambda node, y, dtype: _scaled(y, 2 * (1 + np.abs(node.real(0))), dtype),
    "Sin": _sine,
    "Tanh": lambda node, y, dtype: _scaled(y, 8 * np.abs(node.real(0)) + 4 * _base(dtype), dtype, lower=0.5),
}
"""Operator → half-width of ABS_ERROR, from (node, reference, type)."""


def _within(reference: Array, y: Array, low: Array, high: Array, dtype: str) -> Array:
    """tosaCheckFloatBound: NaN for NaN; an interval whose end passes the largest number reaches infinity; zero for what may be
    subnormal; no check where both bounds are infinite."""
    form = dtypes.FLOATS[dtype]
    negative = reference < 0
    reference, y = np.where(negative, -reference, reference), np.where(negative, -y, y)
    top, bottom = reference + high, reference - low
    top = np.where(top > form.largest, np.inf, top)
    bottom = np.where(bottom > form.largest, np.inf, np.where(bottom < -form.largest, -np.inf, bottom))
    inside = ((y >= bottom) & (y <= top)) | ((bottom < form.smallest_normal) & (y == 0))
    inside = np.where(np.isnan(reference), np.isnan(y), inside)
    return np.asarray(inside | (np.isinf(low) & np.isinf(high)))
