"""What errors of an operator's inputs become in its outputs in the worst case: found by moving the inputs, elements that do not
meet in one output at once, the others one after the other."""

from __future__ import annotations

import numpy as np

from reference.node import Array, Node
from reference.ops.quantization import spread
from reference.propagation import ONE_TO_ONE

ELEMENTWISE = ONE_TO_ONE | frozenset(
    [
        *("And", "BatchNormalization", "Ceil", "Celu", "Cos", "Elu", "Equal", "Floor", "Greater", "GreaterOrEqual"),
        *("HardSigmoid", "HardSwish", "Less", "LessOrEqual", "Mish", "Mod", "Not", "Or", "PRelu", "Round", "Selu", "Sign"),
        *("Sin", "Softplus", "Softsign", "ThresholdedRelu", "Xor"),
    ]
)
"""Operators whose output elements depend on one element of each input."""

ALONG = frozenset(["Hardmax", "LogSoftmax", "LpNormalization", "Softmax"])
"""Operators along the attribute axis, by default the last."""

NOT_NEGATIVE = frozenset(["Log", "Sqrt"])
"""Functions that are given sums of squares, absolute values and exponentials, which no rounding makes negative."""

ONE_BY_ONE = 64
"""The most elements that are moved one after the other to see what an operator makes of their errors."""

SECOND_ORDER = 1 + 2.0**-5
"""What moving each input by itself leaves out: products of errors of two inputs, curvature."""


def dequantised(node: Node, error: Array) -> list[Array]:
    shape, axis, block = node.real(0).shape, int(node.attribute("axis", 1)), int(node.attribute("block_size", 0))
    return [error * np.abs(spread(node.real(1), shape, axis, block))]


def gain(node: Node, i: int, error: Array) -> list[Array]:
    """How far each output moves when the elements of input i move by their errors, the worst way for each of them: independent
    elements at once, others one after the other. NaN where that are too many."""
    x = node.inputs[i]
    assert x is not None
    groups = _groups(node, i, x)
    if groups is None:
        return [np.full(v.shape, np.nan) for v in node.results]
    total = [np.zeros(v.shape) for v in node.results]
    for label in range(int(groups.max(initial=0)) + 1):
        step = np.where(groups == label, error, 0.0)
        moved = [x + step, x - step]
        if node.operator in NOT_NEGATIVE:
            moved = [np.maximum(end, 0.0) for end in moved]
        ends = [node.again([*node.inputs[:i], end, *node.inputs[i + 1 :]]) for end in moved]
        for k, value in enumerate(node.results):
            if any(end[k].shape != value.shape for end in ends):
                return [np.full(v.shape, np.nan) for v in node.results]
            total[k] = total[k] + np.maximum(*(np.abs(end[k].astype(np.float64) - value.astype(np.float64)) for end in ends))
    return [t * SECOND_ORDER for t in total]


def _groups(node: Node, i: int, x: Array) -> Array | None:
    """Label of each element: elements of one label have a part in different output elements."""
    if node.operator in ELEMENTWISE:
        return np.zeros(x.shape, int)
    axes = _axes(node, x) if i == 0 else None
    if axes is None:
        return np.arange(x.size).reshape(x.shape) if x.size <= ONE_BY_ONE else None
    labels = np.zeros(x.shape, int)
    for axis in axes:
        shape = [1] * x.ndim
        shape[axis] = -1
        labels = labels * x.shape[axis] + np.arange(x.shape[axis]).reshape(shape)
    return labels


def _axes(node: Node, x: Array) -> list[int] | None:
    """The axes along which an operator mixes elements, None where that is not known."""
    name = node.operator
    if name in ALONG and node.version >= 13 - 12 * (name == "LpNormalization"):
        return [int(node.attribute("axis", -1)) % x.ndim]
    if name in ("LayerNormalization", "RMSNormalization"):
        return list(range(int(node.attribute("axis", -1)) % x.ndim, x.ndim))
    if name == "InstanceNormalization":
        return list(range(2, x.ndim))
    if name.startswith("Reduce") and node.given(1):
        return [int(axis) % x.ndim for axis in node.real(1)]
    return None
