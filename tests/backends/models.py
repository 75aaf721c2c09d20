"""Models of one or a few nodes for the tests of the device adapters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnx import NodeProto, TensorProto, helper

Value = tuple[str, int, Sequence[int | str] | None]


def graph(nodes: Sequence[NodeProto], inputs: Sequence[Value], outputs: Sequence[Value], opset: int = 21) -> bytes:
    """A serialised model; values are (name, TensorProto type, shape)."""
    made = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(*value) for value in inputs],
        [helper.make_tensor_value_info(*value) for value in outputs],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return bytes(model.SerializeToString())


def single(
    operator: str,
    types: Sequence[int],
    shapes: Sequence[Sequence[int | str]],
    out: int,
    opset: int = 21,
    **attributes: Any,
) -> bytes:
    """One node called `node` with inputs x0, x1, … and output y of unknown shape."""
    names = [f"x{index}" for index in range(len(types))]
    node = helper.make_node(operator, names, ["y"], name="node", **attributes)
    inputs = [(name, code, shape) for name, code, shape in zip(names, types, shapes, strict=True)]
    return graph([node], inputs, [("y", out, None)], opset)


def conv_relu_sigmoid() -> bytes:
    """Three nodes: a named one, one without name, and a named one; two outputs, the later node's first."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv"),
        helper.make_node("Relu", ["c"], ["y"]),
        helper.make_node("Sigmoid", ["y"], ["z"], name="sigmoid"),
    ]
    inputs: list[Value] = [("x", TensorProto.FLOAT, [1, 3, 8, 8]), ("w", TensorProto.FLOAT, [4, 3, 3, 3])]
    shape = [1, 4, 6, 6]
    return graph(nodes, inputs, [("z", TensorProto.FLOAT, shape), ("y", TensorProto.FLOAT, shape)])


def add(shape: Sequence[int | str]) -> bytes:
    """y = x + x in float32."""
    node = helper.make_node("Add", ["x", "x"], ["y"], name="add")
    return graph([node], [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, shape)])
