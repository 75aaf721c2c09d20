"""Evaluates ONNX graphs with the operators of `reference.table`: reals in float64, unrounded; everything else exact.

Floating-point tensors enter and leave every operator as float64 whatever their declared type; rounding to a declared type
is a step of its own (`reference.dtypes.round_to`), so that the verifier can compare with the real value. The declared types
travel beside the values.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from reference import dtypes, signature, table
from reference.feeds import carried, fed, in_place_of
from reference.graph import (
    Call,
    EvaluationError,
    Graph,
    Scope,
    Value,
    attributes_of,
    body_of_schema,
    check_functions,
    function_graph,
    functions_of,
    opset_of,
    opsets_of,
)

__all__ = ["EvaluationError", "Value", "apply", "attributes_of", "evaluate", "evaluate_typed", "function", "opset_of"]

Array = NDArray[Any]


@functools.cache
def function(operator: str, domain: str, version: int) -> table.Function:
    """The reference function that an opset `version` of `domain` means by `operator`. Raises EvaluationError."""
    entries = table.DOMAINS.get(domain, {}).get(operator, {})
    since = [v for v in entries if v <= version]
    if not since:
        known = f"from version {min(entries)} on" if entries else "not at all"
        raise EvaluationError(f"the reference has {domain or 'ai.onnx'}:{operator} {known}; version {version} was asked for")
    return entries[max(since)]


@functools.cache
def keywords(f: table.Function) -> frozenset[str]:
    """The names of its keyword-only parameters."""
    return frozenset(n for n, p in inspect.signature(f).parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY)


@functools.cache
def _parameters(f: table.Function) -> frozenset[str] | None:
    """The names of its parameters, by which old versions' attributes may also go; None if it takes any name."""
    parameters = inspect.signature(f).parameters
    return None if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()) else frozenset(parameters)


def apply(
    operator: str,
    version: int,
    inputs: Sequence[Any],
    attributes: Mapping[str, Any],
    *,
    domain: str = "",
    types: Sequence[str | None] | None = None,
    n_outputs: int = 1,
) -> tuple[Any, ...]:
    """One operator on arrays (lists of arrays for sequences, None for what is left out or empty).

    types: the declared input types, needed only where floats arrive as float64 already. Raises EvaluationError for an
    unknown operator and whatever the operator itself raises for inputs that it does not take.
    """
    f = function(operator, domain, version)
    if types is None:
        types = [dtypes.name_of(x.dtype) if isinstance(x, np.ndarray) else None for x in inputs]
    attributes = signature.without_legacy(attributes)
    takes = _parameters(f)
    unknown = sorted(attributes.keys() - takes) if takes is not None else []
    if unknown:
        raise ValueError(f"attribute '{unknown[0]}' is unknown")
    extra: dict[str, Any] = {}
    if "dtypes" in keywords(f):
        extra["dtypes"] = tuple(types)
    if "n_outputs" in keywords(f):
        extra["n_outputs"] = n_outputs
    with np.errstate(all="ignore"):
        result = f(*[carried(x) for x in inputs], **attributes, **extra)
    results = result if isinstance(result, tuple) else (result,)
    return tuple(r if r is None or isinstance(r, list) else np.asarray(r) for r in results)


def evaluate(model: onnx.ModelProto, feeds: Mapping[str, Any], wanted: str | Iterable[str] | None = None) -> dict[str, Any]:
    """Values of the graph's outputs by name: float64 for floating-point tensors, lists for sequences.

    wanted: names of tensors of the main graph, intermediate ones too, in place of the outputs. Raises EvaluationError for
    an invalid model, feeds that do not fit the graph's inputs, and operators that the reference lacks.
    """
    return {name: value.data for name, value in evaluate_typed(model, feeds, wanted).items()}


def evaluate_typed(
    model: onnx.ModelProto, feeds: Mapping[str, Any], wanted: str | Iterable[str] | None = None
) -> dict[str, Value]:
    """As `evaluate`, with the element type of each value."""
    graph, scope = _opened(model, feeds)
    if wanted is None:
        wanted = [output.name for output in graph.outputs]
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    _run(graph, scope)
    for name in names:
        if name not in scope.values:
            raise EvaluationError(f"graph '{model.graph.name}' has no tensor '{name}'")
    return {name: scope.values[name] for name in names}


@dataclasses.dataclass(frozen=True)
class Step:
    """A node with the values that it read and wrote, by position; an input that is left out is None."""

    call: Call
    attributes: Mapping[str, Any]
    inputs: Sequence[Value | None]
    outputs: Sequence[Value]

    @property
    def named_outputs(self) -> dict[str, Value]:
        return {name: value for name, value in zip(self.call.outputs, self.outputs, strict=True) if name}


def steps(model: onnx.ModelProto, feeds: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> Iterator[Step]:
    """The nodes of the model's main graph in order, each after its evaluation. Raises EvaluationError as `evaluate`.

    given: tensors that nodes after the one that writes them read in place of its result, such as a device's own, of the same
    type and shape.
    """
    graph, scope = _opened(model, feeds)
    given = given or {}
    unknown = sorted(given.keys() - {name for call in graph.calls for name in call.outputs if name})
    if unknown:
        raise EvaluationError(f"'{unknown[0]}' was given, but no node of graph '{graph.name}' writes it")
    for step in _steps(graph, scope):
        yield step
        for name, value in step.named_outputs.items():
            if name in given:
                scope.values[name] = in_place_of(name, value, given[name])


def _opened(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> tuple[Graph, Scope]:
    """The main graph, and a scope that holds its initialisers and feeds."""
    if not isinstance(model, onnx.ModelProto):
        raise EvaluationError(f"an onnx.ModelProto is expected, not {type(model).__name__}; onnx.load reads a file")
    if not isinstance(feeds, Mapping):
        raise EvaluationError(f"feeds map names to values, they are no {type(feeds).__name__}")
    functions = functions_of(model)
    check_functions(functions)
    try:
        graph = Graph.of(model.graph, opsets_of(model), functions)
    except RecursionError:
        raise EvaluationError(f"graph '{model.graph.name}' has subgraphs that are nested too deeply") from None
    return graph, Scope({**graph.initializers, **fed(graph, feeds)})


def _run(graph: Graph, scope: Scope) -> None:
    """Adds the values of all nodes to the scope."""
    for _ in _steps(graph, scope):
        pass
    for output in graph.outputs:
        value = scope.find(output.name)
        if value is None:
            raise EvaluationError(f"graph output '{output.name}' is produced by no node")
        if output.type is not None and value.type is not None and output.type != value.type:
            raise EvaluationError(f"graph output '{output.name}' is declared as {output.type}, but is {value.type}")


def _steps(graph: Graph, scope: Scope) -> Iterator[Step]:
    """Evaluates one node after the other; what a node writes is in the scope when it is given out."""
    for call in graph.calls:
        try:
            step = _step(call, scope)
        except EvaluationError as error:
            raise EvaluationError(f"{call.where}: {error}") from error.__cause__
        except RecursionError:
            raise EvaluationError(f"{call.where}: functions, subgraphs or patterns are nested too deeply") from None
        except (ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
            said = error if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            raise EvaluationError(f"{call.where}: {said}") from error
        scope.values.update(step.named_outputs)
        yield step


def _step(call: Call, scope: Scope) -> Step:
    """One node evaluated."""
    inputs: list[Value | None] = []
    for name in call.inputs:
        value = scope.find(name) if name else None
        if name and value is None and not scope.leaves_out(name):
            raise EvaluationError(f"reads '{name}', which nothing produces before it")
        inputs.append(value)
    types = tuple(v.type if v else None for v in inputs)
    attributes = call.attributes
    body = call.local_function
    if body is None and call.operator not in table.DOMAINS.get(call.domain, {}):
        body = body_of_schema(call, inputs)
    if body is not None:
        results = _call_function(call, body, inputs)
    else:
        bodies = {name: Subgraph(g, scope, _inside(call.operator, types, g)) for name, g in call.graphs.items()}
        attributes = {**attributes, **bodies}
        results = _call_operator(call, inputs, types, attributes, bodies)
    return Step(call, attributes, inputs, results)


def _call_operator(
    call: Call,
    inputs: Sequence[Value | None],
    types: Sequence[str | None],
    attributes: Mapping[str, Any],
    bodies: Mapping[str, Subgraph],
) -> list[Value]:
    """The outputs of a node that the table has a function for."""
    n = len(call.outputs)
    given = [v is not None for v in inputs]
    kinds = signature.output_types(call.operator, call.domain, call.version, types, given, attributes, n)
    data = [v.data if v else None for v in inputs]
    values = apply(call.operator, call.version, data, attributes, domain=call.domain, types=types, n_outputs=n)
    if len(values) < n:
        raise EvaluationError(f"{n} outputs are named, the operator has {len(values)} here")
    if bodies:
        kinds = _outside(call.operator, types, bodies)
    return [Value(v, k or _type_of_result(v, types)) for v, k in zip(values[:n], kinds, strict=True)]


def _call_function(call: Call, body: onnx.FunctionProto, inputs: Sequence[Value | None]) -> list[Value]:
    """The outputs of a node that calls a function: a graph of its own, which sees only its inputs."""
    if len(inputs) > len(body.input):
        raise EvaluationError(f"{len(inputs)} inputs were given, the function takes {len(body.input)}")
    if len(call.outputs) > len(body.output):
        raise EvaluationError(f"{len(call.outputs)} outputs are named, the function has {len(body.output)}")
    graph = function_graph(call, body)
    values = {name: v for name, v in zip(body.input, inputs, strict=False) if v is not None}
    scope = Scope(values, absent=frozenset(body.input) - values.keys())
    _run(graph, scope)
    return [scope.find(name) or Value(None, None) for name in body.output[: len(call.outputs)]]


def _type_of_result(value: Any, types: Sequence[str | None]) -> str | None:
    """The type of an output that no schema knows: an array's own, or for reals that of the first floating-point input."""
    if not isinstance(value, np.ndarray):
        return None
    own = dtypes.name_of(value.dtype)
    if own != "float64":
        return own
    return next((t for t in types if t is not None and dtypes.is_float(t)), None)


def _inside(operator: str, types: Sequence[str | None], graph: Graph) -> list[str | None]:
    """The types of a body's inputs as the node's inputs tell them."""
    if operator == "Loop":
        return ["int64", "bool", *types[2:]]
    if operator == "SequenceMap":
        return [t.removeprefix("seq(").removesuffix(")") if t else None for t in types]
    return list(types[len(types) - len(graph.inputs) :])


def _outside(operator: str, types: Sequence[str | None], bodies: Mapping[str, Subgraph]) -> list[str | None]:
    """The types of a node's outputs as the bodies' outputs tell them."""
    body = next((b for b in bodies.values() if b.called), next(iter(bodies.values())))
    if operator == "Loop":
        carried = list(types[2:])
        return body.output_types[1:] if body.called else [*carried, *body.output_types[1 + len(carried) :]]
    if operator == "SequenceMap":
        return [None if t is None else f"seq({t})" for t in body.output_types]
    return body.output_types


@dataclasses.dataclass
class Subgraph:
    """A graph attribute as a function: values in, tuple of values out. Names of the scope around it are visible inside.

    input_types: of its inputs, where the node's own inputs tell them. called: whether it has been evaluated.
    """

    graph: Graph
    scope: Scope
    input_types: Sequence[str | None]
    called: bool = False

    def __post_init__(self) -> None:
        self.output_types: list[str | None] = [output.type for output in self.graph.outputs]
        self.output_shapes = [
            None if o.shape is None else tuple(n if isinstance(n, int) else None for n in o.shape) for o in self.graph.outputs
        ]

    @property
    def n_inputs(self) -> int:
        return len(self.graph.inputs)

    @property
    def n_outputs(self) -> int:
        return len(self.graph.outputs)

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        if len(values) != self.n_inputs:
            raise EvaluationError(f"its graph '{self.graph.name}' takes {self.n_inputs} inputs, {len(values)} are given")
        inner = Scope(dict(self.graph.initializers), parent=self.scope)
        known = [*self.input_types, *[None] * len(values)]
        for declared, value, kind in zip(self.graph.inputs, values, known, strict=False):
            own = dtypes.name_of(value.dtype) if isinstance(value, np.ndarray) and value.dtype.kind != "f" else None
            given = own or kind
            if declared.type is not None and given is not None and declared.type != given:
                raise EvaluationError(
                    f"'{declared.name}' of graph '{self.graph.name}' is {declared.type}, but {given} comes in"
                )
            inner.values[declared.name] = Value(value, declared.type or given)
        _run(self.graph, inner)
        self.called = True
        results = [inner.find(output.name) for output in self.graph.outputs]
        self.output_types = [r.type if r else None for r in results]
        return tuple(r.data if r else None for r in results)
