"""Known disagreements of the family `families.normalization`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..samples import Sample, call
from . import Disagreement


def _row(*values: float, shape: tuple[int, ...] = (-1,), kind: str = "float32") -> Any:
    return np.array(values, kind).reshape(shape)


def _varied_squares(sample: Sample) -> bool:
    """Whether squares may be much larger than the smallest divisor."""
    largest = np.abs(sample.input(0).astype(np.float64)).max(initial=0)
    share = sample.attribute("alpha", 1e-4) / sample.attribute("size")
    return not share * largest**2 <= sample.attribute("bias", 1.0)


KNOWN: list[Disagreement] = [
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("BatchNormalization",),
        "without outputs of training, Y under momentum's blend of the given moments and the batch's, in version 9",
        "Output case #2: Y (test mode), under the estimated moments.",
        lambda s: 9 <= s.version < 14 and len(s.node.output) == 1,
        lambda: call("BatchNormalization", [_row(1, 3, shape=(2, 1)), *[_row(1)] * 4], version=9),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("BatchNormalization",),
        "float64 X over the float32 root of a variance of a narrower type",
        "The narrower type says how exact the variance is given, not its root.",
        lambda s: s.input(0).dtype == np.float64 and s.input(4).dtype != np.float64,
        lambda: call("BatchNormalization", [np.ones((1, 1)), *[np.ones(1)] * 2, _row(2), _row(3)], version=15),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("BatchNormalization",),
        "running moments in the type of X, or of X and theirs together",
        "They have the type of input_mean and input_var.",
        lambda s: len(s.node.output) > 1 and s.input(3).dtype != s.input(0).dtype,
        lambda: call(
            "BatchNormalization",
            [_row(1, shape=(1, 1)), *[_row(1)] * 2, *[_row(1, kind="float16")] * 2],
            version=15,
            outputs=2,
            training_mode=1,
        ),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("LRN",),
        "float64 results with alpha/size in float32",
        "2/3 has 53 digits in float64.",
        lambda s: s.input(0).dtype == np.float64 and s.attribute("size") not in (1, 2, 4),
        lambda: call("LRN", [np.ones((1, 1, 1, 1))], version=13, size=3, alpha=2.0),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("LayerNormalization",),
        "Mean and InvStdDev in the type of X",
        "They have the type that stash_type names, float32 for 1.",
        lambda s: len(s.node.output) > 1 and s.input(0).dtype != np.float32,
        lambda: call("LayerNormalization", [_row(1, 2, kind="float64"), _row(1, 1, kind="float64")], version=17, outputs=3),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("RMSNormalization",),
        "Y in the type of X, or of X and scale together",
        "Y has the type of scale.",
        lambda s: s.input(0).dtype != s.input(1).dtype,
        lambda: call("RMSNormalization", [_row(1, 2), _row(1, 1, kind="float16")], version=23),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("LpNormalization",),
        "x divided by the sum of x with p=1",
        "The norm sums magnitudes (https://github.com/onnx/onnx/pull/8427).",
        lambda s: s.attribute("p", 2) == 1,
        lambda: call("LpNormalization", [_row(1, -3)], version=22, p=1),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("LRN",),
        "no squares for channels from the batch's length on",
        "The region is one of channels, for every channel (https://github.com/onnx/onnx/issues/7805).",
        lambda s: s.input(0).shape[0] < s.input(0).shape[1],
        lambda: call("LRN", [_row(1, 2, shape=(1, 2, 1, 1))], version=13, size=1, alpha=1.0),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("InstanceNormalization",),
        "an end of the process for float16 without spatial elements",
        "An empty tensor gives an empty output.",
        lambda s: s.input(0).dtype == np.float16 and 0 in s.input(0).shape[2:],
        lambda: call(
            "InstanceNormalization", [_row(shape=(1, 1, 0), kind="float16"), *[_row(1, kind="float16")] * 2], version=6
        ),
        crashes=True,
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("LRN",),
        "few right digits where squares of channels before the window are much larger than those in it",
        "Each region has a sum of its own; theirs is the previous channel's plus one square less another.",
        _varied_squares,
        lambda: call("LRN", [_row(1e4, 1, shape=(1, 2, 1, 1))], version=13, size=1, alpha=1.0),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {}
