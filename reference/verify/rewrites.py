"""What a compiler that rewrites graphs may have lost: a small graph with one part left out, or one node on the wrong side of
another, compared with what a device returned."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import onnx
from onnx import helper, numpy_helper

from reference import dtypes
from reference.evaluator import evaluate
from reference.node import Array
from reference.verify import chains
from reference.verify.diagnosis.hypothesis import REFUSALS
from reference.verify.profile import Profile
from reference.verify.verdict import judge

BIASED = frozenset(["Conv", "ConvTranspose", "Gemm"])
PARAMETERS = {1: ("scale 1", np.ones_like), 2: ("bias 0", np.zeros_like), 3: ("mean 0", np.zeros_like)}
"""Input of BatchNormalization → what is left of it where its folding forgets it."""

ACTIVATIONS = frozenset(
    [
        *("Celu", "Clip", "Elu", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "PRelu", "Relu", "Selu", "Sigmoid"),
        *("Softplus", "Softsign", "Tanh", "ThresholdedRelu"),
    ]
)
MOST = 48
"""Rewritings that are tried."""

LEFT = 0.25
"""Share of the error that a rewriting may leave at most: a wider bound alone explains nothing."""

Rewriting = tuple[str, Callable[[onnx.GraphProto], None]]
"""(what is wrong with the graph, completing "the graph …", what makes it so)."""


def fitting(model: onnx.ModelProto, feeds: Mapping[str, Array], profile: Profile, name: str, got: Array) -> str:
    """The first rewriting of the graph that gives an output all of whose elements are right, and that is far nearer to it than
    the graph as it is; "" if there is none. Graphs with bodies are left alone, since rewritten loops may never end."""
    if any(a.HasField("g") or a.graphs for node in model.graph.node for a in node.attribute):
        return ""
    try:
        with np.errstate(all="ignore"):
            values = {**feeds, **evaluate(model, feeds, [name for node in model.graph.node for name in node.output if name])}
            values |= {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
            error = _distance(got, values[name])
    except REFUSALS:
        return ""
    shapes = {tensor: np.shape(value) for tensor, value in values.items() if isinstance(value, np.ndarray)}
    for text, change in itertools.islice(_rewritings(model.graph, shapes), MOST):
        changed = onnx.ModelProto()
        changed.CopyFrom(model)
        try:
            change(changed.graph)
            with np.errstate(all="ignore"):
                near = _distance(got, evaluate(changed, feeds, name)[name]) <= LEFT * error
                if near and judge(chains.expected(changed, feeds, profile)[name][0], got).status == "pass":
                    return text
        except REFUSALS:
            continue
    return ""


def _distance(got: Array, value: Array) -> float:
    """Sum of the absolute differences. Raises ValueError for another shape."""
    if got.shape != np.shape(value):
        raise ValueError(f"{got.shape} is not {np.shape(value)}")
    return float(np.abs(dtypes.to_real(got).astype(np.float64) - np.asarray(value, np.float64)).sum())


def _rewritings(graph: onnx.GraphProto, shapes: Mapping[str, tuple[int, ...]]) -> Iterator[Rewriting]:
    """Parameters that are forgotten first, then whole nodes, then activations in front of the sum that they follow."""
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    makers = {name: i for i, node in enumerate(graph.node) for name in node.output}
    for i, node in enumerate(graph.node):
        if node.op_type in BIASED and len(node.input) > 2 and node.input[2]:
            yield f"without the bias of {node.name}", _with_input(i, 2, None)
        if node.op_type == "BatchNormalization":
            for k, (text, value) in PARAMETERS.items():
                if node.input[k] in stored:
                    yield f"with {text} in {node.name}", _with_input(i, k, value(stored[node.input[k]]))
    for i, node in enumerate(graph.node):
        for name in node.input:
            if name and name not in stored and shapes.get(name) == shapes.get(node.output[0], ()):
                yield f"without {node.name}", _with_node(i, [helper.make_node("Identity", [name], node.output[:1])])
    for i, node in enumerate(graph.node):
        total = makers.get(node.input[0], -1) if node.op_type in ACTIVATIONS else -1
        if total >= 0 and graph.node[total].op_type in ("Add", "Sub"):
            for k in (0, 1):
                text = f"with {node.name} on input {k} of {graph.node[total].name}"
                yield text, _with_node(i, _before(graph.node[total], node, k))


def _before(total: onnx.NodeProto, active: onnx.NodeProto, k: int) -> list[onnx.NodeProto]:
    """An activation on one operand of a sum, and the sum with the output of the activation."""
    first, last = onnx.NodeProto(), onnx.NodeProto()
    first.CopyFrom(active)
    last.CopyFrom(total)
    early = f"{active.output[0]}/early"
    first.input[0], first.output[0] = total.input[k], early
    last.input[k], last.output[0] = early, active.output[0]
    return [first, last]


def _with_node(i: int, nodes: list[onnx.NodeProto]) -> Callable[[onnx.GraphProto], None]:
    def change(graph: onnx.GraphProto) -> None:
        changed = [*graph.node[:i], *nodes, *graph.node[i + 1 :]]
        del graph.node[:]
        graph.node.extend(changed)

    return change


def _with_input(i: int, k: int, value: Array | None) -> Callable[[onnx.GraphProto], None]:
    """Another constant in place of an input, or none."""

    def change(graph: onnx.GraphProto) -> None:
        name = "" if value is None else f"{graph.node[i].input[k]}/forgotten"
        graph.node[i].input[k] = name
        if value is not None:
            graph.initializer.append(numpy_helper.from_array(value, name))

    return change
