"""Known disagreements of the family `families.quantization`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from reference import dtypes
from reference.ops.quantization import quantize_linear_real

from ..samples import Array, Sample, call
from . import Disagreement


def _f32(*values: float) -> Array:
    return np.array(values, np.float32)


def _one(value: float, kind: Any = np.float32) -> Array:
    return np.array(value, kind)


def _quotients(sample: Sample) -> Array:
    """x / y_scale in float64."""
    x, scale = (sample.input(i).astype(np.float64) for i in (0, 1))
    return quantize_linear_real(x, scale, axis=sample.attribute("axis", 1), block_size=sample.attribute("block_size", 0))


def _far(sample: Sample) -> bool:
    """Whether a quotient is beyond int32, or infinite in the type of the division."""
    kinds = {dtypes.name_of(sample.input(i).dtype) for i in (0, 1)} | {dtypes.NAMES.get(sample.attribute("precision", 0))}
    most = 65000.0 if "float16" in kinds else 2.0**30
    return not bool((np.abs(_quotients(sample)) < most).all())


def _unsaturated(sample: Sample, target: str, low: float, high: float) -> bool:
    """Whether a quotient of that size is to become `target` without saturation."""
    zero = sample.input(2)
    named = dtypes.name_of(zero.dtype) if zero is not None else dtypes.NAMES.get(sample.attribute("output_dtype", 0))
    size = np.abs(_quotients(sample))
    return named == target and sample.attribute("saturate", 1) == 0 and bool(((size >= low) & (size <= high)).any())


def _to_float8(value: float, target: str) -> Sample:
    zero = np.zeros((), dtypes.numpy_dtype(target))
    return call("QuantizeLinear", [_f32(value), _one(1), zero], version=21, saturate=0)


def _reals(sample: Sample) -> bool:
    """Whether one of the factors of QLinearMatMul is no integer."""
    return any(dtypes.is_float(dtypes.name_of(sample.input(i).dtype)) for i in (0, 3))


KNOWN: list[Disagreement] = [
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("QuantizeLinear",),
        "the other end of the range for quotients beyond int32, infinities among them",
        "Quotients saturate at the end that they lie beyond.",
        _far,
        lambda: call("QuantizeLinear", [_f32(np.inf), _one(1), _one(0, np.uint8)], version=21),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("QuantizeLinear",),
        "NaN for what rounds to 65536 in float8_e5m2 without saturate",
        "What is beyond the largest number is an infinity.",
        lambda s: _unsaturated(s, "float8_e5m2", 61000, 66000),
        lambda: _to_float8(62000, "float8_e5m2"),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("QuantizeLinear",),
        "448 for what rounds to 480 in float8_e4m3fn without saturate, from 480 on",
        "What is beyond the largest number is NaN.",
        lambda s: _unsaturated(s, "float8_e4m3fn", 460, 500),
        lambda: _to_float8(480, "float8_e4m3fn"),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("QLinearConv",),
        "w_scale along the second of four axes, whatever the rank is",
        "It has one element per output channel.",
        lambda s: s.input(4).size > 1 and s.input(0).ndim != 4,
        lambda: call(
            "QLinearConv",
            [
                np.ones((1, 1, 2), np.uint8),
                _one(1),
                _one(0, np.uint8),
                np.ones((2, 1, 1), np.uint8),
                _f32(1, 2),
                np.zeros(2, np.uint8),
                _one(1),
                _one(0, np.uint8),
            ],
            version=10,
        ),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("QLinearMatMul",),
        "0 for a product over no elements",
        "A sum of nothing is 0, which y_zero_point stands for.",
        lambda s: s.input(0).shape[-1] == 0,
        lambda: _matmul(np.zeros((1, 0), np.uint8), _one(1), 5),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("QLinearMatMul",),
        "scales and zero points of the rows of a along its columns",
        "An M element vector belongs to a's rows.",
        lambda s: s.input(1).size > 1,
        lambda: _matmul(np.array([[1, 1], [1, 1]], np.uint8), _f32(1, 2)),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("QLinearMatMul",),
        "8-bit reals cut to integers",
        "float8 has fractions.",
        _reals,
        lambda: _matmul(np.full((1, 1), 1.5, ml_dtypes.float8_e4m3fn), _one(2)),
    ),
]


def _matmul(a: Array, scale: Array, zero_point: int = 0) -> Sample:
    """a times a column of ones, to uint8 of scale 1."""
    b = np.ones((a.shape[1], 1), np.uint8)
    one, zero, shift = _one(1), _one(0, np.uint8), _one(zero_point, np.uint8)
    return call("QLinearMatMul", [a, scale, np.zeros(scale.shape, a.dtype), b, one, zero, one, shift], version=21)


DECLINED: Mapping[str, Mapping[str, str]] = {}
