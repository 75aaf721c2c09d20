"""Rows, columns and channels of the input that are not read: the last index along an axis counts as 0.

What is missing from the output is asked first: where every element of the output comes from one of the input, both look alike.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reference import dtypes
from reference.verify.diagnosis.extent import axis_cause
from reference.verify.diagnosis.hypothesis import Hypothesis, Question
from reference.verify.diagnosis.parameters import label, substituted


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """The last index along an axis of an input counts as 0: it is not read."""
    node = question.node
    for i, (x, dtype) in enumerate(zip(node.inputs, node.types, strict=False)):
        if not isinstance(x, np.ndarray) or dtype is None or not dtypes.is_float(dtype) or x.ndim < 2:
            continue
        for axis in range(x.ndim - 1, 0 if x.ndim > 2 else -1, -1):
            if x.shape[axis] > 1:
                cause = axis_cause(node, axis, x.ndim)
                part = np.copy(x)
                part[(slice(None),) * axis + (-1,)] = 0.0
                kind = cause.removesuffix("-dropped")
                text = f"the reference computed with 0 in the last {kind} of {label(node, i)} (axis {axis})"
                yield from question.of_inputs(cause, text, substituted(node, {i: part}))
