"""ONNX graphs made ready for evaluation: nodes with their attributes as Python values, functions, scopes of names."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from reference import dtypes, signature
from reference.ops.movement import dense

Functions = Mapping[tuple[str, str, str], onnx.FunctionProto]
"""(domain, name, overload) → a function that the model brings along."""


LONGEST = 1000
"""Characters of a message; what is longer loses its middle."""

NEWEST = 28
"""The newest opset of ai.onnx whose operators were compared with their text."""


class EvaluationError(ValueError):
    """A model that cannot be evaluated; the text, one line, names node, operator, domain and version."""

    def __init__(self, text: str) -> None:
        line = " ".join(text.split())  # names may hold anything
        super().__init__(line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} … {line[-LONGEST // 2 :]}")


@dataclasses.dataclass(frozen=True)
class Value:
    """A tensor, sequence (list) or empty optional (None) and its type; the type is None where nothing tells it."""

    data: Any
    type: str | None


@dataclasses.dataclass
class Scope:
    """Values by name; a subgraph also sees those of the graph around it. `absent`: inputs of a function that were left out."""

    values: dict[str, Value]
    parent: Scope | None = None
    absent: frozenset[str] = frozenset()

    def find(self, name: str) -> Value | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.parent
        return None

    def leaves_out(self, name: str) -> bool:
        """Whether the name stands for an input that the caller of the function left out."""
        return name in self.absent or (self.parent is not None and self.parent.leaves_out(name))


@dataclasses.dataclass(frozen=True)
class Declared:
    """An input or output of a graph: lengths are numbers, symbols or None (unknown); None in place of what is not declared."""

    name: str
    type: str | None
    shape: tuple[int | str | None, ...] | None

    @classmethod
    def of(cls, info: onnx.ValueInfoProto) -> Declared:
        tensor = info.type.tensor_type
        shape = None
        if info.type.HasField("tensor_type") and tensor.HasField("shape"):
            shape = tuple(
                d.dim_value if d.HasField("dim_value") else d.dim_param if d.dim_param else None for d in tensor.shape.dim
            )
        return cls(info.name, signature.of_proto(info.type), shape)


@dataclasses.dataclass(frozen=True)
class Call:
    """A node: what it calls, with which attributes, and the proto that it came from."""

    node: onnx.NodeProto
    domain: str
    version: int
    attributes: Mapping[str, Any]
    graphs: Mapping[str, Graph]
    local_function: onnx.FunctionProto | None
    functions: Functions

    @property
    def operator(self) -> str:
        return self.node.op_type

    @property
    def inputs(self) -> list[str]:
        return list(self.node.input)

    @property
    def outputs(self) -> list[str]:
        return list(self.node.output)

    @property
    def where(self) -> str:
        """How messages name the node."""
        name = f"node '{self.node.name}'" if self.node.name else f"node of '{next(iter(self.outputs), '')}'"
        return f"{name} ({self.domain or 'ai.onnx'}:{self.operator} version {self.version})"


@dataclasses.dataclass(frozen=True)
class Graph:
    """A graph, subgraph or function body, in the order of its nodes."""

    name: str
    inputs: tuple[Declared, ...]
    outputs: tuple[Declared, ...]
    initializers: Mapping[str, Value]
    calls: tuple[Call, ...]

    @classmethod
    def of(cls, proto: onnx.GraphProto, opsets: Mapping[str, int], functions: Functions) -> Graph:
        """Raises EvaluationError for a node of a domain that is not imported and for a name that is written twice."""
        stored = [(t.name, t) for t in proto.initializer] + [(t.values.name, t) for t in proto.sparse_initializer]
        initializers = {name: _constant(read(t, f"initialiser '{name}'")) for name, t in stored}
        inputs = tuple(Declared.of(v) for v in proto.input)
        for names in ([name for name, _ in stored], [declared.name for declared in inputs]):
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise EvaluationError(f"graph '{proto.name}' declares '{twice}' twice")
        taken = {declared.name for declared in inputs} | initializers.keys()
        return cls(
            proto.name,
            inputs,
            tuple(Declared.of(v) for v in proto.output),
            initializers,
            _calls(proto.node, opsets, functions, taken),
        )


def _constant(array: Any) -> Value:
    return Value(dtypes.to_real(array), dtypes.name_of(array.dtype))


def read(stored: onnx.TensorProto | onnx.SparseTensorProto, what: str) -> Any:
    """A stored tensor as an array. Raises EvaluationError, which says `what` it is, where it lies in a file or is corrupt."""
    parts = [stored] if isinstance(stored, onnx.TensorProto) else [stored.values, stored.indices]
    if any(t.data_location == onnx.TensorProto.EXTERNAL for t in parts):
        raise EvaluationError(f"{what} lies in a file of its own; onnx.load reads it with the model")
    try:
        return numpy_helper.to_array(stored) if isinstance(stored, onnx.TensorProto) else dense(stored)
    except Exception as error:  # onnx and NumPy raise many kinds for corrupt data
        raise EvaluationError(f"{what} cannot be read: {type(error).__name__}: {error}") from error


def opsets_of(model: onnx.ModelProto | onnx.FunctionProto) -> dict[str, int]:
    """Domain → version as the model or function imports them; "" stands for ai.onnx. Raises EvaluationError for a domain
    with two versions."""
    opsets: dict[str, int] = {}
    for entry in model.opset_import:
        domain, version = _domain(entry.domain), int(entry.version)
        if opsets.setdefault(domain, version) != version:
            raise EvaluationError(f"versions {opsets[domain]} and {version} of domain {domain or 'ai.onnx'} are imported")
    return opsets


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def functions_of(model: onnx.ModelProto) -> Functions:
    """The functions that the model brings along. Raises EvaluationError for one that is there twice."""
    functions: dict[tuple[str, str, str], onnx.FunctionProto] = {}
    for f in model.functions:
        if functions.setdefault((_domain(f.domain), f.name, f.overload), f) is not f:
            raise EvaluationError(f"function {f.domain or 'ai.onnx'}:{f.name} is in the model twice")
    return functions


def opset_of(model: onnx.ModelProto, domain: str = "") -> int:
    """The version of `domain` that the model imports. Raises EvaluationError if it imports none."""
    return _version(opsets_of(model), _domain(domain))


def _version(opsets: Mapping[str, int], domain: str) -> int:
    if domain not in opsets:
        raise EvaluationError(f"the model imports no opset of domain {domain or 'ai.onnx'}")
    if not domain and not 1 <= opsets[domain] <= NEWEST:
        raise EvaluationError(f"the model imports opset {opsets[domain]} of ai.onnx; the reference knows 1 to {NEWEST}")
    return opsets[domain]


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    """Attributes as Python values: bytes decoded, tensors as arrays; graphs are left out."""

    def text(v: bytes) -> str:
        return v.decode("utf-8", "surrogateescape")

    def value(attribute: onnx.AttributeProto) -> Any:
        if attribute.ref_attr_name:
            raise EvaluationError(f"attribute '{attribute.name}' refers to '{attribute.ref_attr_name}' outside a function")
        v = onnx.helper.get_attribute_value(attribute)
        if isinstance(v, bytes):
            return text(v)
        if isinstance(v, onnx.TensorProto):
            return read(v, f"the tensor in attribute '{attribute.name}'")
        if isinstance(v, list | tuple) and v and isinstance(v[0], bytes):
            return [text(item) for item in v]
        return v

    graph = onnx.AttributeProto.GRAPH
    return {attribute.name: value(attribute) for attribute in node.attribute if attribute.type != graph}


def _calls(
    nodes: Sequence[onnx.NodeProto], opsets: Mapping[str, int], functions: Functions, taken: set[str]
) -> tuple[Call, ...]:
    calls = []
    for node in nodes:
        domain = _domain(node.domain)
        local = functions.get((domain, node.op_type, node.overload))
        try:
            version, attributes = _version(opsets, domain), attributes_of(node)
        except EvaluationError as error:
            name = node.name or next(iter(node.output), "")
            raise EvaluationError(f"node '{name}' ({domain or 'ai.onnx'}:{node.op_type}): {error}") from error.__cause__
        graphs = {a.name: Graph.of(a.g, opsets, functions) for a in node.attribute if a.type == onnx.AttributeProto.GRAPH}
        call = Call(node, domain, version, attributes, graphs, local, functions)
        if local is None:
            try:
                signature.check_attributes(node.op_type, domain, version, frozenset((a.name, a.type) for a in node.attribute))
            except ValueError as error:
                raise EvaluationError(f"{call.where}: {error}") from None
        for name in node.output:
            if name and name in taken:
                raise EvaluationError(f"{call.where} writes '{name}', which has a value already")
            taken.add(name)
        calls.append(call)
    return tuple(calls)


def check_functions(functions: Functions) -> None:
    """Raises EvaluationError if a function of the model calls itself, directly or through others."""

    def called(nodes: Sequence[onnx.NodeProto]) -> set[tuple[str, str, str]]:
        keys = {(_domain(n.domain), n.op_type, n.overload) for n in nodes}
        return keys.union(*(called(a.g.node) for n in nodes for a in n.attribute if a.type == onnx.AttributeProto.GRAPH))

    calls = {key: called(f.node) & functions.keys() for key, f in functions.items()}
    for start in calls:
        reached: set[tuple[str, str, str]] = set()
        waiting = set(calls[start])
        while waiting:
            key = waiting.pop()
            reached.add(key)
            waiting |= calls[key] - reached
        if start in reached:
            raise EvaluationError(f"function {start[0] or 'ai.onnx'}:{start[1]} of the model calls itself")


def function_graph(call: Call, body: onnx.FunctionProto) -> Graph:
    """The body of the function that a node calls, with the node's attributes in place of the function's parameters."""
    given = {a.name: a for a in (*body.attribute_proto, *call.node.attribute)}
    nodes = [_substituted(node, given) for node in body.node]
    opsets = opsets_of(body) or {call.domain: call.version}
    return Graph(
        f"{call.domain}:{call.operator}",
        tuple(Declared(name, None, None) for name in body.input),
        tuple(Declared(name, None, None) for name in body.output[: len(call.outputs)]),
        {},
        _calls(nodes, opsets, call.functions, set(body.input)),
    )


def _substituted(node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]) -> onnx.NodeProto:
    """The node with references to attributes of the function replaced; a reference to one that is not given disappears."""
    result = onnx.NodeProto()
    result.CopyFrom(node)
    del result.attribute[:]
    for attribute in node.attribute:
        source = given.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if source is None:
            continue
        copy = result.attribute.add()
        copy.CopyFrom(source)
        copy.name = attribute.name
        if copy.type == onnx.AttributeProto.GRAPH:
            inner = [_substituted(n, given) for n in copy.g.node]
            del copy.g.node[:]
            copy.g.node.extend(inner)
    return result


def body_of_schema(call: Call, inputs: Sequence[Value | None]) -> onnx.FunctionProto | None:
    """The function by which onnx's schema defines an operator for inputs of these types and shapes; None if it has none."""
    # The methods are not in onnx's type stubs.
    schema: Any = signature.schema(call.operator, call.domain, call.version)
    body = onnx.FunctionProto()
    if schema is not None and schema.has_function:
        body.ParseFromString(schema.get_function_with_opset_version(_newest(schema.function_opset_versions, call)))
    elif schema is not None and schema.has_context_dependent_function:
        version = _newest(schema.context_dependent_function_opset_versions, call)
        kinds = [
            b"" if v is None or v.type is None else signature.to_proto(v.type, np.shape(v.data)).SerializeToString()
            for v in inputs
        ]
        node = call.node.SerializeToString()
        body.ParseFromString(schema.get_context_dependent_function_with_opset_version(version, node, kinds))
    return body if body.node else None


def _newest(versions: Sequence[int], call: Call) -> int:
    """The newest version of a schema's function that the model's opset has."""
    return max((int(v) for v in versions if v <= call.version), default=call.version)
