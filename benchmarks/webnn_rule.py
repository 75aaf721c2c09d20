"""The tolerances of WebNN's web-platform-tests: a distance in representable numbers by operator, type and number of terms.

Source: web-platform-tests/wpt, webnn/resources/utils.js as of 2025 (operatorToleranceDict, zeroULPToleranceOperatorList, the
functions of conv2d, gemm, matmul, pooling, reductions, resample2d and softmax, getInstanceNormPrecisionTolerance, ulpDistance),
webnn/conformance_tests/{quantizeLinear,dequantizeLinear}.https.any.js, and for what the former leaves to the tests of single
operators the table PrecisionMetrics of the same file at commit 3e85718. float32, float16 and integers; WebNN has no bfloat16,
no float64 and none of the operators that are not listed. A float16's NaN counts as equal to NaN, where the suite's own
conversion of the expected value differs from most devices' NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.operands import operand, reduced, summed
from reference import dtypes
from reference.node import Array, Node

ULPS: Mapping[str, tuple[int, int]] = {
    "Add": (1, 1),
    "BatchNormalization": (6, 6),
    "Cast": (1, 1),
    "DequantizeLinear": (1, 1),
    "Div": (2, 2),
    "Elu": (18, 18),
    "Exp": (32, 1),
    "Gelu": (18, 18),
    "HardSigmoid": (2, 2),
    "HardSwish": (4, 4),
    "InstanceNormalization": (840, 8400),
    "LeakyRelu": (1, 2),
    "Mul": (1, 1),
    "PRelu": (1, 1),
    "Pow": (32, 2),
    "Reciprocal": (2, 2),
    "Sigmoid": (34, 10),
    "Softplus": (18, 18),
    "Softsign": (3, 3),
    "Sqrt": (1, 1),
    "Sub": (1, 1),
    "Tanh": (16, 16),
}
"""Operator → ULP distance in float32 and float16."""

ABSOLUTE: Mapping[str, tuple[float, float]] = {
    "Cos": (2**-10, 2**-9),
    "Erf": (2**-10, 2**-9),
    "LayerNormalization": (2**-10, 2**-9),
    "Log": (2**-10, 2**-10),
    "Sin": (2**-10, 2**-9),
    "Tan": (2**-10, 2**-9),
}
"""Operator → absolute tolerance in float32 and float16."""

EXACT = frozenset([
    "Abs", "And", "ArgMax", "ArgMin", "Ceil", "Clip", "Concat", "Equal", "Expand", "Floor", "Gather", "GatherElements",
    "GatherND", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Max", "MaxPool", "Min", "Neg", "Not", "Or",
    "Pad", "ReduceMax", "ReduceMin", "Relu", "Reshape", "Round", "ScatterElements", "ScatterND", "Sign", "Slice", "Split",
    "Tile", "Transpose", "Trilu", "Where", "Xor",
])  # fmt: skip

REDUCTIONS: Mapping[str, tuple[int, int]] = {
    "ReduceL1": (1, 0),
    "ReduceL2": (2, 2),
    "ReduceLogSum": (1, 18),
    "ReduceLogSumExp": (2, 18),
    "ReduceMean": (1, 2),
    "ReduceProd": (1, 0),
    "ReduceSum": (1, 0),
    "ReduceSumSquare": (2, 0),
    "AveragePool": (1, 2),
    "GlobalAveragePool": (1, 2),
    "LpPool": (1, 2),
    "Softmax": (3, 3),
}
"""Operator → (a, b) of the ULP distance a·K + b."""


def _gemm(node: Node, dtype: str) -> int:
    extra = int(node.attribute("alpha", 1.0) != 1.0)
    if node.given(2) and node.attribute("beta", 1.0) != 0:
        extra += 1 + int(node.attribute("beta", 1.0) != 1.0)
    return 2 * summed(node) + extra


def _resize(node: Node, dtype: str) -> int | None:
    if node.attribute("mode", "nearest") == "linear":
        return {"float32": 84, "float16": 10}.get(dtype, 1)
    return 0 if node.attribute("mode", "nearest") == "nearest" else None


BY_NODE: Mapping[str, Callable[[Node, str], int | None]] = {
    "Conv": lambda node, dtype: 2 * summed(node),
    "ConvTranspose": lambda node, dtype: 2 * summed(node),
    "Gemm": _gemm,
    "MatMul": lambda node, dtype: 2 * operand(node, 0).shape[-1],
    "QuantizeLinear": lambda node, dtype: 1,
    "Resize": _resize,
}


def distance(node: Node, dtype: str) -> int | None:
    """The allowed ULP distance, None where there is none."""
    if node.operator in EXACT:
        return 0
    if node.operator in BY_NODE:
        return BY_NODE[node.operator](node, dtype)
    if node.operator in REDUCTIONS:
        a, b = REDUCTIONS[node.operator]
        return a * reduced(node) + b
    if node.operator in ULPS:
        return ULPS[node.operator][int(dtype == "float16")] if dtypes.is_float(dtype) else 0
    return None


def accepts(node: Node, expected: Array, got: Array, dtype: str) -> bool | None:
    """Whether every element is as near as the operator asks; None where WebNN has no such operator or type."""
    floats = [t for t in (*node.types, dtype) if t is not None and dtypes.is_float(t)]
    if any(t not in ("float32", "float16") for t in floats):
        return None
    if node.operator in ABSOLUTE:
        tolerance = ABSOLUTE[node.operator][int(dtype == "float16")]
        y, real = got.astype(np.float64), dtypes.round_to(expected, dtype)
        return bool(((np.abs(y - real) <= tolerance) | (y == real) | (np.isnan(y) & np.isnan(real))).all())
    limit = distance(node, dtype)
    if limit is None:
        return None
    if not dtypes.is_float(dtype):
        if dtype == "bool":
            return bool(np.array_equal(got, expected))
        wide = object if got.dtype.itemsize == 8 else np.int64
        return bool((np.abs(got.astype(wide) - expected.astype(wide)) <= limit).all())
    reference = dtypes.cast(expected, dtype)
    same = (got == reference) | (np.isnan(got) & np.isnan(reference))
    return bool((same | (np.abs(_places(got, dtype) - _places(reference, dtype)) <= limit)).all())


def _places(x: Array, dtype: str) -> Array:
    """Bit patterns as integers: of float32 with the number's sign, of float16 as they are, so that numbers of different signs
    lie far apart."""
    if dtype == "float16":
        return x.view(np.uint16).astype(np.int64)
    bits = np.abs(x).view(np.uint32).astype(np.int64)
    return np.where(x < 0, -bits, bits)
