"""Known disagreements of the family `families.loss`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from reference import dtypes

from ..samples import Sample, call
from . import Disagreement


def _training(sample: Sample) -> bool:
    return sample.version >= 12 and sample.input(2) is not None and bool(sample.input(2))


def _wider_ratio(sample: Sample) -> bool:
    ratio = sample.input(1)
    if not _training(sample) or ratio is None:
        return False
    given, data = (dtypes.FLOATS[dtypes.name_of(x.dtype)].precision for x in (ratio, sample.input(0)))
    return given > data


KNOWN: list[Disagreement] = [
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("NegativeLogLikelihoodLoss",),
        "a mean that counts ignored targets if ignore_index is -1 and there is no weight",
        "An ignored target has the weight 0, and the mean divides by the sum of the weights.",
        lambda s: s.attribute("ignore_index") == -1 and s.input(2) is None and s.attribute("reduction", "mean") == "mean",
        lambda: call(
            "NegativeLogLikelihoodLoss",
            [np.array([[-1, -2], [-3, -4]], np.float32), np.array([0, -1])],
            version=13,
            ignore_index=-1,
        ),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Dropout",),
        "a boolean mask in version 7",
        "The mask has the type of the data before version 10.",
        lambda s: s.version < 10 and len(s.node.output) > 1,
        lambda: call("Dropout", [np.ones(2, np.float32)], version=7, outputs=2),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Dropout",),
        "an output of the ratio's type while training",
        "Output and data have one type; that of the ratio is another.",
        _wider_ratio,
        lambda: call("Dropout", [np.ones(2, np.float32), np.array(0.5), np.array(True)], version=13),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Dropout",),
        "float64 data scaled by 1/(1 - ratio) of a float64 ratio cut to float32",
        "1/(1 - 0.9) is 10, not 9.9999998.",
        lambda s: _training(s) and all(s.input(i) is not None and s.input(i).dtype == np.float64 for i in (0, 1)),
        lambda: call("Dropout", [np.ones((9, 9)), np.array(0.9), np.array(True)], version=13),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {}
