"""Nodes that the compiler makes one of, or leaves out, with another result; images that change their layout at borders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np
import onnx
from onnx import helper, numpy_helper

from backends.sim.decompositions import Names, Nodes
from backends.sim.device import SimDevice
from backends.sim.faults.rewriting import Graph, Seed, attribute, with_inputs
from backends.sim.layout import Convert, Form

Both = tuple[onnx.NodeProto, onnx.NodeProto]
Pair = Callable[[onnx.NodeProto, onnx.NodeProto, Graph], Both | None]
"""(node, the one that reads its output) → both as the compiler changes them, None where it does not."""


def pairs(first: str, second: str, change: Pair) -> Seed:
    """Changes every pair of such nodes of which the second reads what the first makes."""

    def seed(device: SimDevice) -> None:
        prepare = device.compiler.prepare

        def prepared(model: onnx.ModelProto) -> onnx.ModelProto:
            changed = onnx.ModelProto()
            changed.CopyFrom(prepare(model))
            graph, nodes = Graph(changed), list(changed.graph.node)
            for i, j in _pairs(nodes, first.split(), second.split(), {value.name for value in graph.proto.output}):
                nodes[i], nodes[j] = change(nodes[i], nodes[j], graph) or (nodes[i], nodes[j])
            del changed.graph.node[:]
            changed.graph.node.extend(nodes)
            return changed

        device.compiler.prepare = prepared  # type: ignore[method-assign]

    return seed


def _pairs(
    nodes: list[onnx.NodeProto], first: list[str], second: list[str], results: Collection[str]
) -> Iterator[tuple[int, int]]:
    """Of such nodes with nothing else that needs what lies between them."""
    readers = Counter(name for node in nodes for name in node.input)
    alone = {name for name, count in readers.items() if count == 1 and name not in results}
    made = {name: i for i, node in enumerate(nodes) if node.op_type in first for name in node.output if name in alone}
    for j, node in enumerate(nodes):
        found = next((made[name] for name in node.input if name in made), None) if node.op_type in second else None
        if found is not None:
            yield found, j


def _bias_lost(conv: onnx.NodeProto, norm: onnx.NodeProto, graph: Graph) -> Both | None:
    """The bias of a convolution is left out where a normalisation is folded into it."""
    return (with_inputs(conv, {2: ""}), norm) if len(conv.input) > 2 and conv.input[2] else None


def _activation_lost(product: onnx.NodeProto, after: onnx.NodeProto, graph: Graph) -> Both:
    """An activation behind a product is taken for done."""
    done = onnx.NodeProto()
    done.CopyFrom(after)
    done.op_type = "Identity"
    del done.input[1:], done.attribute[:]
    return product, done


def _mean_lost(conv: onnx.NodeProto, norm: onnx.NodeProto, graph: Graph) -> Both:
    """The mean of a folded normalisation is taken for 0."""
    mean = graph.constant(norm.input[3])
    return conv, norm if mean is None else with_inputs(norm, {3: graph.store(np.zeros_like(mean))})


def _pad_moved(pad: onnx.NodeProto, window: onnx.NodeProto, graph: Graph) -> Both | None:
    """Padding folded into a window is put on the other side."""
    pads = graph.constant(pad.input[1])
    made = next((n for n in graph.proto.node if n.op_type == "Constant" and n.output[0] == pad.input[1]), None)
    if pads is None and made is not None:
        pads = numpy_helper.to_array(attribute(made, "value"))
    if pads is None:
        return None
    half = len(pads) // 2
    return with_inputs(pad, {1: graph.store(np.concatenate([pads[half:], pads[:half]]))}), window


def _transpose_dropped(transpose: onnx.NodeProto, reader: onnx.NodeProto, graph: Graph) -> Both | None:
    """A permutation that its reader is to absorb is left out: the elements stay in order."""
    shape = graph.shapes.get(transpose.output[0])
    if shape is None:
        return None
    sizes = graph.store(np.array(shape, np.int64))
    return helper.make_node("Reshape", [transpose.input[0], sizes], list(transpose.output), transpose.name), reader


def _unconverted(source: str, target: str, form: Form, name: Names) -> Nodes:
    """An image that leaves the device's layout is taken for one in the model's, padding of channels included."""
    shape, flat, size, index, kept = (name(target) for _ in range(5))
    numbers = {shape: [-1], size: form.shape, index: range(int(np.prod(form.shape)))}
    for constant, values in numbers.items():
        value = numpy_helper.from_array(np.array(list(values), np.int64))
        yield helper.make_node("Constant", [], [constant], value=value)
    yield helper.make_node("Reshape", [source, shape], [flat])
    yield helper.make_node("Gather", [flat, index], [kept])
    yield helper.make_node("Reshape", [kept, size], [target])


def _borders(wrong: Callable[[Convert], Convert]) -> Seed:
    """Images leave the device's layout in another way."""

    def seed(device: SimDevice) -> None:
        device.compiler.from_layout = wrong(device.compiler.from_layout)  # type: ignore[method-assign,assignment]

    return seed


def _scale_lost(conv: onnx.NodeProto, product: onnx.NodeProto, graph: Graph) -> Both:
    """A factor that is folded into the weights of a convolution is forgotten."""
    scale = graph.constant(product.input[1])
    return conv, product if scale is None else with_inputs(product, {1: graph.store(np.ones_like(scale))})


def _activation_first(total: onnx.NodeProto, activation: onnx.NodeProto, graph: Graph) -> Both:
    """An activation behind a sum is applied to its first operand instead."""
    active, result = onnx.NodeProto(), onnx.NodeProto()
    active.CopyFrom(activation)
    result.CopyFrom(total)
    active.input[0], active.output[0] = total.input[0], total.output[0]
    result.input[0], result.output[0] = total.output[0], activation.output[0]
    return active, result


FUSIONS: Mapping[str, Seed] = {
    "conv-bn-loses-bias": pairs("Conv", "BatchNormalization", _bias_lost),
    "conv-bn-loses-mean": pairs("Conv", "BatchNormalization", _mean_lost),
    "conv-scale-lost": pairs("Conv", "Mul", _scale_lost),
    "activation-before-sum": pairs("Add", "Relu", _activation_first),
    "matmul-activation-lost": pairs("MatMul Gemm Add", "Relu HardSwish", _activation_lost),
    "pad-folded-on-other-side": pairs("Pad", "Conv MaxPool", _pad_moved),
    "transpose-folded-away": pairs("Transpose", "Conv MatMul", _transpose_dropped),
    "border-layout-not-converted": _borders(lambda right: _unconverted),
    "border-blocks-not-converted": _borders(lambda right: _unconverted),
}
"""Fault → what it does to nodes that follow each other, and to images between them."""
