"""If, Loop, Scan, SequenceMap: exact where every operator of their bodies is.

What a body computes inexactly travels through carried values and decides conditions and lengths; no bound of a single node
follows that (`reference.propagation` ends there too), so that such results stay inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from reference.dtypes import is_float
from reference.evaluator import Subgraph
from reference.graph import Call, Graph, Scope
from reference.node import Node

CONTROL = frozenset(["If", "Loop", "Scan", "SequenceMap"])
"""Operators that evaluate bodies."""

ROUNDING = frozenset(["BitCast", "Cast", "CastLike", "ConvInteger", "EyeLike", "ImageDecoder"])
"""Operators that are exact by themselves, but whose result is rounded to a type that nobody declares."""

WHOLE = frozenset(["Add", "CumProd", "CumSum", "MatMul", "Mul", "ReduceProd", "ReduceSum", "Sub", "Sum"])
"""Operators that are exact on integers."""


def is_exact(node: Node, exact: Callable[[str], bool]) -> bool:
    """Whether a control operator gives exact results: all operators of its bodies, in nested ones too, are `exact`, or they
    are arithmetic and there is no real in sight. False for other operators."""
    bodies = [value for value in node.attributes.values() if isinstance(value, Subgraph)]
    if node.operator not in CONTROL or not bodies:
        return False
    calls = [call for body in bodies for call in _calls(body.graph)]
    if any(call.local_function is not None or call.operator in ROUNDING for call in calls):
        return False
    whole = not any(_has_reals(body) for body in bodies) and not any(_makes_reals(call) for call in calls)
    return all(exact(call.operator) or (whole and call.operator in WHOLE) for call in calls if not call.graphs)


def _calls(graph: Graph) -> Iterator[Call]:
    """All nodes of a graph and of the graphs inside it."""
    for call in graph.calls:
        yield call
        for inner in call.graphs.values():
            yield from _calls(inner)


def _has_reals(body: Subgraph) -> bool:
    """Whether a body, a graph inside it or the scope around it holds a real, or a value of unknown type."""
    inside = [body.graph, *(inner for call in _calls(body.graph) for inner in call.graphs.values())]
    types = [value.type for graph in inside for value in graph.initializers.values()]
    types += [declared.type for graph in inside for declared in (*graph.inputs, *graph.outputs)]
    types += list(body.input_types)
    scope: Scope | None = body.scope
    while scope is not None:
        types += [value.type for value in scope.values.values()]
        scope = scope.parent
    return any(kind is None or is_float(kind) for kind in types)


def _makes_reals(call: Call) -> bool:
    """Whether a node writes reals that no input brought: constants, or a shape filled with 0."""
    filled = call.operator == "ConstantOfShape" and "value" not in call.attributes
    numbers = (np.asarray(value) for value in call.attributes.values())
    return filled or any(value.dtype.kind == "f" for value in numbers)


def inner_operators(node: Node) -> set[str]:
    """Names of the operators in the bodies of a control operator, but for those that have bodies themselves."""
    bodies = [value for value in node.attributes.values() if isinstance(value, Subgraph)]
    return {call.operator for body in bodies for call in _calls(body.graph) if not call.graphs}
