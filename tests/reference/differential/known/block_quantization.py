"""Known disagreements of the family `families.block_quantization`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..families.block_quantization import DRAW
from ..families.contributed_attention import DOMAIN
from ..families.fused import contributed
from ..samples import Sample
from . import Disagreement


def _zeros(bits: int, zero_points: int | None) -> Sample:
    """A product with 16 quantised zeros in one block, which g_idx names."""
    return contributed(
        "MatMulNBits",
        [
            np.ones((1, 16), np.float32),
            np.zeros((1, 1, 2 * bits), np.uint8),
            np.ones((1, 1), np.float32),
            None if zero_points is None else np.array([[zero_points]], np.uint8),
            np.zeros(16, np.int32),
        ],
        K=16,
        N=1,
        bits=bits,
        block_size=16,
    )


def _bits(sample: Sample) -> int:
    return int(sample.attribute("bits", 4))


KNOWN: list[Disagreement] = [
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        (f"{DOMAIN}:MatMulNBits",),
        "with g_idx a zero point of 8 in place of packed zero_points",
        "A weight is (quantised - zero point) · scale of its group.",
        lambda s: s.input(4) is not None and _bits(s) == 4 and s.input(3) is not None and s.input(3).dtype == np.uint8,
        lambda: _zeros(4, 3),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        (f"{DOMAIN}:MatMulNBits",),
        "with g_idx numbers of 4 bits in place of 2",
        "The attribute bits says how many a number has.",
        lambda s: s.input(4) is not None and _bits(s) == 2,
        lambda: _zeros(2, None),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {
    "onnx.reference": {operator: "it has no operators of com.microsoft" for operator in DRAW}
}
