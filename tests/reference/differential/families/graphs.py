"""Small graphs of several nodes, with an intermediate tensor among the outputs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import helper

from ..samples import Array, Sample, any_shape, array, broadcastable, type_of

UNARY = ("Relu", "Tanh", "Abs", "Neg", "Softplus", "Identity")
LESS_THAN_DOUBLE = ("Erf", "Sigmoid")
"""Functions that one of the peers computes in float64 with fewer digits."""
BINARY = ("Add", "Sub", "Mul", "Max", "Min")


@dataclasses.dataclass
class _Graph:
    """Nodes so far, the shape of every tensor of them and the values of the inputs."""

    draw: st.DrawFn
    kind: str
    nodes: list[onnx.NodeProto] = dataclasses.field(default_factory=list)
    shapes: dict[str, tuple[int, ...]] = dataclasses.field(default_factory=dict)
    feeds: dict[str, Array] = dataclasses.field(default_factory=dict)

    def fed(self, value: Array) -> str:
        """The name of a new input."""
        name = f"x{len(self.feeds)}"
        self.feeds[name] = value
        return name

    def tensor(self, shape: tuple[int, ...]) -> str:
        """A tensor of that shape or one that broadcasts to it: one that is there already, or a new input."""
        fitting = [name for name, other in self.shapes.items() if other == shape]
        if fitting and self.draw(st.booleans()):
            return self.draw(st.sampled_from(fitting))
        return self.fed(array(self.draw, broadcastable(self.draw, shape), self.kind, -2, 2))

    def add(self, operator: str, inputs: list[str], shape: tuple[int, ...], **attributes: Any) -> None:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        self.shapes[name] = shape


def _elementwise(graph: _Graph, name: str, shape: tuple[int, ...]) -> None:
    if graph.draw(st.booleans()):
        names = UNARY if graph.kind == "float64" else UNARY + LESS_THAN_DOUBLE
        graph.add(graph.draw(st.sampled_from(names)), [name], shape)
        return
    inputs = graph.draw(st.permutations([name, graph.tensor(shape)]))
    graph.add(graph.draw(st.sampled_from(BINARY)), inputs, shape)


def _matmul(graph: _Graph, name: str, shape: tuple[int, ...]) -> None:
    if len(shape) < 2:
        return
    other = graph.draw(st.integers(1, 4))
    if graph.draw(st.booleans()):
        weights = graph.fed(array(graph.draw, (shape[-1], other), graph.kind, -1, 1))
        graph.add("MatMul", [name, weights], (*shape[:-1], other))
    else:
        weights = graph.fed(array(graph.draw, (other, shape[-2]), graph.kind, -1, 1))
        graph.add("MatMul", [weights, name], (*shape[:-2], other, shape[-1]))


def _reshape(graph: _Graph, name: str, shape: tuple[int, ...]) -> None:
    """Two axes become one, or one is divided."""
    size = math.prod(shape)
    divisor = graph.draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0] or [1]))
    wanted = (divisor, size // divisor) if graph.draw(st.booleans()) else (size,)
    if 0 in shape:
        return
    given = [-1 if i == 0 and graph.draw(st.booleans()) else n for i, n in enumerate(wanted)]
    graph.add("Reshape", [name, graph.fed(np.array(given))], wanted)


def _transpose(graph: _Graph, name: str, shape: tuple[int, ...]) -> None:
    perm = graph.draw(st.permutations(range(len(shape))))
    graph.add("Transpose", [name], tuple(shape[i] for i in perm), perm=perm)


def _softmax(graph: _Graph, name: str, shape: tuple[int, ...]) -> None:
    if shape:
        graph.add("Softmax", [name], shape, axis=graph.draw(st.integers(-len(shape), len(shape) - 1)))


def _conv(graph: _Graph, name: str, shape: tuple[int, ...]) -> None:
    if len(shape) not in (3, 4):
        return
    kernel = [graph.draw(st.integers(1, min(n + 2, 3))) for n in shape[2:]]
    outputs = graph.draw(st.integers(1, 3))
    weights = graph.fed(array(graph.draw, (outputs, shape[1], *kernel), graph.kind, -1, 1))
    sizes = [n + 2 - k + 1 for n, k in zip(shape[2:], kernel, strict=True)]
    graph.add("Conv", [name, weights], (shape[0], outputs, *sizes), pads=[1] * 2 * len(kernel))


STEPS = (_elementwise, _elementwise, _matmul, _reshape, _transpose, _softmax, _conv)


def _graph(draw: st.DrawFn) -> Sample:
    graph = _Graph(draw, draw(st.sampled_from(["float32", "float32", "float64", "float16"])))
    shape = any_shape(draw, 1, 4, 4)
    graph.shapes[graph.fed(array(draw, shape, graph.kind, -2, 2))] = shape
    count = draw(st.integers(3, 8))
    while len(graph.nodes) < count:
        name = draw(st.sampled_from(list(graph.shapes)[-3:]))
        draw(st.sampled_from(STEPS))(graph, name, graph.shapes[name])
    last, intermediate = f"t{count - 1}", f"t{draw(st.integers(0, count - 2))}"
    proto = helper.make_graph(
        graph.nodes,
        "sample",
        [helper.make_value_info(name, type_of(value)) for name, value in graph.feeds.items()],
        [onnx.ValueInfoProto(name=name) for name in (intermediate, last)],
    )
    version = draw(st.sampled_from([13, 17, 21, 24]))
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", version)], ir_version=10)
    return Sample(model, graph.feeds)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {"graphs": _graph}
