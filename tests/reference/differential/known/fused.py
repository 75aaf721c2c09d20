"""Known disagreements of the family `families.fused`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..families.contributed_attention import DOMAIN
from ..families.fused import DRAW, contributed
from . import Disagreement

KNOWN: list[Disagreement] = [
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        (f"{DOMAIN}:FusedMatMul",),
        "A as it is in spite of transA where B is a vector",
        "numpy.matmul of the transposed A: [[1, 3], [2, 4]] times (1, 10) is (31, 42).",
        lambda s: s.attribute("transA", 0) == 1 and s.input(1).ndim == 1 and s.input(0).ndim > 1,
        lambda: contributed("FusedMatMul", [np.array([[1, 2], [3, 4]], np.float32), np.array([1, 10], np.float32)], transA=1),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {
    "onnx.reference": {operator: "it has no operators of ONNX Runtime" for operator in DRAW},
    "ONNX Runtime": {f"{DOMAIN}:SimplifiedLayerNormalization": "it has the operator in ONNX's own domain"},
}
