"""Known disagreements of the family `families.matrix`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..samples import Sample, call
from . import Disagreement


def _wide(sample: Sample) -> bool:
    """Whether products of 64-bit integers may leave what float64 holds exactly."""
    return any(
        x.dtype.kind in "iu" and x.dtype.itemsize == 8 and bool((np.abs(x.astype(np.float64)) > 2**20).any())
        for x in sample.feeds.values()
    )


def _nothing_times(sample: Sample) -> bool:
    """Whether one of two operands is a single 0 and the other one holds NaN or infinities."""
    a, b = (sample.input(i) for i in (0, 1))
    return a.dtype.kind not in "iu" and any(
        x.size == 1 and not x.any() and not np.isfinite(y).all() for x, y in ((a, b), (b, a))
    )


KNOWN: list[Disagreement] = [
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Gemm",),
        "64-bit integers rounded to float64",
        "Integers are exact: 0·AB + (2^53 + 1) is 2^53 + 1.",
        _wide,
        lambda: call("Gemm", [np.array([[1]]), np.array([[1]]), np.array([[2**53 + 1]])], version=13, alpha=0.0),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Gemm", "MatMul"),
        "0 for infinities and NaN times a single 0",
        "The product is NaN; np.dot skips what a 0 scales.",
        _nothing_times,
        lambda: call("MatMul", [np.array([[np.inf], [1]], np.float32), np.zeros(1, np.float32)], version=13),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Gemm",),
        "with broadcast=0, C itself whatever beta is, and float32 for float16",
        "alpha·A·B + beta·C in the type of A; broadcast says nothing of beta.",
        lambda s: (
            s.version == 6
            and s.attribute("broadcast", 0) == 0
            and (s.attribute("beta", 1.0) != 1 or s.input(0).dtype == np.float16)
        ),
        lambda: call("Gemm", [np.ones((1, 1), np.float32)] * 3, version=6, beta=2.0),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("MatMulInteger",),
        "a vector of zero points of a along its columns",
        "a_zero_point may be an M element vector, one for each row.",
        lambda s: s.input(2) is not None and s.input(2).ndim == 1 and s.input(2).size > 1,
        lambda: call("MatMulInteger", [np.ones((2, 2), np.uint8)] * 2 + [np.array([0, 1], np.uint8)], version=10),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("MatMulInteger",),
        "whatever the memory held before, for an inner axis of length 0",
        "A sum of no products is 0.",
        lambda s: s.input(0).shape[-1] == 0,
        lambda: call("MatMulInteger", [np.zeros((99, 0), np.uint8), np.zeros((0, 99), np.uint8)], version=10),
        by_chance=True,
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Einsum",),
        "sums of int64 through float64",
        "Integers are exact: the sum of 2^53 + 1 alone is 2^53 + 1 (https://github.com/microsoft/onnxruntime/pull/28743).",
        _wide,
        lambda: call("Einsum", [np.array([2**53 + 1])], version=12, equation="i->"),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Einsum",),
        "an end of the process for a diagonal of an empty tensor, or a sum over one",
        "A sum of no products is 0 (https://github.com/microsoft/onnxruntime/pull/23379).",
        lambda s: any(x.size == 0 for x in s.feeds.values()),
        lambda: call("Einsum", [np.zeros((0, 2, 0), np.float32)], version=12, equation="iji->"),
        crashes=True,
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {}
