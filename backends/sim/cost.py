"""What a program costs, for the virtual clock: multiply-adds and bytes moved, as far as shapes are known."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping

import onnx

from backends.ortvalue import ELEMENTS
from backends.sim.profile import Unit

BITS = {element.name: element.bits for element in ELEMENTS.values()}
"""Type → bits of an element."""

Shapes = Mapping[str, tuple[int, ...] | None]


def multiply_adds(node: onnx.NodeProto, shapes: Shapes) -> int:
    """Multiply-adds of a node; 0 for those that make no sums of products, and where a shape is unknown."""
    if node.op_type not in ("Conv", "ConvInteger", "ConvTranspose", "Gemm", "MatMul", "MatMulInteger", "QLinearConv"):
        return 0
    weight = 3 if node.op_type == "QLinearConv" else 1
    left, right, result = shapes.get(node.input[0]), shapes.get(node.input[weight]), shapes.get(node.output[0])
    if left is None or right is None or result is None:
        return 0
    if node.op_type == "ConvTranspose":
        return math.prod(left) * math.prod(right[1:])
    if "Conv" in node.op_type:
        return math.prod(result) * math.prod(right[1:])
    transposed = any(a.name == "transA" and a.i for a in node.attribute)
    return math.prod(result) * left[0 if transposed else -1]


def moved(node: onnx.NodeProto, sizes: Mapping[str, int], kept: Collection[str] = ()) -> int:
    """Bytes that a node reads and writes; tensors in `kept` never reach memory. sizes: bytes of a tensor."""
    return sum(sizes.get(name, 0) for name in (*dict.fromkeys(node.input), *node.output) if name and name not in kept)


def of(
    graph: onnx.GraphProto,
    types: Mapping[str, str],
    shapes: Shapes,
    units: Mapping[str, Unit],
    held: Collection[str],
) -> tuple[int, int, str]:
    """(multiply-adds, bytes moved, type with the most multiply-adds) of a graph. A tensor counts as it is stored."""
    stored = {name: units[t].storage if t in units else t for name, t in types.items()}
    sizes = {
        name: math.prod(shape) * BITS[stored[name]] // 8
        for name, shape in shapes.items()
        if shape is not None and stored.get(name) in BITS
    }
    by_type: Counter[str] = Counter()
    traffic = 0
    for node in graph.node:
        by_type[stored.get(next(iter(node.input), ""), "float32")] += multiply_adds(node, shapes)
        traffic += moved(node, sizes, held)
    dtype = max(by_type, key=lambda name: by_type[name], default="float32")
    return by_type.total(), traffic, dtype
