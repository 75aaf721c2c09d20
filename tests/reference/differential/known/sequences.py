"""Known disagreements of the family `families.sequences`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..samples import Sample, call
from . import Disagreement


def _inserts_at_the_end(sample: Sample) -> bool:
    position = sample.input(2)
    return position is not None and int(position) == len(sample.input(0))


def _length_without_axis(sample: Sample) -> bool:
    split = sample.input(1)
    return split is not None and split.ndim == 0 and not sample.attribute("keepdims", 1)


def _other_sum(sample: Sample) -> bool:
    split = sample.input(1)
    return split is not None and split.ndim == 1 and split.sum() != sample.input(0).shape[sample.attribute("axis", 0)]


ONE, TWO = np.array([1]), np.array([2])

KNOWN: list[Disagreement] = [
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("SequenceInsert",),
        "takes the position n of n tensors as 0",
        "the accepted range is [-n, n], and n is behind the last tensor",
        _inserts_at_the_end,
        lambda: call("SequenceInsert", [[ONE], TWO, np.array(1)], version=11),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("SplitToSequence",),
        "parts whose lengths do not add up to the axis",
        "the sum of entries in split must be equal to the dimension size of the input",
        _other_sum,
        lambda: call("SplitToSequence", [ONE, np.array([1, 1])], version=11),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("SplitToSequence",),
        "drops the axis for a scalar split with keepdims=0, or fails where parts are longer than 1",
        "if input split is specified, keepdims is ignored",
        _length_without_axis,
        lambda: call("SplitToSequence", [ONE, np.array(1)], version=11, keepdims=0),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {}
