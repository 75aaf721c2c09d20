"""A small operand applied along another axis than ONNX aligns it with, or taken for another small operand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np

from reference.node import Array, Node
from reference.verify.diagnosis.hypothesis import REFUSALS, Hypothesis, Question
from reference.verify.diagnosis.parameters import label, substituted

CAUSE = "broadcast-misread"

RANK = 5

BROADCASTING = frozenset(
    [
        *("Add", "And", "BiasGelu", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Expand", "FastGelu"),
        *("Gemm", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "PRelu", "Pow"),
        *("QLinearAdd", "QLinearMul", "Sub", "Sum", "SwiGLU", "Where", "Xor"),
    ]
)
"""Operators whose operands are broadcast to the output."""

ADDED: Mapping[str, int] = {"Conv": 2, "ConvTranspose": 2}
"""Operator → the input with one addend for each channel, axis 1 of the output."""

SCALED: Mapping[str, tuple[int, int]] = {
    "BatchNormalization": (1, 2),
    "GroupNormalization": (1, 2),
    "InstanceNormalization": (1, 2),
    "LayerNormalization": (1, 2),
    "RMSNormalization": (1, 2),
}
"""Operator → the inputs that its normalised result is multiplied by and that are added to the product."""


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """Alignment at the front first, then other axes, then elements in turn."""
    node = question.node
    y = question.reference
    if not isinstance(y, np.ndarray) or question.index or not 1 <= y.ndim <= RANK:
        return
    if node.operator in BROADCASTING:
        for i, x in enumerate(node.inputs):
            shape = node.operator == "Expand" and i == 1
            if isinstance(x, np.ndarray) and x.shape != y.shape and x.size > 1 and x.ndim <= y.ndim and not shape:
                yield from _operand(question, i, x)
    if node.operator in ADDED:
        yield from _added(question)
    if node.operator in SCALED:
        yield from _scaled(question)


def _operand(question: Question, at: int, x: Array) -> Iterator[Hypothesis]:
    name, shape = label(question.node, at), question.reference.shape
    for text, other in placements(x, shape):
        yield from question.of_inputs(CAUSE, f"the reference with {name} {text}", substituted(question.node, {at: other}))


def placements(x: Array, shape: tuple[int, ...]) -> Iterator[tuple[str, Array]]:
    """(how, operand) for each way of broadcasting x (of fewer elements) to `shape` that is not ONNX's."""
    rank = len(shape)
    aligned = x.reshape((1,) * (rank - x.ndim) + x.shape)
    front = x.reshape(x.shape + (1,) * (rank - x.ndim))
    if front.shape != aligned.shape:
        yield "aligned at the first axis instead of the last", _fitted(front, shape)
    for order in itertools.permutations(range(rank)):
        moved = aligned.transpose(order)
        if all(n in (1, m) for n, m in zip(moved.shape, shape, strict=True)) and not _same(moved, aligned):
            yield f"broadcast with the extents {_extents(moved)} instead of {_extents(aligned)}", moved
    if x.size == max(x.shape):
        for axis in range(rank):
            if axis != int(np.argmax(aligned.shape)):
                row = np.resize(x.reshape(-1), shape[axis]).reshape([-1 if i == axis else 1 for i in range(rank)])
                yield f"applied along axis {axis} instead of axis {int(np.argmax(aligned.shape))}", row
    total = int(np.prod(shape))
    if total and total % x.size == 0 and total > x.size:
        yield "repeated from its start whenever it ends", np.resize(x.reshape(-1), total).reshape(shape)
        yield "taken as one element for each block", np.repeat(x.reshape(-1), total // x.size).reshape(shape)
    yield "taken as its first element", np.full((1,) * rank, x.reshape(-1)[0], x.dtype)


def _same(a: Array, b: Array) -> bool:
    return a.shape == b.shape and np.array_equal(a, b)


def _extents(x: Array) -> str:
    return f"({','.join(str(n) for n in x.shape)})"


def _fitted(x: Array, shape: tuple[int, ...]) -> Array:
    """x with the extents of `shape` where it has more than one element: cut, or read again from its start."""
    for axis, n in enumerate(shape):
        if x.shape[axis] not in (1, n):
            x = np.take(x, np.arange(n) % x.shape[axis], axis)
    return x


def _added(question: Question) -> Iterator[Hypothesis]:
    """A bias along another axis than the channels."""
    node = question.node
    at = ADDED[node.operator]
    bias = node.inputs[at] if at < len(node.inputs) else None
    if not isinstance(bias, np.ndarray) or bias.ndim != 1 or bias.size < 2 or question.reference.ndim < 3:
        return
    try:
        plain = node.again(substituted(node, {at: np.zeros_like(bias)}))[0]
        channels = bias.reshape(-1, *[1] * (plain.ndim - 2))
        found = [(text, plain + other) for text, other in placements(channels, plain.shape)]
    except REFUSALS:
        return
    for text, value in found:
        yield from question.of_value(CAUSE, f"the reference with {label(node, at)} {text}", value)


def _scaled(question: Question) -> Iterator[Hypothesis]:
    """Scale and bias of a norm along another axis."""
    node = question.node
    try:
        scale, bias, normalised = _parts(node)
        if scale.size < 2:
            return
        scales, biases = placements(scale, normalised.shape), placements(bias, normalised.shape)
        found = [(text, normalised * s + b) for (text, s), (_, b) in zip(scales, biases, strict=True)]
    except REFUSALS:
        return
    name = label(node, SCALED[node.operator][0])
    for text, value in found:
        yield from question.of_value(CAUSE, f"the reference with {name} {text}", value)


def _parts(node: Node) -> tuple[Array, Array, Array]:
    """Scale and bias, shaped to be broadcast to the result, and the result without them."""
    first, second = SCALED[node.operator]
    scale = node.real(first)
    given = second < len(node.inputs) and node.inputs[second] is not None
    bias = node.real(second) if given else np.zeros_like(scale)
    new: dict[int, Array | None] = {first: np.ones_like(scale)}
    if given:
        new[second] = np.zeros_like(bias)
    normalised = node.again(substituted(node, new))[0]
    if node.operator not in ("LayerNormalization", "RMSNormalization"):
        if scale.size != normalised.shape[1]:
            raise ValueError("one scale for each channel was expected")
        scale, bias = (p.reshape(-1, *[1] * (normalised.ndim - 2)) for p in (scale, bias))
    return scale, bias, normalised
