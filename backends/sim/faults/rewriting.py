"""How faults of the compiler are seeded: the user's nodes are rewritten before they are compiled.

An edit takes a node and the graph that it is in, and gives the nodes in its place. Where elements lie is changed by an index:
`read` and `written` take a function on arrays of positions, so that any NumPy expression on an array is a fault of layout.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from backends.sim.compiler import shapes_of
from backends.sim.device import SimDevice
from backends.sim.lowering import TO_ONNX
from backends.sim.translation import types_of

Array = NDArray[Any]
Nodes = Iterable[onnx.NodeProto]
Edit = Callable[[onnx.NodeProto, "Graph"], Nodes]
Move = Callable[[Array], Array]
"""Positions in the shape that a tensor has → positions in the shape that the device gives it; −1 stands for a zero."""

Seed = Callable[[SimDevice], None]


class Graph:
    """A graph that is being rewritten, and what is known of its tensors."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.proto = model.graph
        self.opset = opset_of(model)
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
        self.shapes = shapes_of(inferred)
        self.types = types_of(inferred)
        self.stored = {tensor.name: tensor for tensor in model.graph.initializer}
        self._numbers = itertools.count()

    def constant(self, name: str) -> Array | None:
        """The value of an initialiser, None for any other tensor."""
        tensor = self.stored.get(name)
        return None if tensor is None else numpy_helper.to_array(tensor)

    def name(self, stem: str) -> str:
        return f"{stem}/fault/{next(self._numbers)}"

    def store(self, value: Array | onnx.TensorProto) -> str:
        """The name of a new initialiser."""
        tensor = onnx.TensorProto()
        tensor.CopyFrom(value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(np.asarray(value)))
        tensor.name = self.name("constant")
        self.proto.initializer.append(tensor)
        return tensor.name

    def code(self, name: str) -> int:
        """The type of a tensor as TensorProto.DataType."""
        return int(TO_ONNX[self.types[name]])


def opset_of(model: onnx.ModelProto) -> int:
    """The version of ONNX's own operators that a model uses, 0 where it uses none."""
    return next((opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")), 0)


def rewrite(device: SimDevice, edit: Edit) -> None:
    """Has an edit done on every node of every model before it is compiled."""
    prepare = device.compiler.prepare

    def rewritten(model: onnx.ModelProto) -> onnx.ModelProto:
        changed = onnx.ModelProto()
        changed.CopyFrom(prepare(model))
        graph = Graph(changed)
        nodes = [new for node in list(changed.graph.node) for new in edit(node, graph)]
        del changed.graph.node[:]
        changed.graph.node.extend(nodes)
        return changed

    device.compiler.prepare = rewritten  # type: ignore[method-assign]


def attribute(node: onnx.NodeProto, name: str, default: Any = None) -> Any:
    """The value of an attribute, text as str; the default where the node has none of that name."""
    found = next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)
    return found.decode() if isinstance(found, bytes) else found


def with_attributes(node: onnx.NodeProto, changes: Mapping[str, Any]) -> onnx.NodeProto:
    """A copy of a node with other attributes; None leaves one out."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    kept = [a for a in node.attribute if a.name not in changes]
    del copy.attribute[:]
    copy.attribute.extend([*kept, *(helper.make_attribute(n, v) for n, v in changes.items() if v is not None)])
    return copy


def with_inputs(node: onnx.NodeProto, changes: Mapping[int, str]) -> onnx.NodeProto:
    """A copy of a node that reads other tensors; "" leaves an optional one out."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for index, name in changes.items():
        copy.input[index] = name
    return copy


def reshaped(graph: Graph, node: onnx.NodeProto) -> None:
    """Forgets the shapes of the node's outputs, which another one follows from."""
    for value in graph.proto.output:
        if value.name in node.output:
            value.type.tensor_type.ClearField("shape")


Changes = Mapping[str, Any] | Callable[[onnx.NodeProto, Graph], Mapping[str, Any]]


def attributes(operators: str, changes: Changes) -> Seed:
    """The operators have other attributes: fixed ones, of which only those count that the node has, or what a function says."""

    def edit(node: onnx.NodeProto, graph: Graph) -> Nodes:
        if node.op_type not in operators.split():
            return [node]
        present = {a.name for a in node.attribute}
        wanted = changes(node, graph) if callable(changes) else {k: v for k, v in changes.items() if k in present}
        if not wanted:
            return [node]
        reshaped(graph, node)
        return [with_attributes(node, wanted)]

    return lambda device: rewrite(device, edit)


def edited(operators: str, edit: Edit) -> Seed:
    """The operators are replaced by what an edit gives."""
    return lambda device: rewrite(device, lambda n, g: edit(n, g) if n.op_type in operators.split() else [n])


def moved(graph: Graph, source: str, target: str, like: str, move: Move) -> Iterator[onnx.NodeProto]:
    """Nodes that give `target` the elements of `source` where `move` says; `like` has the shape and the type of `source`."""
    shape, code = graph.shapes[like], graph.code(like)
    assert shape is not None
    index = np.asarray(move(np.arange(int(np.prod(shape))).reshape(shape)))
    # Gather and Concat have no types of less than a byte.
    kept = TensorProto.INT8 if graph.types[like] in ("int4", "uint4", "int2", "uint2") else code
    flat, whole, gathered = graph.name(source), graph.name(source), graph.name(target)
    yield helper.make_node("Reshape", [source, graph.store(np.array([-1]))], [flat])
    yield helper.make_node("Cast", [flat], [whole], to=kept)
    if np.any(index < 0):
        longer, width = graph.name(source), helper.tensor_dtype_to_np_dtype(kept).itemsize
        zero = graph.store(TensorProto(data_type=kept, dims=[1], raw_data=bytes(width)))
        yield helper.make_node("Concat", [whole, zero], [longer], axis=0)
        whole, index = longer, np.where(index < 0, int(np.prod(shape)), index)
    yield helper.make_node("Gather", [whole, graph.store(index)], [gathered])
    yield helper.make_node("Cast", [gathered], [target], to=code)


def _movable(graph: Graph, name: str, rank: int) -> bool:
    shape = graph.shapes.get(name)
    return bool(shape) and shape is not None and 0 not in shape and len(shape) >= rank and graph.types.get(name) != "str"


def reading(position: int, move: Move, rank: int = 1) -> Edit:
    """Reads one input, of at least `rank` axes, from other places."""

    def edit(node: onnx.NodeProto, graph: Graph) -> Nodes:
        if len(node.input) <= position or not _movable(graph, node.input[position], rank):
            return [node]
        name = graph.name(node.input[position])
        nodes = list(moved(graph, node.input[position], name, node.input[position], move))
        return [*nodes, with_inputs(node, {position: name})]

    return edit


def writing(move: Move, rank: int = 1) -> Edit:
    """Writes the first output, of at least `rank` axes, to other places."""

    def edit(node: onnx.NodeProto, graph: Graph) -> Nodes:
        if not _movable(graph, node.output[0], rank):
            return [node]
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.output[0] = graph.name(node.output[0])
        return [copy, *moved(graph, copy.output[0], node.output[0], node.output[0], move)]

    return edit


def chain(graph: Graph, source: str, target: str, *steps: tuple[str, Mapping[str, Any]]) -> Iterator[onnx.NodeProto]:
    """One node after the other from `source` to `target`; inputs beside the first are arrays under "also"."""
    for number, (operator, options) in enumerate(steps):
        also: Sequence[Array] = options.get("also", ())
        names = [source, *(graph.store(x) for x in also)]
        source = target if number == len(steps) - 1 else graph.name(target)
        yield helper.make_node(operator, names, [source], **{k: v for k, v in options.items() if k != "also"})
