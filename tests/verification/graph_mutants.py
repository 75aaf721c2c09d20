"""What faulty compilers make of a graph: the same graph with one thing wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import helper, numpy_helper

FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16)


def mutants(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.ModelProto]]:
    """(what is wrong, model): a node left out, a constant other than it is, an attribute that is ignored or another."""
    graph = model.graph
    for i, node in enumerate(graph.node):
        for k, name in enumerate(node.input):
            if name and len(node.input) <= 2 and node.op_type not in ("Reshape", "Cast", "DequantizeLinear"):
                yield (
                    f"{node.name} gives its input {k}",
                    _with_node(model, i, helper.make_node("Identity", [name], node.output)),
                )
        for attribute in node.attribute:
            if attribute.name == "epsilon":
                yield f"{node.name} with twice the epsilon", _with_attribute(model, i, attribute.name, 2 * attribute.f + 1e-3)
            elif attribute.name == "alpha":
                yield f"{node.name} with another alpha", _with_attribute(model, i, attribute.name, attribute.f + 0.125)
            elif attribute.name == "approximate":
                yield f"{node.name} without approximation", _with_attribute(model, i, attribute.name, "none")
            elif attribute.name == "axis":
                yield f"{node.name} along the first axis", _with_attribute(model, i, attribute.name, 0)
        if node.op_type == "Gelu" and not node.attribute:
            yield f"{node.name} by tanh", _with_attribute(model, i, "approximate", "tanh")
    for i, tensor in enumerate(graph.initializer):
        values = numpy_helper.to_array(tensor)
        if tensor.data_type in FLOATS:
            yield f"{tensor.name} is 0", _with_tensor(model, i, np.zeros_like(values))
            yield f"{tensor.name} is half as large again", _with_tensor(model, i, (values * 1.5).astype(values.dtype))
            if values.size > 1:
                yield f"{tensor.name} is its first element", _with_tensor(model, i, np.full_like(values, values.flat[0]))
        elif tensor.name.startswith("z") and tensor.data_type != onnx.TensorProto.INT64:
            yield f"{tensor.name} is 0", _with_tensor(model, i, np.zeros_like(values))


def _copied(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def _with_node(model: onnx.ModelProto, i: int, node: onnx.NodeProto) -> onnx.ModelProto:
    changed = _copied(model)
    changed.graph.node[i].CopyFrom(node)
    return changed


def _with_attribute(model: onnx.ModelProto, i: int, name: str, value: object) -> onnx.ModelProto:
    changed = _copied(model)
    kept = [a for a in changed.graph.node[i].attribute if a.name != name]
    del changed.graph.node[i].attribute[:]
    changed.graph.node[i].attribute.extend([*kept, helper.make_attribute(name, value)])
    return changed


def _with_tensor(model: onnx.ModelProto, i: int, values: np.ndarray) -> onnx.ModelProto:
    changed = _copied(model)
    changed.graph.initializer[i].CopyFrom(numpy_helper.from_array(values, model.graph.initializer[i].name))
    return changed
