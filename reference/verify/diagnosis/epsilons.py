"""The constant that keeps a norm's divisor away from zero, added in another place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reference.node import Array
from reference.verify.diagnosis.hypothesis import REFUSALS, Hypothesis, Question
from reference.verify.diagnosis.parameters import default, names, shown, substituted

OFFSETS = {
    "BatchNormalization": 2,
    "GroupNormalization": 2,
    "InstanceNormalization": 2,
    "LayerNormalization": 2,
    "RMSNormalization": 2,
    "SimplifiedLayerNormalization": 2,
    "SkipLayerNormalization": 3,
    "SkipSimplifiedLayerNormalization": 4,
}
"""Operator → the input that is added after normalisation, whether given or not."""


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """ε added to the root instead of under it, or only the lower limit of the variance."""
    node = question.node
    if node.operator not in OFFSETS or "epsilon" not in names(node) or question.index:
        return
    epsilon = node.attributes.get("epsilon", default(node, "epsilon"))
    if not isinstance(epsilon, float):
        return
    try:
        with np.errstate(all="ignore"):
            root, scaled, offset = _parts(question)
            variants = {
                f"the reference with epsilon {shown(epsilon)} added to the standard deviation": scaled / (root + epsilon),
                f"the reference with epsilon {shown(epsilon)} as the least variance": scaled
                / np.sqrt(np.maximum(root**2, epsilon)),
            }
            values = {text: np.where(scaled == 0, 0.0, y) + offset for text, y in variants.items()}
    except REFUSALS:
        return
    for text, y in values.items():
        yield from question.of_value("attribute-value", text, y)


def _parts(question: Question) -> tuple[Array, Array, Array]:
    """(√V, (x − μ)·scale, offset) of each element, from results with two large ε: y(1)²/y(2)² = (V + 2)/(V + 1)."""
    node = question.node
    at = OFFSETS[node.operator]
    bias = node.inputs[at] if at < len(node.inputs) else None
    inputs = substituted(node, {at: None if bias is None else np.zeros_like(bias)})
    first, second = (node.again(inputs, epsilon=e)[0] for e in (1.0, 2.0))
    ratio = (first / second) ** 2
    variance = np.maximum((2 - ratio) / (ratio - 1), 0.0)
    return np.sqrt(variance), first * np.sqrt(variance + 1), question.reference - node.again(inputs)[0]
