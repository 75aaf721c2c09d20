"""Parameters read in another layout: convolution weights, matrices, gates of recurrent networks."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from reference.node import Array, Node
from reference.verify.diagnosis.hypothesis import Hypothesis, Question
from reference.verify.diagnosis.parameters import label, substituted
from reference.verify.diagnosis.windows import WEIGHTS

MATRICES: Mapping[str, tuple[int, ...]] = {
    "DynamicQuantizeMatMul": (1, 0),
    "FusedMatMul": (1, 0),
    "GRU": (1, 2),
    "Gemm": (1, 0),
    "LSTM": (1, 2),
    "MatMul": (1, 0),
    "MatMulInteger": (1, 0),
    "MatMulIntegerToFloat": (1, 0),
    "QGemm": (3, 0),
    "QLinearMatMul": (3, 0),
    "RNN": (1, 2),
}
"""Operator → inputs whose last two axes are a matrix; weights before data."""

GATES: Mapping[str, tuple[tuple[str, tuple[int, ...]], ...]] = {
    "LSTM": (
        ("i,f,c,o", (0, 2, 3, 1)),
        ("i,c,f,o", (0, 3, 2, 1)),
        ("i,f,o,c", (0, 2, 1, 3)),
        ("f,i,o,c", (2, 0, 1, 3)),
        ("o,i,f,c", (1, 0, 2, 3)),
        ("f,o,i,c", (2, 1, 0, 3)),
        ("c,o,f,i", (3, 1, 2, 0)),
        ("i,o,c,f", (0, 1, 3, 2)),
    ),
    "GRU": (("r,z,h", (1, 0, 2)), ("z,h,r", (0, 2, 1)), ("h,z,r", (2, 0, 1))),
}
"""Operator → orders of the gates that other frameworks have: ONNX has i,o,f,c and z,r,h."""

PARAMETERS: Mapping[str, tuple[int, ...]] = {**{name: (at,) for name, at in WEIGHTS.items()}, **MATRICES}
"""Operator → inputs that are read here and not as data."""


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    node = question.node
    if node.operator in WEIGHTS:
        yield from _convolution(question)
    for at in MATRICES.get(node.operator, ()):
        if at < len(node.inputs) and isinstance(x := node.inputs[at], np.ndarray) and x.ndim >= 2:
            yield from _matrix(question, at, x)
    if node.operator in GATES:
        yield from _gates(question)


def _convolution(question: Question) -> Iterator[Hypothesis]:
    node = question.node
    at = WEIGHTS[node.operator]
    w = node.inputs[at] if at < len(node.inputs) else None
    if not isinstance(w, np.ndarray) or not 3 <= w.ndim <= 5:
        return
    name, rank = label(node, at), w.ndim
    letters = ("IO" if node.operator == "ConvTranspose" else "OI") + "DHW"[5 - rank :]
    own = tuple(range(rank))
    orders = [(*own[:1], *own[2:], 1), (*own[2:], 1, 0), (1, 0, *own[2:]), (*own[2:], 0, 1), (1, *own[2:], 0)]
    orders += list(itertools.permutations(own)) if rank < 5 else []
    for order in dict.fromkeys(o for o in orders if o != own):
        layout = "".join(letters[i] for i in order)
        cause = "spatial-swapped" if order[:2] == (0, 1) else "weights-layout"
        for text, other in _readings(w, order, layout, letters):
            if other.shape == w.shape and not np.array_equal(other, w):
                text = f"the reference with {name} {text}"
                yield from question.of_inputs(cause, text, substituted(node, {at: other}))
    mirrored = w[(slice(None), slice(None), *[slice(None, None, -1)] * (rank - 2))]
    text = f"the reference with {name} mirrored along its spatial axes"
    yield from question.of_inputs("weights-layout", text, substituted(node, {at: mirrored}))


def _readings(w: Array, order: tuple[int, ...], layout: str, letters: str) -> Iterator[tuple[str, Array]]:
    """A buffer taken for another layout, a buffer in another layout taken for this one, and axes exchanged."""
    yield f"read as {layout}", w.reshape([w.shape[i] for i in order]).transpose(np.argsort(order))
    yield f"stored as {layout} and read as {letters}", w.transpose(order).reshape(w.shape)
    yield f"with its axes taken as {layout}", w.transpose(order)


def _matrix(question: Question, at: int, x: Array) -> Iterator[Hypothesis]:
    name, (rows, columns) = label(question.node, at), x.shape[-2:]
    flipped = x.swapaxes(-1, -2)
    named = [(f"{name} transposed", flipped)]
    if rows != columns:
        named += [
            (f"{name} read as [{columns},{rows}] instead of [{rows},{columns}]", x.reshape(flipped.shape).swapaxes(-1, -2)),
            (f"{name} stored as [{columns},{rows}] and read as [{rows},{columns}]", flipped.reshape(x.shape)),
        ]
    for text, other in named:
        if other.shape != x.shape or not np.array_equal(other, x):
            inputs = substituted(question.node, {at: other})
            yield from question.of_inputs("weights-transposed", f"the reference with {text}", inputs)


def _gates(question: Question) -> Iterator[Hypothesis]:
    node = question.node
    count = len(GATES[node.operator][0][1])
    for text, order in GATES[node.operator]:
        if len(node.inputs) < 3 or any(x is None or x.ndim < 2 or x.shape[1] % count for x in node.inputs[1:3]):
            return
        for last in (4, 3):
            which = range(1, min(last, len(node.inputs)))
            what = "weights and biases" if last == 4 else "weights"
            sentence = f"the reference with the gates of the {what} in the order {text}"
            yield from question.of_inputs("weights-layout", sentence, functools.partial(_with_gates, node, which, order))


def _with_gates(node: Node, which: Sequence[int], order: tuple[int, ...]) -> list[Array | None]:
    return substituted(node, {i: _reordered(node, i, order) for i in which})


def _reordered(node: Node, at: int, order: tuple[int, ...]) -> Array | None:
    """Weights (directions, gates·size, n) or biases (directions, 2·gates·size) with their gates in another order."""
    x = node.inputs[at]
    if x is None or x.ndim < 2:
        return x
    sets = 2 if x.ndim == 2 else 1
    blocks = x.reshape(x.shape[0], sets, len(order), -1, *x.shape[2:])
    return blocks[:, :, list(order)].reshape(x.shape)
