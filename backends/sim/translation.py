"""One node of the user's model in operators that the engine computes right: casts around nodes that run in a wider type,
replacements, and marks on nodes whose place ONNX's function body takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import onnx
from onnx import TensorProto, helper

from backends.interface import Unsupported
from backends.sim import contributed
from backends.sim.contributed import Parameter, Schema
from backends.sim.lowering import NAMES, TO_ONNX, WORDS, has_kernel, kernels, lowering, replacement
from backends.sim.support import restriction

TYPE_ATTRIBUTES = ("dtype", "output_datatype", "output_dtype")
"""Attributes that name the type of an output."""

DECLINED = "sim.unsupported"
"""Code of everything that the simulated device declines."""


Around = Callable[[onnx.NodeProto, list[onnx.NodeProto], Mapping[str, str]], list[onnx.NodeProto]]
"""(node, what it was translated to, types) → the same with the roundings of the unit that computes it."""


class Translation:
    """Translates the nodes of one model. `functions` are (domain, operator) of nodes that ONNX's body is to replace, `changed`
    whether any node differs from the user's, `engines` (label, operator, wider types) of each node, those of branches first.

    held: tensors between fused nodes → type in which they pass from one to the other, without the cast to their own.
    """

    def __init__(self, opsets: Mapping[str, int], fresh: Iterator[int], held: Mapping[str, str] | None = None) -> None:
        self.opsets = opsets
        self.changed = False
        self.functions: set[tuple[str, str]] = set()
        self.engines: list[tuple[str, str, str]] = []
        self.held = held or {}
        self._fresh = fresh

    def graph(self, graph: onnx.GraphProto, outer: Mapping[str, str], around: Around | None = None) -> None:
        """Every node of a graph, in place. outer: types of the tensors of the graphs around it."""
        types = {**outer, **types_of(graph)}
        lowered = [inner for node in graph.node for inner in self.node(node, types, around)]
        if self.changed or self.functions:
            del graph.node[:]
            graph.node.extend(lowered)

    def node(self, node: onnx.NodeProto, types: Mapping[str, str], around: Around | None = None) -> list[onnx.NodeProto]:
        """The nodes in its place. Raises Unsupported."""
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                self.graph(attribute.g, types, around)
        placed, engine = self._translated(node, types)
        self.engines.append((label_of(node), node.op_type, engine))
        rounded = around(node, placed, types) if around else placed
        self.changed |= rounded is not placed
        return rounded

    def _translated(self, node: onnx.NodeProto, types: Mapping[str, str]) -> tuple[list[onnx.NodeProto], str]:
        operator = node.op_type
        if operator == "CastLike" and node.input[1] in types:
            node = _as_cast(node, TO_ONNX[types[node.input[1]]])
        domain = "" if node.domain == "ai.onnx" else node.domain
        version = self.opsets.get(domain, self.opsets.get(node.domain, 0))
        if onnx.defs.has(node.op_type, domain):
            schema: Schema = onnx.defs.get_schema(node.op_type, version, domain)
        elif (domain, node.op_type) in kernels() and (domain, node.op_type) in contributed.schemas():
            schema = contributed.schemas()[domain, node.op_type]
        else:
            raise Unsupported(f"sim has no {domain or 'ai.onnx'}:{node.op_type}", code=DECLINED)
        chosen, bound = self._choose(node, schema, types, version)
        wide = {v: name for v, name in chosen.items() if name != bound[v]}
        several = len([name for name in node.output if name]) > 1  # the indices of MaxPool
        substitute = None if several else replacement(schema, chosen)
        if not substitute and node.op_type != "Constant" and not has_kernel(schema, chosen):
            self.functions.add((domain, node.op_type))
            node = _with_defaults(node, schema)
        self.changed |= bool(wide or substitute or operator != node.op_type)
        placed: list[onnx.NodeProto] = []
        for inner in self._cast_around(node, schema, wide, types) if wide else [node]:
            if substitute and inner.op_type == node.op_type:
                placed.extend(substitute(inner, self.name, version))
            else:
                placed.append(inner)
        return placed, ",".join(sorted(set(wide.values())))

    def _choose(
        self, node: onnx.NodeProto, schema: Schema, types: Mapping[str, str], version: int
    ) -> tuple[dict[str, str], dict[str, str]]:
        """(type variable → type to compute in, type variable → type of the tensors). Raises Unsupported."""
        bound = bound_types(node, schema, types)
        chosen = dict(bound) if node.op_type == "Constant" else lowering(schema, bound, version)
        reason = restriction(node, bound.values())
        if reason:
            raise Unsupported(f"sim does not support {node.op_type} {reason} (node {label_of(node)})", code=DECLINED)
        if chosen is None:
            described = ", ".join(f"{variable}={name}" for variable, name in bound.items())
            raise Unsupported(
                f"sim does not support {node.op_type}-{schema.since_version} of {described} (node {label_of(node)})",
                code=DECLINED,
            )
        return chosen, bound

    def _cast_around(
        self, node: onnx.NodeProto, schema: Schema, wide: Mapping[str, str], types: Mapping[str, str]
    ) -> Iterator[onnx.NodeProto]:
        inner = onnx.NodeProto()
        inner.CopyFrom(node)
        for index, (name, variable) in enumerate(_variables(node.input, schema.inputs)):
            if name and variable in wide and self.held.get(name) != wide[variable]:
                inner.input[index] = self.name(name)
                yield helper.make_node("Cast", [name], [inner.input[index]], to=TO_ONNX[wide[variable]])
        after = []
        for index, (name, variable) in enumerate(_variables(node.output, schema.outputs)):
            if name and variable in wide and self.held.get(name) != wide[variable]:
                inner.output[index] = self.name(name)
                after.append(helper.make_node("Cast", [inner.output[index]], [name], to=TO_ONNX[types[name]]))
                for attribute in inner.attribute:
                    if attribute.name in TYPE_ATTRIBUTES and attribute.i == TO_ONNX[types[name]]:
                        attribute.i = TO_ONNX[wide[variable]]
        yield inner
        yield from after

    def name(self, name: str) -> str:
        """A name that nothing else has."""
        return f"{name}/sim/{next(self._fresh)}"


def label_of(node: onnx.NodeProto) -> str:
    """The node's name, or that of its first output."""
    return node.name or next((name for name in node.output if name), "")


def bound_types(node: onnx.NodeProto, schema: Schema, types: Mapping[str, str]) -> dict[str, str]:
    """Type variable of the operator → element type that this node's tensors give it."""
    known = {v.type_param_str for v in schema.type_constraints}
    pairs = [*_variables(node.input, schema.inputs), *_variables(node.output, schema.outputs)]
    return {v: types[n] for n, v in pairs if v in known and n in types}


def types_of(graph: onnx.GraphProto) -> dict[str, str]:
    """Tensor name → element type, for everything in the graph whose type is known."""
    found = {tensor.name: _element_name(tensor.data_type) for tensor in graph.initializer}
    for value in (*graph.input, *graph.output, *graph.value_info):
        text = _type_text(value.type)
        if text:
            found[value.name] = text
    return found


def declare_initializers(graph: onnx.GraphProto) -> None:
    """The inliner asks for the types of initialisers where it looks for those of values."""
    known = {value.name for value in (*graph.input, *graph.value_info)}
    for tensor in graph.initializer:
        if tensor.name not in known:
            graph.value_info.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))


def _as_cast(node: onnx.NodeProto, to: int) -> onnx.NodeProto:
    """CastLike as the Cast that it is once the types are known."""
    cast = onnx.NodeProto()
    cast.CopyFrom(node)
    cast.op_type = "Cast"
    del cast.input[1:]
    cast.attribute.append(helper.make_attribute("to", to))
    return cast


def _with_defaults(node: onnx.NodeProto, schema: Schema) -> onnx.NodeProto:
    """The node with the defaults of absent attributes written out: the inliner leaves references to them empty."""
    complete = onnx.NodeProto()
    complete.CopyFrom(node)
    present = {attribute.name for attribute in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in present and attribute.default_value.name:
            complete.attribute.append(attribute.default_value)
    return complete


def _variables(names: Sequence[str], formals: Sequence[Parameter]) -> list[tuple[str, str]]:
    """(tensor name, type variable or fixed type) per input or output; "" where each of a variadic has its own type."""
    found = []
    for index, name in enumerate(names):
        formal = formals[min(index, len(formals) - 1)]
        mixed = formal.option == onnx.defs.OpSchema.FormalParameterOption.Variadic and not formal.is_homogeneous
        found.append((name, "" if mixed else formal.type_str))
    return found


def _element_name(code: int) -> str:
    return NAMES.get(WORDS.get(code, ""), str(TensorProto.DataType.Name(code)).lower())


def _type_text(proto: onnx.TypeProto) -> str:
    kind = proto.WhichOneof("value")
    if kind == "tensor_type" and proto.tensor_type.elem_type:
        return _element_name(proto.tensor_type.elem_type)
    if kind == "sequence_type":
        inner = _raw_text(proto.sequence_type.elem_type)
        return f"seq({inner})" if inner else ""
    if kind == "optional_type":
        inner = _raw_text(proto.optional_type.elem_type)
        return f"optional({inner})" if inner else ""
    return ""


def _raw_text(proto: onnx.TypeProto) -> str:
    """The type as ONNX writes it, "tensor(float)"."""
    if proto.WhichOneof("value") == "tensor_type":
        word = WORDS.get(proto.tensor_type.elem_type)
        return f"tensor({word})" if word else ""
    return _type_text(proto)
