"""Losses over classes, and Dropout."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import strategies as st

from ..samples import Sample, any_shape, array, call, kinds_of, version_of


def _loss(operator: str, outputs: int, draw: st.DrawFn) -> Sample:
    """Scores (N, C, d...) with targets of which some are ignored, inside the classes or outside."""
    version = version_of(draw, operator)
    kind = draw(st.sampled_from(kinds_of(operator, version)))
    classes = draw(st.integers(1, 5))
    batch, *others = any_shape(draw, 1, 4, 3)
    ignore = draw(st.sampled_from([None, 0, -1, 7]))
    # Losses near 0 would show how exactly the logarithm of a number near 1 is computed.
    softmax = operator == "SoftmaxCrossEntropyLoss"
    scores = array(draw, (batch, classes, *others), kind, *((-2, 2) if softmax else (-4, 4)), specials=not softmax)
    target = array(draw, (batch, *others), draw(st.sampled_from(["int64", "int32"])), 0, classes - 1)
    if ignore is not None:
        target = np.where(array(draw, target.shape, "bool"), target, target.dtype.type(ignore))
    return call(
        operator,
        [
            scores,
            target,
            array(draw, (classes,), kind, 0, 2) if draw(st.booleans()) else None,
        ],
        version=version,
        outputs=draw(st.integers(1, outputs)),
        ignore_index=ignore,
        reduction=draw(st.sampled_from([None, "none", "sum", "mean"])),
    )


def _dropout(draw: st.DrawFn) -> Sample:
    """Dropout, rarely while training on enough elements to tell a ratio, since that takes time."""
    version = version_of(draw, "Dropout")
    kind = draw(st.sampled_from(kinds_of("Dropout", version)))
    ratio = draw(st.sampled_from([None, 0.0, 0.25, 0.5, 0.9]))
    outputs = draw(st.integers(1, 2))
    training = draw(st.booleans())
    x = array(draw, (40, 50) if training else any_shape(draw), kind, specials=not training)
    if version < 12:
        test = None if version >= 7 else draw(st.sampled_from([None, 0])) if training else 1
        return call("Dropout", [x], version=version, outputs=outputs, ratio=ratio, is_test=test)
    return call(
        "Dropout",
        [
            x,
            None if ratio is None else np.asarray(ratio, draw(st.sampled_from(["float32", "float64", "float16"]))),
            np.array(training) if training or draw(st.booleans()) else None,
        ],
        version=version,
        outputs=outputs,
        seed=draw(st.sampled_from([None, 3])),
    )


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    "NegativeLogLikelihoodLoss": functools.partial(_loss, "NegativeLogLikelihoodLoss", 1),
    "SoftmaxCrossEntropyLoss": functools.partial(_loss, "SoftmaxCrossEntropyLoss", 2),
    "Dropout": _dropout,
}
