"""Known disagreements of the family `families.qlinear`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..families.contributed_attention import DOMAIN
from ..families.fused import contributed
from ..families.qlinear import DRAW
from ..samples import Array, Sample
from . import Disagreement


def _u8(*values: int) -> Array:
    return np.array(values, np.uint8)


def _f32(*values: float) -> Array:
    return np.array(values, np.float32)


def _one(value: float, kind: Any = np.float32) -> Array:
    return np.array(value, kind)


ZERO = _one(0, np.uint8)


def _steps_of_one(sample: Sample) -> float:
    """How many steps of y_scale make 1."""
    return float(1 / sample.input(3).astype(np.float64).reshape(()))


def _scaled_bias(sample: Sample) -> bool:
    """Whether bias and more than one scale meet a stack of matrices."""
    scale, bias = (3, 6) if sample.operator.endswith("MatMulIntegerToFloat") else (2, 4)
    return sample.input(bias) is not None and sample.input(scale).size > 1 and sample.input(1).ndim > 2


def _no_terms(sample: Sample) -> bool:
    return bool(sample.input(0).shape[0 if sample.attribute("transA", 0) else -1] == 0)


KNOWN: list[Disagreement] = [
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        (f"{DOMAIN}:QLinearSigmoid", f"{DOMAIN}:QLinearLeakyRelu"),
        "an end of the process where the node does not name a Y_zero_point",
        "It is optional and 0 then.",
        lambda s: len(s.node.input) < 5,
        lambda: contributed("QLinearSigmoid", [_u8(1), _one(0.5), ZERO, _one(0.125)]),
        crashes=True,
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        (f"{DOMAIN}:QLinearSoftmax",),
        "results of a scale of 1 / floor(1 / y_scale)",
        "A probability of 1 is 1 / 0.55 = 1.8 steps of 0.55.",
        lambda s: _steps_of_one(s) % 1 != 0,
        lambda: contributed("QLinearSoftmax", [_u8(5), _one(1), ZERO, _one(0.55), ZERO], opset=13),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        (f"{DOMAIN}:QLinearAveragePool",),
        "with ceil_mode and count_include_pad averages that count what lies beyond the padding too",
        "Pad pixels count, and there are as many of them as pads says.",
        lambda s: s.attribute("ceil_mode", 0) == 1 and s.attribute("count_include_pad", 0) == 1,
        lambda: contributed(
            "QLinearAveragePool",
            [_u8(10, 20, 30).reshape(1, 1, 3), _one(1), ZERO, _one(1), ZERO],
            kernel_shape=[2],
            strides=[2],
            ceil_mode=1,
            count_include_pad=1,
        ),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        (f"{DOMAIN}:QGemm", f"{DOMAIN}:MatMulIntegerToFloat", f"{DOMAIN}:DynamicQuantizeMatMul"),
        "whatever is in memory, or 0 without the bias, for a product over no elements",
        "A sum of nothing is 0, and the bias is added to it.",
        _no_terms,
        lambda: contributed(
            "MatMulIntegerToFloat",
            [_u8().reshape(1, 0), _u8().reshape(0, 1), _one(1), _one(1), None, None, _f32(7)],
        ),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        (f"{DOMAIN}:MatMulIntegerToFloat", f"{DOMAIN}:DynamicQuantizeMatMul"),
        "bias times the columns' scales where B has more than two axes",
        "bias is real and has no scale.",
        _scaled_bias,
        lambda: contributed(
            "MatMulIntegerToFloat",
            [_u8(1).reshape(1, 1), _u8(1, 1).reshape(1, 1, 2), _one(1), _f32(1, 2), None, None, _f32(5, 5)],
        ),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {
    "onnx.reference": {operator: "it has no operators of com.microsoft" for operator in DRAW}
}
