"""Published tolerance rules of other conformance suites, each as its authors apply it to one output of one operator.

A `Rule` answers accepts(node, expected, got, dtype): expected is the exact result (float64 for reals), got the device's output,
dtype its declared type. True, False, or None where the suite has nothing to say: it neither has the operator or type nor falls
back to a tolerance for it. `own` tells whether the suite has the operator itself; elsewhere the answer is that of a fall-back.
Suites that compare with a reference in the tensor's type get the exact result rounded to it, which is the best that theirs can
be. What a suite makes of NaN and infinity is kept, oddities included. None of them depends on what the device declares.

Sources, as read in November 2026:
ONNX backend tests: onnx 1.23.2, backend/test/case/node/__init__.py (rtol 1e-3, atol 1e-7), runner/__init__.py.
ExecuTorch: pytorch/executorch 0e616ef, backends/test/harness/tester.py (atol 1e-3, rtol 1e-3, equal_nan).
ONNX Runtime: microsoft/onnxruntime 2041402, onnxruntime/test/unittest_util/checkers.cc (DefaultTolerance).
OpenVINO: openvinotoolkit/openvino, src/tests/test_utils/common_test_utils, ov_tensor_utils.cpp and .hpp (get_eps_by_ov_type) as
of 2025, whose tables of thresholds by operator are empty.
ggml: ggml-org/ggml d99724f, tests/test-backend-ops.cpp (nmse, max_nmse_err). LiteRT, accelerator test suite:
google-ai-edge/LiteRT f674577, litert/ats/inference_fixture.h and litert/test/generators/*.h (ConformanceSpec).
WebNN: `webnn_rule`. TOSA: `tosa_rule`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping

import numpy as np

from benchmarks import tosa_rule, webnn_rule
from benchmarks.operands import reduced, summed
from reference import dtypes
from reference.node import Array, Node

__all__ = ["RULES", "Rule"]

Accepts = Callable[[Node, Array, Array, str], bool | None]
Own = Callable[[Node, str], bool]


@dataclasses.dataclass(frozen=True)
class Rule:
    """name: of the suite. accepts and own: see the module."""

    name: str
    accepts: Accepts
    own: Own

    def judge(self, node: Node, outputs: list[Array]) -> bool | None:
        """Whether all outputs are accepted, whose shapes and types every suite compares first; None where one is not judged."""
        found: bool | None = True
        for expected, got, dtype in zip(node.results, outputs, node.output_types, strict=True):
            if got.shape != expected.shape or dtypes.name_of(got.dtype) != dtype:
                return False
            with np.errstate(all="ignore"):
                one = self.accepts(node, expected, got, dtype)
            if one is False:
                return False
            found = one if found else found
        return found


def everywhere(node: Node, dtype: str) -> bool:
    return True


def stored(expected: Array, dtype: str) -> Array:
    """The exact result in the tensor's type."""
    return dtypes.cast(expected, dtype) if dtypes.is_float(dtype) else expected.astype(dtypes.numpy_dtype(dtype))


def close(node: Node, expected: Array, got: Array, dtype: str, rtol: float, atol: float) -> bool:
    """numpy.isclose: |got − reference| ≤ atol + rtol·|reference|, NaN equal to NaN."""
    reference = stored(expected, dtype)
    if dtype in ("bool", "str"):
        return bool(np.array_equal(got, reference))
    if dtypes.is_float(dtype) and dtype not in ("float16", "float32", "float64"):
        got, reference = got.astype(np.float32), reference.astype(np.float32)
    return bool(np.isclose(got, reference, rtol=rtol, atol=atol, equal_nan=True).all())


TWO_ULPS_OF_BFLOAT16 = 2.0**-6


def onnx_backend(node: Node, expected: Array, got: Array, dtype: str) -> bool:
    """assert_allclose(rtol=1e-3, atol=1e-7), for bfloat16 a relative 2^-6; integers as well."""
    return close(node, expected, got, dtype, TWO_ULPS_OF_BFLOAT16 if dtype == "bfloat16" else 1e-3, 1e-7)


def executorch(node: Node, expected: Array, got: Array, dtype: str) -> bool:
    """torch.allclose(atol=1e-3, rtol=1e-3)."""
    return close(node, expected, got, dtype, 1e-3, 1e-3)


RUNTIME: Mapping[str, tuple[float, float]] = {
    "float64": (1e-5, 1e-5),
    "float32": (1e-5, 1e-4),
    "float16": (0.0025, 0.001),
    "bfloat16": (0.02, 0.01),
}
"""ONNX Runtime's OpTester: type → (absolute, relative)."""


def onnxruntime(node: Node, expected: Array, got: Array, dtype: str) -> bool:
    """absolute + relative·|expected|; other types must be equal."""
    if dtype not in RUNTIME:
        return equal(stored(expected, dtype), got)
    absolute, relative = RUNTIME[dtype]
    return close(node, expected, got, dtype, relative, absolute)


def equal(reference: Array, got: Array) -> bool:
    """Equal numbers; NaN equals NaN."""
    if got.dtype.kind in "biuO":
        return bool(np.array_equal(got, reference))
    return bool(np.array_equal(got.astype(np.float64), reference.astype(np.float64), equal_nan=True))


OPENVINO: Mapping[str, float] = {"float64": 1e-8, "float32": 1e-4, "float16": 1e-3, "bfloat16": 1e-2}
"""OpenVINO: type → relative threshold; the absolute one is the type's machine epsilon. The largest among the inputs counts."""


def openvino(node: Node, expected: Array, got: Array, dtype: str) -> bool:
    """absolute + relative·|expected|, with infinities and the largest numbers taken for one."""
    if dtype in ("bool", "str"):
        return equal(expected, got)
    types = [t for t in (*node.types, dtype) if t is not None and t in OPENVINO]
    relative = max((OPENVINO[t] for t in types), default=0.0)
    absolute = max((2 * dtypes.FLOATS[t].unit_roundoff for t in types), default=0.0)
    reference, y = stored(expected, dtype).astype(np.float64), got.astype(np.float64)
    largest = dtypes.FLOATS[dtype].largest if dtypes.is_float(dtype) else math.inf
    skipped = (np.isnan(reference) & np.isnan(y)) | ((reference >= largest) & (y >= largest))
    skipped |= y <= -largest  # the operands of || and && in is_value_suitable_for_comparation bind so
    threshold = absolute + relative * np.abs(reference)
    return bool((skipped | (np.abs(reference - y) <= threshold) | np.isposinf(threshold)).all())


GGML: Mapping[str, float] = {
    "ArgMax": 0.0,
    "Attention": 5e-4,
    "Conv": 5e-4,
    "ConvTranspose": 5e-4,
    "Gemm": 5e-4,
    "MatMul": 5e-4,
    "Softmax": 1e-6,
    "TopK": 0.0,
}
"""ggml: operator → largest normalised mean square error (MUL_MAT, CONV_2D, CONV_TRANSPOSE_2D, FLASH_ATTN_EXT, SOFT_MAX)."""

GGML_DEFAULT = 1e-7

GGML_OPERATORS = frozenset([
    "Abs", "Add", "AveragePool", "Cast", "Ceil", "Clip", "Concat", "Cos", "CumSum", "Div", "Elu", "Exp", "Expand", "Floor",
    "Gather", "Gelu", "GroupNormalization", "HardSigmoid", "HardSwish", "LayerNormalization", "LeakyRelu", "Log", "MaxPool",
    "Mul", "Neg", "Pad", "RMSNormalization", "ReduceMean", "ReduceSum", "Relu", "Reshape", "Resize", "Round", "Sigmoid",
    "Sin", "Slice", "Softplus", "Sqrt", "Sub", "Tanh", "Tile", "Transpose",
]) | GGML.keys()  # fmt: skip
"""What ggml has an operator for; a view counts, and LayerNormalization is NORM, MUL and ADD."""

GGML_TYPES = ("float32", "float16", "bfloat16", "int8", "int16", "int32", "int64")


def ggml(node: Node, expected: Array, got: Array, dtype: str) -> bool | None:
    """Σ(y − reference)² / Σy² of single-precision numbers. NaN fails, so the suite's data never have one in a right result;
    infinities (and the largest numbers) must meet, and then make the quotient NaN, which no limit exceeds."""
    if dtype not in GGML_TYPES:
        return None
    y, reference = got.astype(np.float32), stored(expected, dtype).astype(np.float32)
    if np.isnan(reference).any():
        return None
    if np.isnan(y).any():
        return False
    huge = [np.isinf(x) | (np.abs(x) == np.finfo(np.float32).max) for x in (y, reference)]
    if np.any(huge[0] != huge[1]) or np.any(huge[0] & (np.signbit(y) != np.signbit(reference))):
        return False
    difference = y - reference
    squares = [(x * x).astype(np.float64).sum() for x in (difference, y)]
    return not squares[0] / squares[1] > GGML.get(node.operator, GGML_DEFAULT)


LITERT_SUMS = frozenset(["Conv", "Gemm", "MatMul", "Softmax"])
LITERT_EXACT = frozenset(["Transpose"])
LITERT_BUCKETS = frozenset(["QLinearMatMul"])
"""FULLY_CONNECTED of 8-bit integers."""

LITERT_ELEMENTS = frozenset([
    "Abs", "Add", "AveragePool", "Ceil", "Concat", "Cos", "Div", "Elu", "Exp", "Floor", "Gelu", "HardSwish", "Log", "MaxPool",
    "Mul", "Neg", "OneHot", "Pad", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum", "Relu", "Reshape", "Round", "Sigmoid",
    "Sign", "Sin", "Sqrt", "Sub", "Tanh",
])  # fmt: skip
LITERT_MEAN_SQUARE = 1e2


def litert_own(node: Node, dtype: str) -> bool:
    if node.operator in LITERT_BUCKETS | LITERT_EXACT:
        return True
    return node.operator in LITERT_SUMS | LITERT_ELEMENTS and dtype in ("float32", "float16")


def litert(node: Node, expected: Array, got: Array, dtype: str) -> bool | None:
    """atol + rtol·|reference|, rtol = max(1e-4, 10·eps·√K) for sums, max(1e-4, 10·eps) elsewhere; a model that the suite has no
    generator for: mean square error up to 100. Its data never have a right result that is not finite."""
    reference = stored(expected, dtype)
    if dtypes.is_float(dtype) and not np.isfinite(reference.astype(np.float64)).all():
        return None
    if node.operator in LITERT_EXACT:
        return bool(got.tobytes() == reference.tobytes())
    if node.operator in LITERT_BUCKETS:
        return bool((np.abs(got.astype(np.int64) - reference.astype(np.int64)) <= 1).all())
    if not litert_own(node, dtype):
        if dtype not in ("float32", "float16", "int32"):
            return None
        difference = got.astype(np.float64) - reference.astype(np.float64)
        return bool(np.mean(difference * difference) < LITERT_MEAN_SQUARE) if got.size else True
    epsilon = 2 * dtypes.FLOATS[dtype].unit_roundoff
    if node.operator in LITERT_SUMS:
        given = 1e-4 if dtype == "float32" else 5e-3
        rtol, atol = max(given, 10 * epsilon * math.sqrt(_depth(node))), 10 * epsilon
    else:
        rtol = atol = max(1e-4, 10 * epsilon)
    y, r = got.astype(np.float64), reference.astype(np.float64)
    return bool((np.abs(y - r) <= atol + rtol * np.abs(r)).all())


def _depth(node: Node) -> int:
    """accumulation_depth: K, of grouped convolutions the whole input's channels."""
    if node.operator == "Softmax":
        return reduced(node)
    return summed(node) * (node.attribute("group", 1) if node.operator == "Conv" else 1)


RULES: tuple[Rule, ...] = (
    Rule("ONNX backend tests", onnx_backend, everywhere),
    Rule("ExecuTorch", executorch, everywhere),
    Rule("ONNX Runtime", onnxruntime, everywhere),
    Rule("OpenVINO", openvino, everywhere),
    Rule("ggml", ggml, lambda node, dtype: node.operator in GGML_OPERATORS),
    Rule("LiteRT ATS", litert, litert_own),
    Rule("WebNN", webnn_rule.accepts, everywhere),
    Rule("TOSA", tosa_rule.accepts, everywhere),
)
"""All rules. WebNN and TOSA have no fall-back: what they do not define is None."""
