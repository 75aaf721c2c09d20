"""Compiler of the simulated device: casts around nodes that run in a wider type, replacements, function bodies."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence

import onnx
import onnx.inliner
from onnx import TensorProto, helper

from backends.interface import CompileError, Unsupported
from backends.sim.lowering import NAMES, TO_ONNX, WORDS, has_kernel, kernels, lowering, replacement
from backends.sim.support import restriction

TYPE_ATTRIBUTES = ("dtype", "output_datatype", "output_dtype")
"""Attributes that name the type of an output."""

MAX_EXPANSIONS = 4
"""Function bodies within function bodies: no operator of ONNX goes deeper."""

NEWER = (18, 13)
"""Opsets that an older model is raised to where that changes none of its operators, the first that fits."""


@dataclasses.dataclass(frozen=True)
class Node:
    """A node of the model as the user wrote it; `engine` says in which type it was lowered, "" for its own."""

    name: str
    operator: str
    engine: str


@dataclasses.dataclass(frozen=True)
class Program:
    """The lowered model, serialised, and its nodes."""

    model: bytes
    nodes: Sequence[Node]


def compile_model(model: bytes) -> Program:
    """Lower a serialised model. Raises Unsupported for what is declined, CompileError for broken models."""
    try:
        parsed = onnx.load_from_string(model)
        raised = _raise_opset(parsed)
        inferred = onnx.shape_inference.infer_shapes(parsed, check_type=True)
    except Exception as error:
        raise CompileError(str(error), code=type(error).__name__) from error
    opsets = {opset.domain: opset.version for opset in parsed.opset_import}
    fresh = itertools.count()
    first = compilation = _Compilation(opsets, fresh)
    compilation.lower(inferred.graph, {})
    for _ in range(MAX_EXPANSIONS):
        if not compilation.functions:
            break
        # The bodies are lowered in turn: a half's function was already cast to float32, so it rounds once.
        typed = onnx.shape_inference.infer_shapes(inferred)
        _declare_initializers(typed.graph)
        functions = sorted(compilation.functions)
        expanded = onnx.inliner.inline_selected_functions(typed, functions, inline_schema_functions=True)
        inferred = onnx.shape_inference.infer_shapes(expanded)
        compilation = _Compilation({opset.domain: opset.version for opset in inferred.opset_import}, fresh)
        compilation.changed = True
        compilation.lower(inferred.graph, {})
    if not raised and not first.changed and compilation is first:
        return Program(model, first.nodes)
    return Program(inferred.SerializeToString(), first.nodes)


def _raise_opset(model: onnx.ModelProto) -> bool:
    """Import the newest of `NEWER` in which every node still has the version that it has; whether there was one.

    What stands in for a node is written in operators that old opsets lack.
    """
    default = next((opset for opset in model.opset_import if opset.domain in ("", "ai.onnx")), None)
    if default is None:
        return False
    for newer in (version for version in NEWER if version > default.version):
        nodes = [node for node in model.graph.node if node.domain in ("", "ai.onnx")]
        if all(
            onnx.defs.has(node.op_type, newer, "")
            and onnx.defs.has(node.op_type, default.version, "")
            and onnx.defs.get_schema(node.op_type, newer, "").since_version
            == onnx.defs.get_schema(node.op_type, default.version, "").since_version
            and not any(attribute.HasField("g") for attribute in node.attribute)
            for node in nodes
        ):
            default.version = newer
            return True
    return False


class _Compilation:
    """Lowers graphs in place."""

    def __init__(self, opsets: Mapping[str, int], fresh: Iterator[int]) -> None:
        self.opsets = opsets
        self.nodes: list[Node] = []
        self.changed = False
        self.functions: set[tuple[str, str]] = set()  # (domain, operator) of nodes to be replaced by ONNX's body
        self._fresh = fresh

    def lower(self, graph: onnx.GraphProto, outer: Mapping[str, str]) -> None:
        types = {**outer, **_types(graph)}
        lowered: list[onnx.NodeProto] = []
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    self.lower(attribute.g, types)
            lowered.extend(self._lower_node(node, types))
        if self.changed or self.functions:
            del graph.node[:]
            graph.node.extend(lowered)

    def _lower_node(self, node: onnx.NodeProto, types: Mapping[str, str]) -> Iterator[onnx.NodeProto]:
        label = node.name or next((name for name in node.output if name), "")
        operator = node.op_type
        if operator == "CastLike" and node.input[1] in types:
            node = _as_cast(node, TO_ONNX[types[node.input[1]]])
        domain = "" if node.domain == "ai.onnx" else node.domain
        version = self.opsets.get(domain, self.opsets.get(node.domain, 0))
        if not onnx.defs.has(node.op_type, domain):
            if (domain, node.op_type) not in kernels():
                raise Unsupported(f"sim has no {domain or 'ai.onnx'}:{node.op_type}", code="sim.unsupported")
            self.nodes.append(Node(label, node.op_type, ""))
            yield node
            return
        schema = onnx.defs.get_schema(node.op_type, version, domain)
        inputs = _variables(node.input, schema.inputs)
        outputs = _variables(node.output, schema.outputs)
        known = {v.type_param_str for v in schema.type_constraints}
        bound = {v: types[n] for n, v in [*inputs, *outputs] if v in known and n in types}
        chosen = dict(bound) if node.op_type == "Constant" else lowering(schema, bound, version)
        reason = restriction(node, bound.values())
        if reason:
            raise Unsupported(f"sim does not support {node.op_type} {reason} (node {label})", code="sim.unsupported")
        if chosen is None:
            described = ", ".join(f"{variable}={name}" for variable, name in bound.items())
            raise Unsupported(
                f"sim does not support {node.op_type}-{schema.since_version} of {described} (node {label})",
                code="sim.unsupported",
            )
        wide = {v: name for v, name in chosen.items() if name != bound[v]}
        self.nodes.append(Node(label, operator, ",".join(sorted(set(wide.values())))))
        several = len([name for name in node.output if name]) > 1  # the indices of MaxPool
        substitute = None if several else replacement(schema, chosen)
        if not substitute and node.op_type != "Constant" and not has_kernel(schema, chosen):
            self.functions.add((domain, node.op_type))
            node = _with_defaults(node, schema)
        if not wide and not substitute:
            self.changed |= operator != node.op_type
            yield node
            return
        self.changed = True
        for inner in self._cast_around(node, inputs, outputs, wide, types) if wide else [node]:
            if substitute and inner.op_type == node.op_type:
                yield from substitute(inner, self._name, version)
            else:
                yield inner

    def _cast_around(
        self,
        node: onnx.NodeProto,
        inputs: Sequence[tuple[str, str]],
        outputs: Sequence[tuple[str, str]],
        wide: Mapping[str, str],
        types: Mapping[str, str],
    ) -> Iterator[onnx.NodeProto]:
        inner = onnx.NodeProto()
        inner.CopyFrom(node)
        for index, (name, variable) in enumerate(inputs):
            if name and variable in wide:
                inner.input[index] = self._name(name)
                yield helper.make_node("Cast", [name], [inner.input[index]], to=TO_ONNX[wide[variable]])
        after = []
        for index, (name, variable) in enumerate(outputs):
            if name and variable in wide:
                inner.output[index] = self._name(name)
                after.append(helper.make_node("Cast", [inner.output[index]], [name], to=TO_ONNX[types[name]]))
                for attribute in inner.attribute:
                    if attribute.name in TYPE_ATTRIBUTES and attribute.i == TO_ONNX[types[name]]:
                        attribute.i = TO_ONNX[wide[variable]]
        yield inner
        yield from after

    def _name(self, name: str) -> str:
        return f"{name}/sim/{next(self._fresh)}"


def _as_cast(node: onnx.NodeProto, to: int) -> onnx.NodeProto:
    """CastLike as the Cast that it is once the types are known."""
    cast = onnx.NodeProto()
    cast.CopyFrom(node)
    cast.op_type = "Cast"
    del cast.input[1:]
    cast.attribute.append(helper.make_attribute("to", to))
    return cast


def _with_defaults(node: onnx.NodeProto, schema: onnx.defs.OpSchema) -> onnx.NodeProto:
    """The node with the defaults of absent attributes written out: the inliner leaves references to them empty."""
    complete = onnx.NodeProto()
    complete.CopyFrom(node)
    present = {attribute.name for attribute in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in present and attribute.default_value.name:
            complete.attribute.append(attribute.default_value)
    return complete


def _declare_initializers(graph: onnx.GraphProto) -> None:
    """The inliner asks for the types of initialisers where it looks for those of values."""
    known = {value.name for value in (*graph.input, *graph.value_info)}
    for tensor in graph.initializer:
        if tensor.name not in known:
            graph.value_info.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))


def _variables(names: Sequence[str], formals: Sequence[onnx.defs.OpSchema.FormalParameter]) -> list[tuple[str, str]]:
    """(tensor name, type variable or fixed type) per input or output; "" where each of a variadic has its own type."""
    found = []
    for index, name in enumerate(names):
        formal = formals[min(index, len(formals) - 1)]
        mixed = formal.option == onnx.defs.OpSchema.FormalParameterOption.Variadic and not formal.is_homogeneous
        found.append((name, "" if mixed else formal.type_str))
    return found


def _types(graph: onnx.GraphProto) -> dict[str, str]:
    """Tensor name → element type, for everything in the graph whose type is known."""
    found = {tensor.name: _element_name(tensor.data_type) for tensor in graph.initializer}
    for value in (*graph.input, *graph.output, *graph.value_info):
        text = _type_text(value.type)
        if text:
            found[value.name] = text
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
