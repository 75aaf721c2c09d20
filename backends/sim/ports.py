"""Inputs and outputs in a layout that the user asks for: their memory has its shape, a conversion stands at the border."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

import onnx
from onnx import helper

from backends.interface import LAYOUTS, Unsupported
from backends.sim.decompositions import Names, Nodes
from backends.sim.layout import ODD, Form
from backends.sim.lowering import TO_ONNX
from backends.sim.translation import DECLINED

Convert = Callable[[str, str, Form, Names], Nodes]


def lay_out_ports(model: onnx.ModelProto, forms: Mapping[str, Form], name: Names, enter: Convert, leave: Convert) -> None:
    """Gives inputs and outputs another layout, in place. enter, leave: into it and out of it (`layout`)."""
    graph = model.graph
    inner = {port: name(port) for port in forms}
    before: list[onnx.NodeProto] = []
    after: list[onnx.NodeProto] = []
    _rename(graph.node, inner)
    for value in (*graph.input, *graph.output):
        form = forms.get(value.name)
        if form is None:
            continue
        del value.type.tensor_type.shape.dim[:]
        value.type.CopyFrom(helper.make_tensor_type_proto(form.element, form.stored))
        if any(value.name == known.name for known in graph.input):
            before.extend(leave(value.name, inner[value.name], form, name))
        else:
            after.extend(enter(inner[value.name], value.name, form, name))
    nodes = [*before, *graph.node, *after]
    kept = [value for value in graph.value_info if value.name not in forms]
    del graph.node[:], graph.value_info[:]
    graph.node.extend(nodes)
    graph.value_info.extend(kept)


def port_form(
    port: str,
    wanted: str,
    offered: Collection[str],
    block: int,
    types: Mapping[str, str],
    shapes: Mapping[str, tuple[int, ...] | None],
) -> Form:
    """How one input or output shall lie. Raises Unsupported for a layout that is not offered or does not fit the tensor."""
    shape, dtype = shapes.get(port), types.get(port, "")
    where = f"layout {wanted} of {port}"
    if wanted not in offered:
        raise Unsupported(f"{where}: sim offers {', '.join(sorted(offered)) or 'none'} here", code=DECLINED)
    if shape is None or 0 in shape or dtype not in TO_ONNX or dtype in ODD:
        raise Unsupported(f"{where}: its shape or type has no such layout", code=DECLINED)
    rank = 4 if wanted == "NC1HWC0" else len(LAYOUTS[wanted])
    if len(shape) != rank:
        raise Unsupported(f"{where}: it has {len(shape)} dimensions, not {rank}", code=DECLINED)
    return Form(wanted, block if wanted == "NC1HWC0" else 0, shape, TO_ONNX[dtype])


def _rename(nodes: Iterable[onnx.NodeProto], names: Mapping[str, str]) -> None:
    """Other names for tensors, wherever nodes and the graphs inside them read or write them."""
    for node in nodes:
        for field in (node.input, node.output):
            field[:] = [names.get(name, name) for name in field]
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _rename(attribute.g.node, names)
                for value in attribute.g.output:
                    value.name = names.get(value.name, value.name)
