"""How faults of the compute units are seeded: what the units return is changed on its way out of `SimDevice.compute`."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from backends.interface import Options
from backends.sim.compiler import Program
from backends.sim.device import SimDevice
from backends.sim.engine import Engine
from backends.sim.faults.rewriting import opset_of

Array = NDArray[Any]
Seed = Callable[[SimDevice], None]


@dataclasses.dataclass(frozen=True)
class Call:
    """A node of the user's model whose output is one of the graph's. inputs: its operands, None where they are computed on
    the device or left out. output: which of its outputs. number: how many runs the device did before. opset: of the model."""

    node: onnx.NodeProto
    inputs: tuple[Array | None, ...]
    output: int
    number: int
    opset: int


Change = Callable[[Array, Call], Array]
"""(right output, call) → what the device returns."""


def models(device: SimDevice) -> Mapping[int, onnx.ModelProto]:
    """id of a living program → the model that the user gave; filled from now on."""
    known: dict[int, onnx.ModelProto] = {}
    compile_ = device.compiler.compile

    def compiled(model: bytes, options: Options) -> Program:
        program = compile_(model, options)
        known[id(program)] = onnx.load_from_string(model)
        weakref.finalize(program, known.pop, id(program), None)
        return program

    device.compiler.compile = compiled  # type: ignore[method-assign]
    return known


def results(operators: str, change: Change) -> Seed:
    """The operators return something else, where they are the last ones of a model; "" stands for all operators."""

    def seed(device: SimDevice) -> None:
        known, compute, names, runs = models(device), device.compute, operators.split(), [0]

        def computed(program: Program, engine: Engine, inputs: Mapping[str, Any]) -> dict[str, Any]:
            outputs = compute(program, engine, inputs)
            model = known[id(program)]
            graph, opset = model.graph, opset_of(model)
            given = {**{t.name: numpy_helper.to_array(t) for t in graph.initializer}, **inputs}
            for node in (node for node in graph.node if node.op_type in names or not names):
                operands = tuple(given.get(name) for name in node.input)
                for index, name in enumerate(node.output):
                    if isinstance(outputs.get(name), np.ndarray):
                        outputs[name] = change(outputs[name], Call(node, operands, index, runs[0], opset))
            runs[0] += 1
            return outputs

        device.compute = computed  # type: ignore[method-assign]

    return seed


def operands(operators: str, change: Callable[[Array], Array]) -> Seed:
    """What is fed to models with one of the operators is changed on its way in; "" stands for all operators."""

    def seed(device: SimDevice) -> None:
        known, compute, names = models(device), device.compute, set(operators.split())

        def computed(program: Program, engine: Engine, inputs: Mapping[str, Any]) -> dict[str, Any]:
            if names and names.isdisjoint(node.op_type for node in known[id(program)].graph.node):
                return compute(program, engine, inputs)
            return compute(program, engine, {n: change(x) if isinstance(x, np.ndarray) else x for n, x in inputs.items()})

        device.compute = computed  # type: ignore[method-assign]

    return seed


def is_real(x: Array) -> bool:
    """Whether it holds floating-point numbers of 16 bits or more."""
    return bool(x.dtype.kind == "f" or x.dtype == ml_dtypes.bfloat16)


def real(change: Callable[[Array, Call], Array]) -> Change:
    """A change of floating-point outputs alone, in float64."""

    def changed(y: Array, call: Call) -> Array:
        if not is_real(y):
            return y
        with np.errstate(all="ignore"):
            return np.asarray(change(y.astype(np.float64), call)).astype(y.dtype)

    return changed


def recomputed(change: Callable[[tuple[Array, ...], Call], Array | None], *dtypes: str) -> Change:
    """A change of outputs of these types that is computed from the operands, all of which must be known."""

    def changed(y: Array, call: Call) -> Array:
        known = tuple(x for x in call.inputs if x is not None)
        if y.dtype.name not in dtypes or len(known) < len([name for name in call.node.input if name]) or call.output:
            return y
        with np.errstate(all="ignore"):
            found = change(known, call)
            return y if found is None else np.asarray(found).astype(y.dtype).reshape(y.shape)

    return changed
