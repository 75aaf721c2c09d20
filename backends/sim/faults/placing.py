"""Elements read from, or written to, other places than the model says: layouts, strides, operands, extents."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from backends.sim.faults.rewriting import Array, Edit, Graph, Nodes, Seed, edited, reading, with_inputs, writing

VECTOR = 8
"""Elements of a vector."""

PITCH = 16
"""Elements that the distance between rows is a multiple of."""


def _nhwc(x: Array) -> Array:
    """The buffer of a tensor in NHWC, taken for NCHW."""
    return np.moveaxis(x, 1, -1).reshape(x.shape)


def _nchw(x: Array) -> Array:
    """The buffer of a tensor in NCHW, taken for NHWC."""
    return np.moveaxis(x.reshape(x.shape[0], *x.shape[2:], x.shape[1]), -1, 1)


def _spatial(x: Array) -> Array:
    return x.swapaxes(-1, -2).reshape(x.shape)


def _ohwi(x: Array) -> Array:
    return np.moveaxis(x.reshape(x.shape[0], *x.shape[2:], x.shape[1]), -1, 1)


def _transposed(x: Array) -> Array:
    """[K,N] read as [N,K]."""
    return x.reshape(*x.shape[:-2], x.shape[-1], x.shape[-2]).swapaxes(-1, -2)


def _column_major(x: Array) -> Array:
    return x.reshape(-1).reshape(x.shape, order="F")


def _pitched(x: Array) -> Array:
    """Rows at a pitch of `PITCH` elements, read as if they were dense."""
    width = -(-x.shape[-1] // PITCH) * PITCH
    rows = np.full((x.size // x.shape[-1], width), -1)
    rows[:, : x.shape[-1]] = x.reshape(-1, x.shape[-1])
    return rows.reshape(-1)[: x.size].reshape(x.shape)


def _dense(x: Array) -> Array:
    """Dense rows, read as if they lay at a pitch of `PITCH` elements."""
    width = -(-x.shape[-1] // PITCH) * PITCH
    rows = np.full(x.size // x.shape[-1] * width, -1)
    rows[: x.size] = x.reshape(-1)
    return rows.reshape(-1, width)[:, : x.shape[-1]].reshape(x.shape)


def _tail(x: Array) -> Array:
    """Behind the last whole vector come its first elements once more."""
    flat = x.reshape(-1).copy()
    whole = flat.size // VECTOR * VECTOR
    if whole:
        flat[whole:] = flat[whole - VECTOR : flat.size - VECTOR]
    return flat.reshape(x.shape)


def _lost(*place: Any) -> Any:
    """A part that nobody computes."""

    def move(x: Array) -> Array:
        changed = x.copy()
        changed[place] = -1
        return changed

    return move


def _first_of(axis: int) -> Any:
    """All along an axis are the first."""

    def move(x: Array) -> Array:
        return np.broadcast_to(np.take(x, [0], axis), x.shape)

    return move


def _pairs(x: Array) -> Array:
    """The two elements of a byte exchanged; the last byte of an odd number is half empty."""
    flat = np.append(x.reshape(-1), -1)[: x.size + x.size % 2]
    return flat.reshape(-1, 2)[:, ::-1].reshape(-1)[: x.size].reshape(x.shape)


def _outputs_swapped(node: onnx.NodeProto, graph: Graph) -> Nodes:
    """The first two outputs under each other's names, where they are alike."""
    first, second = (*node.output, "", "")[:2]
    if not second or graph.shapes.get(first) != graph.shapes.get(second):
        return [node]
    changed = onnx.NodeProto()
    changed.CopyFrom(node)
    changed.output[0], changed.output[1] = second, first
    return [changed]


def _at_second_compilation() -> Edit:
    """The same at every second compilation of such a node."""
    numbers = itertools.count()

    def edit(node: onnx.NodeProto, graph: Graph) -> Nodes:
        return _outputs_swapped(node, graph) if next(numbers) % 2 else [node]

    return edit


def _swapped(node: onnx.NodeProto, graph: Graph) -> Nodes:
    return [with_inputs(node, {0: node.input[1], 1: node.input[0]})]


def _nibbles(node: onnx.NodeProto, graph: Graph) -> Nodes:
    """4-bit integers are read in pairs."""
    return reading(0, _pairs)(node, graph) if graph.types.get(node.input[0]) in ("int4", "uint4") else [node]


def _broadcast(node: onnx.NodeProto, graph: Graph) -> Nodes:
    """A smaller second operand is repeated without regard to axes."""
    first, second, result = (graph.shapes.get(name) for name in (*node.input[:2], node.output[0]))
    if not second or result is None or first != result or second == result or 0 in result:
        return [node]
    return reading(1, lambda x: np.resize(x.reshape(-1), result))(node, graph)


IMAGES = "AveragePool Conv MaxPool"
ELEMENTS = "Add Div Mul Sub"

PLACES: Mapping[str, Seed] = {
    "image-read-as-nhwc": edited(IMAGES, reading(0, _nchw, rank=4)),
    "image-written-as-nhwc": edited("Conv ConvTranspose", writing(_nhwc, rank=4)),
    "resize-height-and-width-swapped": edited("Resize", writing(_spatial, rank=4)),
    "conv-weights-ohwi": edited("Conv", reading(1, _ohwi, rank=4)),
    "gemm-weights-transposed": edited("Gemm MatMul", reading(1, _transposed, rank=2)),
    "reshape-column-major": edited("Reshape", writing(_column_major, rank=2)),
    "softmax-row-pitch": edited("Softmax LogSoftmax", writing(_pitched, rank=2)),
    "concat-row-pitch": edited("Concat", reading(0, _dense, rank=2)),
    "elementwise-tail": edited(ELEMENTS, writing(_tail)),
    "matmul-last-row": edited("MatMul", writing(_lost(..., -1, slice(None)), rank=2)),
    "matmul-last-column": edited("MatMul", writing(_lost(..., -1), rank=2)),
    "averagepool-third-channel": edited("AveragePool", writing(_lost(slice(None), slice(2, 3)), rank=4)),
    "instancenorm-first-channel": edited("InstanceNormalization", writing(_first_of(1), rank=3)),
    "batch-first-only": edited("Conv MaxPool BatchNormalization", writing(_first_of(0), rank=3)),
    "split-outputs-swapped": edited("Split", _outputs_swapped),
    "split-outputs-by-compilation": lambda device: edited("Split", _at_second_compilation())(device),
    "sub-operands-swapped": edited("Sub Div", _swapped),
    "binary-broadcast-cyclic": edited("Add Mul", _broadcast),
    "int4-nibbles-swapped": edited("Cast DequantizeLinear Identity", _nibbles),
}
"""Fault → which elements go where."""
