"""The operator works along another axis than the model says."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from reference.node import Array, Node
from reference.verify.diagnosis.hypothesis import Hypothesis, Question, changed
from reference.verify.diagnosis.parameters import default, instead, names, value, with_value
from reference.verify.diagnosis.placement import computed, in_order, moved

SINGLE = ("axis", "batch_axis", "time_axis", "batch_dims")
MANY = 24
"""Sets of axes that are tried at most."""

SOFTMAX = frozenset(["Hardmax", "LogSoftmax", "Softmax"])
"""Operators that before opset 13 worked over all axes from `axis` on, and over that axis alone since."""

CHANNEL = frozenset(["BatchNormalization", "InstanceNormalization", "LRN"])
"""Operators whose axis of channels is 1 without their saying so."""

SCALED = frozenset(["DequantizeLinear", "QuantizeLinear"])
"""Operators whose small inputs have one element for each index along `axis`."""


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """A negative axis misunderstood first, then every other axis."""
    node = question.node
    rank = _rank(question)
    if rank < 1:
        return
    known = set(names(node)) | {"axis", "axes"}
    for name in SINGLE:
        given = value(node, name) if name in known else None
        given = given[0] if isinstance(given, list) and len(given) == 1 else given
        if isinstance(given, int | np.integer):
            yield from _single(question, name, int(given), rank)
    given = value(node, "axes")
    if isinstance(given, Sequence) and all(isinstance(a, int) for a in given):
        yield from _several(question, [int(a) for a in given], rank)
    elif given is None and node.operator.startswith("Reduce"):
        yield from _from_all(question, rank)
    yield from _swapped_axes(question)
    if node.operator in SOFTMAX:
        yield from _other_opset(question)
    if node.operator in CHANNEL:
        yield from _other_channels(question)
    if node.operator in SCALED:
        yield from _other_blocks(question)


def _rank(question: Question) -> int:
    """Of what an axis counts: the larger of the first input's and the output's."""
    x = question.node.inputs[0] if question.node.inputs else None
    return max(x.ndim if isinstance(x, np.ndarray) else 0, np.ndim(question.reference))


def misread(axis: int, rank: int) -> list[int]:
    """What a negative axis becomes where it is not counted from the end: clamped to 0, its magnitude, one too few or many."""
    found = [0, -axis, rank - 1 + axis, rank + 1 + axis, -axis - 1]
    return [a for a in dict.fromkeys(found) if 0 <= a < rank and a != axis + rank]


def _single(question: Question, name: str, axis: int, rank: int) -> Iterator[Hypothesis]:
    if axis < 0 and (name in question.node.attributes or default(question.node, name) is None):
        for other in misread(axis, rank):
            yield from with_value(question, "axis-negative", instead(name, other, axis), name, other)
    others = [other for other in range(rank) if other != axis % rank]
    for other in others:
        yield from with_value(question, "axis-wrong", instead(name, other, axis), name, other)
    if question.same_shape and name in question.node.attributes:
        for other in others:
            text = f"{instead(name, other, axis)}, its elements in order"
            make = computed(question.node, question.node.inputs, **{name: other})
            yield from moved(question, "axis-wrong", text, in_order(question.got.shape), make)


def _several(question: Question, axes: list[int], rank: int) -> Iterator[Hypothesis]:
    """Negative ones misread, then other axes, as many as there are, and all."""
    wrong = [[m[0] if a < 0 and (m := misread(a, rank)) else a for a in axes]]
    wrong += [[max(a, 0) for a in axes], [abs(a) for a in axes]]
    if any(a < 0 for a in axes):
        for other in dict.fromkeys(tuple(w) for w in wrong):
            yield from with_value(question, "axis-negative", instead("axes", other, axes), "axes", list(other))
    right = sorted(a % rank for a in axes)
    others: list[tuple[int, ...]] = [
        tuple(rank - 1 - a for a in axes if a >= 0),
        tuple(axes[::-1]),
        tuple(axes[:1]),
        tuple(axes[-1:]),
    ]
    others += itertools.islice(itertools.combinations(range(rank), len(axes)), MANY)
    counts = [count for count in range(rank, 0, -1) if count != len(axes)]
    others += itertools.chain.from_iterable(itertools.islice(itertools.combinations(range(rank), c), MANY) for c in counts)
    for other in dict.fromkeys(others):
        if sorted(other) != right or (len(other) == len(axes) and list(other) != axes and sorted(other) != list(other)):
            yield from with_value(question, "axis-wrong", instead("axes", other, axes), "axes", list(other))


def _from_all(question: Question, rank: int) -> Iterator[Hypothesis]:
    """A reduction over all axes that goes over some only."""
    name = "axes"
    for count in range(1, rank):
        for other in itertools.islice(itertools.combinations(range(rank), count), MANY):
            text = f"the reference computed over the axes {other} instead of all"
            if name in names(question.node):
                yield from question.of_attributes("axis-wrong", text, axes=list(other))
            else:
                inputs = [*question.node.inputs[:1], np.array(other, np.int64)]
                node = dataclasses.replace(question.node, types=(*question.node.types[:1], "int64"))
                yield from question.of_node("axis-wrong", text, computed(node, inputs))


def _swapped_axes(question: Question) -> Iterator[Hypothesis]:
    """ReverseSequence: the axes of batch and time the other way round."""
    node = question.node
    if "time_axis" in names(node):
        time, batch = (value(node, name) for name in ("time_axis", "batch_axis"))
        text = f"the reference computed with time_axis {batch} and batch_axis {time} swapped"
        yield from question.of_attributes("axis-wrong", text, time_axis=batch, batch_axis=time)


def _other_opset(question: Question) -> Iterator[Hypothesis]:
    node = question.node
    old = node.version < 13
    text = "over the axis alone, as from opset 13 on" if old else "over all axes from axis on, as before opset 13"
    axis = node.attributes.get("axis", 1 if old else -1)
    other = dataclasses.replace(node, version=13 if old else 11, attributes={"axis": axis})
    yield from question.of_node("axis-wrong", f"the reference computed {text}", computed(other, other.inputs))


def _other_channels(question: Question) -> Iterator[Hypothesis]:
    """The channels taken along another axis; parameters that are too few for it are used in turn."""
    node = question.node
    x = node.inputs[0]
    if not isinstance(x, np.ndarray):
        return
    for axis in range(x.ndim - 1, -1, -1):
        if axis == 1:
            continue
        text = f"the reference computed with the channels along axis {axis}"
        yield from moved(question, "axis-wrong", text, _back(axis), _turned(node, x, axis))


def _back(axis: int) -> Callable[[Array], Array]:
    return lambda y: np.moveaxis(y, 1, axis)


def _turned(node: Node, x: Array, axis: int) -> Callable[[], Node]:
    """The node on an input whose axis goes where that of the channels is."""

    def make() -> Node:
        parameters = [None if p is None else np.resize(p, x.shape[axis]) for p in node.inputs[1:]]
        return changed(node, [np.moveaxis(x, axis, 1), *parameters])

    return make


def _other_blocks(question: Question) -> Iterator[Hypothesis]:
    """Scales and zero points of the channels along another axis, used in turn where they are too few for it."""
    node = question.node
    x, given = node.inputs[0], node.attributes.get("axis", 1)
    if not isinstance(x, np.ndarray) or not isinstance(given, int):
        return
    for axis in range(x.ndim):
        if axis != given % x.ndim:
            yield from question.of_node("axis-wrong", instead("axis", axis, given), _along(node, x, axis))


def _along(node: Node, x: Array, axis: int) -> Callable[[], Node]:
    """The node with its parameters of one axis along another."""

    def make() -> Node:
        parameters = [None if p is None or p.size == 1 else np.resize(p, x.shape[axis]) for p in node.inputs[1:]]
        kept = [p if q is None else q for p, q in zip(node.inputs[1:], parameters, strict=True)]
        return changed(node, [x, *kept], axis=axis)

    return make
