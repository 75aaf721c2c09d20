"""Known disagreements of the family `families.linear_algebra`."""

from __future__ import annotations

from collections.abc import Mapping

import ml_dtypes
import numpy as np

from ..samples import call
from . import Disagreement

KNOWN: list[Disagreement] = [
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Det",),
        "float64 for no matrices of bfloat16",
        "The output has the type of the input.",
        lambda s: s.input(0).dtype == ml_dtypes.bfloat16,
        lambda: call("Det", [np.zeros((0, 2, 2), ml_dtypes.bfloat16)], version=22),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Det",),
        "0 for some matrices with NaN",
        "nan·1 - 1·1 is NaN.",
        lambda s: bool(np.isnan(s.input(0)).any()),
        lambda: call("Det", [np.array([[np.nan, 1], [1, 1]], np.float32)], version=11),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {}
