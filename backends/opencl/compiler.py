"""From an ONNX model to a program. What no kernel covers is declined before anything else is looked at."""

from __future__ import annotations

from typing import Any

from backends.interface import CompileError, Unsupported
from backends.opencl.elements import NAMES
from backends.opencl.operators import OPERATORS, types
from backends.opencl.program import Node, Program, Target, Tensor


def compile_model(model: bytes, target: Target) -> Program:
    """Lower a serialised model. Raises Unsupported, CompileError."""
    import onnx
    from onnx import numpy_helper

    try:
        parsed = onnx.load_model_from_string(model)
        _decline(parsed, onnx)
        _check_graph(parsed.graph)
        graph = onnx.shape_inference.infer_shapes(parsed, check_type=True, strict_mode=True, data_prop=True).graph
        constants = {tensor.name: tensor for tensor in graph.initializer}
        constants |= {n.output[0]: n.attribute[0].t for n in graph.node if n.op_type == "Constant"}
        arrays = {name: numpy_helper.to_array(tensor) for name, tensor in constants.items()}
    except (Unsupported, CompileError):
        raise
    except Exception as error:
        raise CompileError(str(error), code=type(error).__name__) from error
    tensors: dict[str, Tensor] = {}
    for value in (*graph.input, *graph.value_info, *graph.output):
        tensor = _tensor(value)
        if tensor is not None:
            tensors[value.name] = tensor
    for name, constant in constants.items():
        if constant.data_type in NAMES:
            tensors[name] = Tensor(tuple(constant.dims), NAMES[constant.data_type])
    inputs = [value.name for value in graph.input if value.name not in constants]
    outputs = [value.name for value in graph.output]
    program = Program(target, tensors, inputs, outputs, arrays)
    for name in (*inputs, *outputs):
        if name not in tensors:
            raise Unsupported(f"{name} is no tensor of static shape and of a type that kernels move", code="opencl.type")
    for proto in graph.node:
        if proto.op_type != "Constant":
            _lower(Node(program, proto))
    if set(outputs) & {*inputs, *constants}:
        raise Unsupported("an output that no node computes", code="opencl.graph")
    return program


def _decline(model: Any, onnx: Any) -> None:
    """Raises Unsupported for the first node that no row of the table covers, before anything else is looked at."""
    opset = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)
    newest = onnx.defs.onnx_opset_version()
    if opset > newest:
        raise Unsupported(f"operators of opset {opset}; the newest known is {newest}", code="opencl.operator")
    for node in model.graph.node:
        if node.domain not in ("", "ai.onnx"):
            raise Unsupported(f"no operators of domain {node.domain}", code="opencl.operator")
        if node.op_type == "Constant" and [a.name for a in node.attribute] == ["value"]:
            continue
        row = OPERATORS.get(node.op_type)
        if row is None:
            raise Unsupported(f"no kernel for {node.op_type}", code="opencl.operator")
        if opset < row.since:
            raise Unsupported(f"{node.op_type} of opset {opset}; kernels are those of {row.since}", code="opencl.operator")


def _check_graph(graph: Any) -> None:
    """Raises CompileError unless every value is made once, before it is read. ONNX's own checker also wants shapes that models
    may leave out."""
    made = {*(value.name for value in graph.input), *(tensor.name for tensor in graph.initializer)}
    for node in graph.node:
        for name in node.input:
            if name and name not in made:
                raise CompileError(
                    f"{node.op_type} {node.name} reads {name}, which nothing has made before", code="opencl.graph"
                )
        for name in node.output:
            if name in made:
                raise CompileError(f"{name} is made twice", code="opencl.graph")
            made.update({name} if name else ())
    missing = [value.name for value in graph.output if value.name not in made]
    if missing or not graph.output:
        raise CompileError(
            f"nothing makes output {', '.join(missing)}" if missing else "the model has no output", code="opencl.graph"
        )


def _lower(node: Node) -> None:
    dtype = node.x.dtype
    if dtype not in types(node.operator, node.program.target):
        raise Unsupported(f"no kernel for {node.operator} of {dtype} (node {node.label})", code="opencl.type")
    node.program.nodes.append((node.label, node.operator))
    OPERATORS[node.operator].lower(node)


def _tensor(value: Any) -> Tensor | None:
    """Shape and type of a graph value, None where they are not static or not of a known type."""
    kind = value.type.tensor_type
    if kind.elem_type not in NAMES or not kind.HasField("shape"):
        return None
    if not all(dim.HasField("dim_value") for dim in kind.shape.dim):
        return None
    return Tensor(tuple(dim.dim_value for dim in kind.shape.dim), NAMES[kind.elem_type])
