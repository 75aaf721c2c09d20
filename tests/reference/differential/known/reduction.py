"""Known disagreements of the family `families.reduction`."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from ..samples import Sample, call
from . import Declines, Disagreement
from .elementwise import kind


def _size(sample: Sample) -> int:
    """A bound of the exact partial results over integers."""
    values = [abs(int(v)) for v in sample.input(0).ravel()]
    if sample.operator == "ReduceProd":
        return math.prod(max(v, 1) for v in values)
    return sum(v * v if sample.operator in ("ReduceSumSquare", "ReduceL2") else v for v in values)


def _whole(sample: Sample) -> bool:
    return sample.input(0).dtype.kind in "iu"


def _has(sample: Sample, *tests: np.ufunc) -> bool:
    """Whether reals hold all these special values."""
    return not _whole(sample) and all(bool(test(sample.input(0)).any()) for test in tests)


KNOWN: list[Disagreement] = [
    Disagreement(
        peer="ONNX Runtime",
        version="1.32.0",
        operators=("ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceProd", "ReduceSumSquare"),
        what="accumulates int64 in double precision",
        why="integers are exact: 2^53 + 1 + 0 is 2^53 + 1",
        when=lambda s: kind(s) == "int64" and _size(s) > 2**53,
        example=lambda: call("ReduceSum", [np.array([2**53 + 1, 0])], version=13),
    ),
    Disagreement(
        peer="ONNX Runtime",
        version="1.32.0",
        operators=("ReduceLogSumExp",),
        what="truncates e^(x − max) of integers to 0 before they are added",
        why="ln(e + 8) is 2.37, which no rounding makes 1, as ln(e) is",
        when=lambda s: s.input(0).dtype.kind == "i" and s.input(0).size > 1,
        example=lambda: call("ReduceLogSumExp", [np.array([1, 0, 0, 0, 0, 0, 0, 0, 0], "i4")], version=18),
    ),
    Disagreement(
        peer="ONNX Runtime",
        version="1.32.0",
        operators=("ReduceLogSumExp",),
        what="overflows for unsigned integers beyond 700, whose e^x it takes as it stands",
        why="ln e^1000 is 1000",
        when=lambda s: s.input(0).dtype.kind == "u" and bool(np.any(s.input(0) > 700)),
        example=lambda: call("ReduceLogSumExp", [np.array([1000], "u4")], version=18),
    ),
    Disagreement(
        peer="ONNX Runtime",
        version="1.32.0",
        operators=("ReduceLogSumExp",),
        what="gives an infinity for NaN next to an infinity",
        why="e^NaN, and every sum with it, is NaN",
        when=lambda s: _has(s, np.isnan, np.isinf),
        example=lambda: call("ReduceLogSumExp", [np.array([np.inf, np.nan], "f4")], version=18),
    ),
    Disagreement(
        peer="onnx.reference",
        version="1.23.2",
        operators=("ReduceLogSumExp",),
        what="gives NaN where there are infinities only",
        why="ln Σe^x is inf where an x is, and −inf where all are −inf; subtracting the maximum is the peer's own step",
        when=lambda s: _has(s, np.isinf),
        example=lambda: call("ReduceLogSumExp", [np.array([np.inf], "f4")], version=18),
    ),
    Disagreement(
        peer="onnx.reference",
        version="1.23.2",
        operators=("ReduceL2",),
        what="squares integers in their own type, where they wrap",
        why="√(65536²) is 65536, not 0",
        when=lambda s: _whole(s) and _size(s) > np.iinfo(s.input(0).dtype).max,
        example=lambda: call("ReduceL2", [np.array([65536], "i4")], version=18),
    ),
    Disagreement(
        peer="onnx.reference",
        version="1.23.2",
        operators=("ReduceMean",),
        what="adds integers in their own type, where they wrap, and divides in float64",
        why="the mean of [2^30, 2^30] is 2^30, that of [2^60 + 1] is 2^60 + 1",
        when=lambda s: _whole(s) and _size(s) > min(2**53, np.iinfo(s.input(0).dtype).max),
        example=lambda: call("ReduceMean", [np.array([2**30, 2**30], "i4")], version=18),
    ),
    Disagreement(
        peer="onnx.reference",
        version="1.23.2",
        operators=("ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "CumSum"),
        what="accumulates bfloat16 in bfloat16, where a sum of more than 256 terms may stand still",
        why="256 + 1 is 256 in bfloat16; the exact sum is rounded once",
        when=lambda s: kind(s) == "bfloat16" and s.input(0).size > 256,
        example=lambda: call("ReduceSum", [np.ones(1024, ml_dtypes.bfloat16)], version=13),
    ),
    Disagreement(
        peer="onnx.reference",
        version="1.23.2",
        operators=("ReduceSumSquare",),
        what="gives 64-bit integers for 32-bit ones",
        why="the output has the type of the input",
        when=lambda s: kind(s) in ("int32", "uint32"),
        example=lambda: call("ReduceSumSquare", [np.array([2], "i4")], version=18),
    ),
]

DECLINED: Declines = {}
