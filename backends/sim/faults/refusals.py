"""Models that the device claims and then cannot compile or run, that end or block the process, or that the host computes."""

from __future__ import annotations

import ctypes
import dataclasses
import os
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import onnx

from backends.interface import CompileError, DeviceLost, Options, OutOfMemory, RunError, Unsupported
from backends.sim.compiler import Program
from backends.sim.device import SimDevice
from backends.sim.engine import Engine
from backends.sim.faults.rewriting import Graph, Seed, attribute

Condition = Callable[[onnx.NodeProto, Graph], bool]
Failure = Callable[[], Any]


def always(node: onnx.NodeProto, graph: Graph) -> bool:
    return True


def _meets(graph: Graph, operators: str, condition: Condition) -> bool:
    names = operators.split()
    return any(condition(node, graph) for node in graph.proto.node if node.op_type in names or not names)


def compiling(operators: str, failure: Failure, condition: Condition = always) -> Seed:
    """Compiling a model with such a node fails; "" stands for all operators."""

    def seed(device: SimDevice) -> None:
        compile_ = device.compiler.compile

        def compiled(model: bytes, options: Options) -> Program:
            program = compile_(model, options)
            if _meets(Graph(onnx.load_from_string(model)), operators, condition):
                failure()
            return program

        device.compiler.compile = compiled  # type: ignore[method-assign]

    return seed


def running(operators: str, failure: Failure, condition: Condition = always) -> Seed:
    """Running a model with such a node fails."""

    def seed(device: SimDevice) -> None:
        compile_, compute, bad = device.compiler.compile, device.compute, set[int]()

        def compiled(model: bytes, options: Options) -> Program:
            program = compile_(model, options)
            if _meets(Graph(onnx.load_from_string(model)), operators, condition):
                bad.add(id(program))
                weakref.finalize(program, bad.discard, id(program))
            return program

        def computed(program: Program, engine: Engine, inputs: Mapping[str, Any]) -> dict[str, Any]:
            if id(program) in bad:
                failure()
            return compute(program, engine, inputs)

        device.compiler.compile, device.compute = compiled, computed  # type: ignore[method-assign]

    return seed


def on_host(operators: str, condition: Condition = always, *, everything: bool = False) -> Seed:
    """Such nodes are computed by the host, and nothing but their placement says so; `everything`: so is the whole model."""

    def seed(device: SimDevice) -> None:
        compile_ = device.compiler.compile

        def compiled(model: bytes, options: Options) -> Program:
            program = compile_(model, options)
            graph = Graph(onnx.load_from_string(model))
            named = [node for node in graph.proto.node if node.op_type in operators.split() or not operators]
            hit = {node.op_type for node in named if condition(node, graph)}
            nodes = [
                dataclasses.replace(n, on_device=False, partition=None) if n.operator in hit or (everything and hit) else n
                for n in program.nodes
            ]
            return dataclasses.replace(program, nodes=nodes)

        device.compiler.compile = compiled  # type: ignore[method-assign]

    return seed


def raises(error: type[Exception], text: str, **details: Any) -> Failure:
    def fail() -> None:
        raise error(text, **details)

    return fail


def segfault() -> None:
    """Reads from address 0."""
    ctypes.string_at(0)


def block() -> None:
    """Waits for ever."""
    while True:
        time.sleep(1.0)


def _rank(least: int, position: int = 0) -> Condition:
    return lambda node, graph: len(graph.shapes.get(node.input[position]) or ()) >= least


def _types(*names: str) -> Condition:
    return lambda node, graph: bool(node.input) and graph.types.get(node.input[0]) in names


def _given(name: str, value: Any) -> Condition:
    return lambda node, graph: attribute(node, name) == value


def _fed(position: int) -> Condition:
    return lambda node, graph: len(node.input) > position and node.input[position] not in graph.stored


def _empty(node: onnx.NodeProto, graph: Graph) -> bool:
    return any(0 in (graph.shapes.get(name) or ()) for name in node.input)


def _scalar(node: onnx.NodeProto, graph: Graph) -> bool:
    return any(graph.shapes.get(name) == () and name not in graph.stored for name in node.input)


def _even(node: onnx.NodeProto, graph: Graph) -> bool:
    return bool(attribute(node, "size", 1) % 2 == 0)


def _dilated(node: onnx.NodeProto, graph: Graph) -> bool:
    return any(d > 1 for d in attribute(node, "dilations", []))


def _long(node: onnx.NodeProto, graph: Graph) -> bool:
    return any(size > 4096 for size in graph.shapes.get(node.input[0]) or ())


def _spatial(axes: int) -> Condition:
    return lambda node, graph: len(graph.shapes.get(node.input[0]) or ()) == axes + 2


FINALIZE = raises(CompileError, "QnnGraph_finalize failed: error 1002", code="1002", accepted=True)
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")

REFUSALS: Mapping[str, Seed] = {
    "finalize-fails-activations": compiling("Elu HardSigmoid Gelu Round", FINALIZE, _types("float32")),
    "finalize-fails-norms": compiling("InstanceNormalization LpNormalization CumSum", FINALIZE),
    "finalize-fails-pad-edge": compiling("Pad", FINALIZE, _given("mode", "edge")),
    "finalize-fails-conv3d": compiling("Conv ConvTranspose", FINALIZE, _spatial(3)),
    "gather-negative-fails": running(
        "Gather", raises(RunError, "General error: Gather", code="6031"), lambda n, g: _types("float16")(n, g) and _fed(1)(n, g)
    ),
    "add-uint8-not-implemented": compiling(
        "Add", raises(CompileError, "NOT_IMPLEMENTED: no implementation for Add(14) of uint8", code="9"), _types("uint8")
    ),
    "range-int64-raises": running("Range", raises(RunError, "Range: maximum value overflows"), _types("int64")),
    "rank-5-fails": compiling("", raises(CompileError, "tensors of rank 5 cannot be lowered"), _rank(5)),
    "matmul-integer-rank": compiling(
        "MatMul",
        raises(CompileError, "FullyConnected: rank of integer input > 2"),
        lambda n, g: _types(*INTEGERS)(n, g) and _rank(3)(n, g),
    ),
    "scatter-float16-throws": running(
        "ScatterND ScatterElements",
        raises(RunError, "float16 is not supported with a reduction", code="NOT_IMPLEMENTED"),
        lambda n, g: _types("float16")(n, g) and attribute(n, "reduction") is not None,
    ),
    "isinf-float8-declined": compiling(
        "IsInf IsNaN",
        raises(Unsupported, "unsupported src_prc: f8e5m2", code="sim.unsupported"),
        _types("float8_e5m2", "float8_e4m3fn"),
    ),
    "equal-strings-declined": compiling(
        "Equal", raises(Unsupported, "unsupported src_prc: string", code="sim.unsupported"), _types("str")
    ),
    "topk-run-error": running("TopK", raises(RunError, "zeFenceHostSynchronize: ZE_RESULT_ERROR_UNKNOWN", code="0x7ffffffe")),
    "reshape-needs-constant": compiling("Reshape", raises(CompileError, "shape must be an initializer"), _fed(1)),
    "lrn-even-size-refused": compiling("LRN", raises(CompileError, "size_ % 2 == 1 was false"), _even),
    "scalar-refused": compiling("Add Mul Sub", raises(CompileError, "an input has no dimensions"), _scalar),
    "trilu-loses-device": running("Trilu", raises(DeviceLost, "ZE_RESULT_ERROR_DEVICE_LOST", code="0x70000001")),
    "softmax-out-of-memory": running("Softmax", raises(OutOfMemory, "TCM exhausted", phase="run"), _long),
    "relu-rank-5-crashes": running("Relu", segfault, _rank(5)),
    "empty-tensor-crashes": compiling("Relu Neg Ceil", os.abort, _empty),
    "gemm-hangs": running("Gemm", block, _given("alpha", 0.0)),
    "fallback-gelu": on_host("Gelu HardSwish"),
    "fallback-dilated-conv": on_host("Conv", _dilated),
    "fallback-integers": on_host("MatMul Add Mul", _types(*INTEGERS)),
    "fallback-rank-5": on_host("", _rank(5)),
    "fallback-float16-norms": on_host("LayerNormalization RMSNormalization", _types("float16")),
    "fallback-averagepool-ceil": on_host("AveragePool", _given("ceil_mode", 1)),
    "fallback-quantised": on_host("QLinearConv QLinearMatMul"),
    "fallback-whole-model": on_host("Transpose Reshape Slice", everything=True),
}
"""Fault → what cannot be done."""
