"""Known disagreements of the family `families.patches`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..samples import Sample, call
from . import Disagreement


def _dilated(sample: Sample) -> bool:
    """Whether blocks are dilated over an image of one axis with several channels, or of three."""
    image, block = sample.input(1), sample.input(2)
    stretched = [d > 1 and n > 1 for d, n in zip(sample.attribute("dilations", []), block, strict=False)]
    return any(stretched) and (len(image) > 2 or (len(image) == 1 and sample.input(0).shape[1] > np.prod(block)))


KNOWN: list[Disagreement] = [
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Col2Im",),
        "other values if blocks are dilated: in one axis from the second channel on, in three axes everywhere",
        "Element k of a block lies k·dilation behind the first in each axis, in every channel (https://github.com/microsoft/onnxruntime/issues/18156).",
        _dilated,
        lambda: call(
            "Col2Im",
            [np.arange(1, 5, dtype=np.float32).reshape(1, 4, 1), np.array([3]), np.array([2])],
            version=18,
            dilations=[2],
        ),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {}
