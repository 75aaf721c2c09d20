"""Models that no device can run as they stand, and models that look strange and are right, made from a case."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from suites.cases.case import Case

Breaker = Callable[[onnx.ModelProto], None]


def _unknown_operator(model: onnx.ModelProto) -> None:
    model.graph.node[0].op_type = "NoSuchOperator"


def _misspelt_operator(model: onnx.ModelProto) -> None:
    node = model.graph.node[0]
    node.op_type = node.op_type.upper() if node.op_type.upper() != node.op_type else node.op_type.lower()


def _unknown_domain(model: onnx.ModelProto) -> None:
    model.graph.node[0].domain = "example.unknown"
    model.opset_import.append(helper.make_opsetid("example.unknown", 1))


def _future_opset(model: onnx.ModelProto) -> None:
    model.opset_import[0].version = 9999


def _no_opset(model: onnx.ModelProto) -> None:
    del model.opset_import[:]


def _dangling_input(model: onnx.ModelProto) -> None:
    model.graph.node[0].input[0] = "nowhere"


def _cycle(model: onnx.ModelProto) -> None:
    model.graph.node[0].input[0] = model.graph.node[0].output[0]


def _output_made_twice(model: onnx.ModelProto) -> None:
    copy = model.graph.node.add()
    copy.CopyFrom(model.graph.node[0])
    copy.name = f"{copy.name}_again"


def _output_of_no_node(model: onnx.ModelProto) -> None:
    model.graph.output[0].name = "nobody_makes_this"


def _other_type(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.INT32


def _missing_operand(model: onnx.ModelProto) -> None:
    del model.graph.node[0].input[1:]


def _short_weights(model: onnx.ModelProto) -> None:
    tensor = model.graph.initializer[0]
    tensor.raw_data = numpy_helper.to_array(tensor).tobytes()[: len(tensor.raw_data) // 2]


def _weights_elsewhere(model: onnx.ModelProto) -> None:
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.append(onnx.StringStringEntryProto(key="location", value="no-such-file.bin"))


def _shapes_that_do_not_fit(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value += 4


def _wrong_channels(model: onnx.ModelProto) -> None:
    model.graph.node[0].attribute.append(helper.make_attribute("group", 2))


def _kernel_of_another_shape(model: onnx.ModelProto) -> None:
    model.graph.node[0].attribute.append(helper.make_attribute("kernel_shape", [2, 7]))


def _axis_out_of_range(model: onnx.ModelProto) -> None:
    node = model.graph.node[0]
    del node.attribute[:]
    node.attribute.append(helper.make_attribute("axis", 99))


BROKEN: Mapping[str, tuple[str, Mapping[str, Breaker]]] = {
    "operator": (
        "Add-14.f32.a:3x5.b:3x5.in:place",
        {"of no name": _unknown_operator, "in capitals": _misspelt_operator, "of an unknown domain": _unknown_domain},
    ),
    "opset": ("Add-14.f32.a:3x5.b:3x5.in:place", {"of the far future": _future_opset, "missing": _no_opset}),
    "wiring": (
        "Add-14.f32.a:3x5.b:3x5.in:place",
        {
            "an input that nobody makes": _dangling_input,
            "a cycle": _cycle,
            "a value made twice": _output_made_twice,
            "an output that nobody makes": _output_of_no_node,
            "an operand too few": _missing_operand,
        },
    ),
    "types": ("MatMul-13.f32.a:3x5.b:5x7.in:lattice", {"operands of two types": _other_type}),
    "shapes": (
        "MatMul-13.f32.a:3x5.b:5x7.in:lattice",
        {"inner extents that differ": _shapes_that_do_not_fit},
    ),
    "attributes": (
        "Conv-22.f32.x:1x3x5x5.w:2x3x3x3.const:w.in:lattice",
        {"groups that do not divide": _wrong_channels, "a kernel of another shape": _kernel_of_another_shape},
    ),
    "axis": ("Softmax-13.f32.input:3x5.axis:1.in:normal", {"an axis that there is not": _axis_out_of_range}),
    "weights": (
        "Conv-22.f32.x:1x3x5x5.w:2x3x3x3.const:w.in:lattice",
        {"half as long as they should be": _short_weights, "in a file that there is not": _weights_elsewhere},
    ),
}
"""What is wrong → the case that is spoilt, and ways to spoil its model: ONNX forbids every one of them."""


def spoilt(case: Case, what: str) -> dict[str, bytes]:
    """The case's model, spoilt in each way."""
    found = {}
    for way, breaker in BROKEN[what][1].items():
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        breaker(model)
        found[way] = bytes(model.SerializeToString(deterministic=True))
    return found


NAMES = {"spaces": "a name / with:odd*signs", "letters": "größe_张量_тензор", "long": "n" * 3000, "digits": "123", "empty": ""}
"""Names that tensors and nodes of a valid model may have; only a node's may be empty."""


def renamed(case: Case, name: str) -> tuple[bytes, str, str]:
    """The case's model with its node, first input and first output renamed: (model, name of the input, name of the output)."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    graph, node = model.graph, model.graph.node[0]
    node.name = name
    source, target = (f"{name}_in", f"{name}_out") if name else (graph.input[0].name, graph.output[0].name)
    node.input[0] = graph.input[0].name = source
    node.output[0] = graph.output[0].name = target
    return bytes(model.SerializeToString(deterministic=True)), source, target


def long_chain(length: int) -> bytes:
    """x + 1, `length` times: float32[7]."""
    one = numpy_helper.from_array(np.ones(7, np.float32), "one")
    names = ["x", *(f"v{i}" for i in range(1, length)), "y"]
    nodes = [helper.make_node("Add", [a, "one"], [b], name=f"add{i}") for i, (a, b) in enumerate(itertools.pairwise(names))]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [7]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "chain", value[:1], value[1:], [one])
    return bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString())


def enlarged(case: Case) -> bytes:
    """The case's model with inputs and outputs of 2^60 elements."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for value in (*model.graph.input, *model.graph.output):
        for dimension in value.type.tensor_type.shape.dim:
            dimension.dim_value = 2**20
    return bytes(model.SerializeToString(deterministic=True))
