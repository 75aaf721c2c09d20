"""Which nodes are computed together, so that what lies between them is never stored: a sum of products, and a bias, a batch
normalisation or an activation behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import onnx

from backends.sim.partition import tensors_of

LEADERS = ("Conv", "Gemm", "MatMul")
HELD = "float32"
"""Type of what passes between fused nodes, that of the engine's sums."""

FLOATS = ("float16", "bfloat16", "float32")


def fuse(
    graph: onnx.GraphProto,
    partition: Sequence[int | None],
    followers: Collection[str],
    types: Mapping[str, str],
    shapes: Mapping[str, tuple[int, ...] | None],
) -> tuple[dict[int, int], dict[str, str]]:
    """(node → the leader that it is fused with, tensor between fused nodes → type in which it passes)."""
    if not followers or len(graph.node) == 1:
        return {}, {}
    readers = Counter(name for node in graph.node for name in tensors_of(node))
    results = {value.name for value in graph.output}
    constants = {tensor.name for tensor in graph.initializer} - {value.name for value in graph.input}
    constants |= {name for node in graph.node if node.op_type == "Constant" for name in node.output}
    reader = {name: index for index, node in enumerate(graph.node) for name in node.input}
    leaders: dict[int, int] = {}
    held: dict[str, str] = {}
    for index, node in enumerate(graph.node):
        if node.op_type not in LEADERS or partition[index] is None or types.get(node.output[0]) not in FLOATS:
            continue
        tensor = node.output[0]
        while readers[tensor] == 1 and tensor not in results and tensor in reader:
            following = reader[tensor]
            follower = graph.node[following]
            if follower.op_type not in followers or partition[following] != partition[index]:
                break
            others = [name for name in follower.input if name and name != tensor]
            alike = shapes.get(tensor) is not None and shapes.get(follower.output[0]) == shapes.get(tensor)
            if not (alike and constants.issuperset(others) and len([name for name in follower.output if name]) == 1):
                break
            if follower.op_type != "Add" and follower.input[0] != tensor:
                break
            leaders[following], held[tensor] = index, HELD
            tensor = follower.output[0]
    return leaders, held
